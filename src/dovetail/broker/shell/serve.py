"""The broker as a program: the loop around ``Server.pump``, and an orderly shutdown."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

from dovetail import transport
from dovetail.broker.core.core import Settings
from dovetail.broker.durable.journal import Journal
from dovetail.broker.durable.write_ahead_log import live
from dovetail.broker.peers.access import Source
from dovetail.broker.shell.server import Server
from dovetail.peer.address import ADDRESS
from dovetail.peer.gc_tuning import patient
from dovetail.peer.host import Host
from dovetail.peer.stop_event import StopEvent
from dovetail.protocol.errors import DovetailError
from dovetail.transport.endpoint import Web
from dovetail.transport.keys import Guard
from dovetail.transport.lines import KNOWN, Lines
from dovetail.transport.process_owner import Owner

log = logging.getLogger("dovetail.broker")

WAKE = 0.2
"""Seconds between two checks whether to stop, when idle."""


@patient()
def serve(
    bind: str = ADDRESS,
    *,
    settings: Settings | None = None,
    journal: Journal | Callable[[], Journal] | None = None,
    durable: bool = False,
    finish: float = 3.0,
    ready: Callable[[Server], None] | None = None,
    stop: threading.Event | None = None,
    hosts: Mapping[str, Host] | None = None,
    entrant: Callable[[str], str | None] | None = None,
    revoked: Callable[[], bool] | None = None,
    access: Source | None = None,
    inside: str = "",
    also: str = "",
    origins: bool = False,
    web: Web | None = None,
    returns: bool = False,
) -> None:
    """Serve until ``stop`` is set, or SIGINT or SIGTERM comes; then shut down in order.

    No new episode starts.  Those in progress may continue for ``finish`` seconds and are then
    cancelled, or at once on a second signal.  All peers are told, and the journal is flushed.

    With ``durable``, work in progress survives the death of this process: the next ``serve`` with
    the same journal continues it.

    Args:
        bind: the address to listen at.
        settings: the broker's settings.
        journal: the journal, or a function that opens it once the address is bound, so that a
            program that cannot listen leaves no files behind.
        durable: whether to keep a write-ahead log beside the journal.
        finish: seconds for the episodes in progress at shutdown.
        ready: called once the broker is listening.
        stop: the event that stops it.
        hosts: environments and agents in this process, by their names as peers.
        entrant: returns the entrant of an access token, None if it is unknown.  Such a token admits
            agents, and the catalogue names their entrant.  Not with ``durable``: a replay would
            depend on earlier answers, which are not logged.
        revoked: returns whether the answers of ``entrant`` may have changed; called several times a
            second.  Programs whose token was revoked are disconnected.
        access: the permissions by key; a change applies at once.
        inside: a second address, for programs of this machine without a key; ``access`` names the
            key that they count as.
        also: a third address, like ``bind``.
        origins: whether the catalogue names each peer's machine.
        web: the address for programs in a browser.
        returns: whether another broker will follow at this address, so that peers are not told and
            reconnect to it, as after a kill.

    Raises:
        DovetailError: an address cannot be bound, the journal cannot be written, or ``access`` has
            no token for the programs at ``web``.
        ValueError: both ``durable`` and ``entrant`` are given.
    """
    if durable and entrant is not None:
        raise ValueError("a durable broker cannot ask an entrant hook again when it replays")
    stop = stop or StopEvent()
    signals = 0

    def leave(number: int, frame: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        stop.set()

    settings = settings or Settings()
    if access is not None:
        settings = replace(settings, access=access.access)
        if web is not None and not access.access.has_tokens:
            raise DovetailError(
                "no entry of the access file has a token, so no page could connect; make one with "
                "`dovetail keys make NAME --web --access PATH`, or remove --web"
            )
    bound = threading.Event()
    server: Server | None = None

    def admits(public: str) -> bool:
        bound.wait()  # libzmq asks from another thread, as soon as it listens
        return server is not None and server.core.broker.admits(public)

    guard = None if access is None else Guard(access.key, admits)
    keys = settings.access
    owner = keys.keys[keys.inside].public.encode() if keys is not None and inside else b""
    router = transport.listen(bind, settings.limits.frame, guard, inside, owner, also, web)
    try:
        opened = journal() if callable(journal) else journal
        kept = None if opened is None else live(opened, durable=durable)
        server = Server(router, settings, opened, kept)
    finally:
        bound.set()
        if server is None:
            router.close(0.0)
    server.core.broker.origin = router.origin if origins else None
    server.core.broker.missed = Lines(log, KNOWN).warn
    if entrant is not None:
        server.core.broker.entrant = entrant
    for name, host in (hosts or {}).items():
        server.attach(host, name)
    before = []
    if threading.current_thread() is threading.main_thread():
        before = [(each, signal.signal(each, leave)) for each in (signal.SIGINT, signal.SIGTERM)]
    failed, process = True, Owner()
    try:
        if ready is not None:
            ready(server)
        while not stop.is_set():
            server.pump(WAKE)
            if access is not None and (changed := access.changed()) is not None:
                server.allow(changed)
            if revoked is not None and revoked():
                server.allow(None)
        server.stop()
        if not server.core.idle:
            log.warning("stopping once the episodes in progress are over; again to stop at once")
        end = time.monotonic() + finish
        while not server.core.idle and signals < 2 and (left := end - time.monotonic()) > 0:
            server.pump(min(WAKE, left))
        failed = False
    finally:
        if not process.here:  # a child that a hosted environment or agent has forked
            pass
        elif failed or returns:  # what is in progress must not end with this program
            server.abandon()
        else:
            server.close()
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def in_thread(
    bind: str, *, ready: Callable[[Server], None] | None = None, **options: Any
) -> Iterator[str]:
    """Serve in a thread for the duration of a context; yield the broker's address.  Arguments and
    errors are those of ``serve``."""
    stop, up = threading.Event(), threading.Event()
    address = ""
    failed: list[Exception] = []

    def listening(server: Server) -> None:
        nonlocal address
        address = str(server.address)
        if ready is not None:
            ready(server)
        up.set()

    def work() -> None:
        try:
            serve(bind, ready=listening, stop=stop, **options)
        except Exception as error:
            failed.append(error)
            if up.is_set():
                log.exception("the broker failed")
            up.set()

    thread = threading.Thread(target=work, name="broker")
    thread.start()
    try:
        up.wait()
        if failed:
            raise failed[0]
        yield address
    finally:
        stop.set()
        thread.join()
