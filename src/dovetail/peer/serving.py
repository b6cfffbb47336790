"""The loop of a program that serves agents or environments to a broker."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from dovetail._version import __version__
from dovetail.peer.address import broker
from dovetail.peer.link import Link
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError

PROMPT = 0.005
"""Seconds after which answers leave, though the messages that came with theirs are not all answered."""

Between = Callable[[list[m.Message]], None]
"""What a host calls between two messages with its answers so far."""


class Host(Protocol):
    """What can be served: messages in, messages out."""

    role: m.Role

    def offers(self) -> list[m.Offer]:
        """Return what others can ask for."""
        ...

    def handle(
        self, incoming: Sequence[m.Message], between: Between | None = None
    ) -> list[m.Message]:
        """Take messages; return the answers but for those that ``between`` has taken."""
        ...

    def unsendable(self, answer: m.Message, text: str) -> m.Message:
        """Return what is sent in place of an answer that cannot be; ``text`` says why."""
        ...


def serve_host(
    host: Host,
    address: str | None = None,
    name: str = "",
    token: str | None = None,
    wait: float | None = 10.0,
    ready: Callable[[m.Welcome], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Connect and answer until the broker says goodbye, ``stop`` is set, SIGINT or SIGTERM.

    Raises:
        DovetailError: there is no broker at ``address``, or it refuses this peer.
    """
    address, token = broker(address, token)
    stop = stop or threading.Event()
    hello = m.Hello(
        m.VERSION,
        host.role,
        name,
        host.offers(),
        token,
        software=f"dovetail-python {__version__}",
    )
    with _signals(stop):
        link = Link(address, hello, wait, stop)
        try:
            if ready is not None and link.session.welcome is not None:
                ready(link.session.welcome)
            while not stop.is_set() and not link.departed:
                messages = link.receive(None)
                if messages:
                    _answer(link, host, messages)
        finally:
            link.close()
            host.handle([m.Bye()])


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM set ``stop``, and a second one interrupt whatever is at work."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {each: signal.signal(each, leave) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _answer(link: Link, host: Host, messages: list[m.Message]) -> None:
    last = time.monotonic()

    def between(answers: list[m.Message]) -> None:
        nonlocal last
        if time.monotonic() - last > PROMPT:
            _send(link, host, answers)
            answers.clear()
            last = time.monotonic()

    _send(link, host, host.handle(messages, between))


def _send(link: Link, host: Host, answers: list[m.Message]) -> None:
    try:
        link.send(answers)
    except (*codec.UNSENDABLE, DovetailError):
        # One value that cannot travel must not cost the other answers.
        for answer in answers:
            try:
                link.send([answer])
            except (*codec.UNSENDABLE, DovetailError) as error:
                link.send([host.unsendable(answer, f"the answer cannot travel: {error}")])
