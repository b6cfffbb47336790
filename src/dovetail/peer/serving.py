"""The loop of a program that serves agents or environments to a broker."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dovetail.peer.address import broker
from dovetail.peer.cores import Cores
from dovetail.peer.gc_tuning import patient
from dovetail.peer.host import Host
from dovetail.peer.link import Link
from dovetail.peer.session import hello
from dovetail.peer.stop_event import StopEvent, on_signals
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError
from dovetail.transport.keys import Key
from dovetail.transport.process_owner import Owner

_log = logging.getLogger("dovetail")
PROMPT = 0.005
"""Flush finished answers after this many seconds, even if the batch is not done."""

BATCHES = (m.EnvironmentSteps, m.AgentSteps)
"""Messages whose answers are sent one by one: the broker works on one while the next is made."""


def serve_host(
    host: Host,
    address: str | None = None,
    name: str = "",
    token: str | None = None,
    wait: float | None = 10.0,
    ready: Callable[[m.Welcome], None] | None = None,
    stop: threading.Event | None = None,
    key: Key | Path | str | None = None,
) -> None:
    """Connect and answer until the broker sends ``bye``, ``stop`` is set, SIGINT or SIGTERM.

    ``ready`` is called once connected; without it one line on standard error says what is on offer
    where. ``key`` is the program's key or its file; without it the file that DOVETAIL_KEY names.

    Raises:
        DovetailError: no broker answers at ``address``, or it refuses this peer.
    """
    address, token = broker(address, token)
    stop = stop or StopEvent()
    greeting = hello(host.role, name, host.offers(), token)
    with _signals(stop), patient():
        cores, owner = Cores(), Owner()
        link = Link(address, greeting, wait, stop, key=key)
        try:
            if (welcome := link.session.welcome) is not None:
                if ready is None:
                    offered = ", ".join(offer.name for offer in greeting.offers)
                    text = f"{host.role} {offered} ready at {address} as {welcome.name}"
                    print(line(text), file=sys.stderr, flush=True)
                else:
                    ready(welcome)
            while not stop.is_set() and not link.departed:
                messages = link.receive(None)
                if messages:
                    _answer(link, host, messages, cores)
            if link.departed and not stop.is_set():
                why = link.session.farewell
                more = f": {why}" if why else ""
                _log.warning("the broker at %s has ended this connection%s", address, more)
        finally:
            if owner.here:  # and not a child that user code has forked
                link.close()
                host.handle([m.Bye()])


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """Make SIGINT and SIGTERM set ``stop``, and a second signal interrupt the work in progress."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = on_signals(stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _answer(link: Link, host: Host, messages: list[m.Message], cores: Cores) -> None:
    last = time.monotonic()
    most = len(messages)
    if cores.several(last):
        most = (most + 1) // 2  # the broker works on it while the rest is answered
    if type(messages[0]) not in BATCHES:
        most = max(2, most)

    def between(answers: list[m.Message]) -> None:
        nonlocal last
        if len(answers) >= most or time.monotonic() - last > PROMPT:
            _send(link, host, answers)
            answers.clear()
            last = time.monotonic()

    _send(link, host, host.handle(messages, between))


def _send(link: Link, host: Host, answers: list[m.Message]) -> None:
    try:
        link.send(answers)
    except (*codec.UNSENDABLE, DovetailError):
        # One value that cannot be encoded must not lose the other answers.
        for answer in answers:
            try:
                link.send([answer])
            except (*codec.UNSENDABLE, DovetailError) as error:
                link.send([host.unsendable(answer, f"the answer cannot travel: {error}")])
