"""A peer's end of a session, without the socket: hello, heartbeats, resumption.

Frames and the time go in, frames come out.  ``link`` wraps it in a ZeroMQ socket;
docs/another-shell.md shows how to use another transport.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

from dovetail._version import __version__
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError, ProtocolError

FATAL = {"version", "access", "name-taken"}
"""Errors in answer to ``hello`` that are permanent: a retry would fail again."""

UNREADABLE = {"invalid", "malformed", "limit"}
"""Errors that, before ``welcome``, mean that the ``hello`` itself is wrong."""

HELLO_WAIT, MAX_HELLO_WAIT = 4.0, 16.0
"""Seconds to wait for an answer to ``hello``: at first, and at most, doubling each time (S4.6)."""


def hello(
    role: m.Role, name: str = "", offers: Sequence[m.Offer] = (), token: str | None = None
) -> m.Hello:
    """Return the ``hello`` of a program that uses this package."""
    return m.Hello(
        m.VERSION, role, name, list(offers), token, software=f"dovetail-python {__version__}"
    )


class NameTaken(DovetailError):
    """The name of this peer belongs to another, perhaps to one that was just killed."""


class Session:
    """A peer's session with its broker.

    Raises (from ``receive``):
        NameTaken: another peer has its name; the first ``hello`` may be repeated.
        DovetailError: the broker refuses this peer; the text says why.
    """

    def __init__(self, hello: m.Hello) -> None:
        self.hello = hello
        self.welcome: m.Welcome | None = None
        self.seen = 0
        """The highest ``seq`` that has arrived in this session."""
        self.departed = False
        """True once the broker has sent ``bye``."""
        self.farewell = ""
        """The broker's reason for it."""
        self.heard = 0.0
        self._decoder: codec.Decoder[Any] = codec.Decoder(codec.AT_PEER[hello.role])
        self._unanswered = 0.0
        """Seconds to wait for the answer to ``hello``; 0 if none is unanswered."""

    def greet(self, now: float) -> bytes:
        """Return a ``hello`` frame that asks to resume the previous session, if any."""
        self.heard = now
        self._unanswered = min(max(2 * self._unanswered, HELLO_WAIT), MAX_HELLO_WAIT)
        self.hello.resume = None if self.welcome is None else self.welcome.session
        self.hello.seen = self.seen
        return codec.encode(self.hello)

    def receive(self, frames: Iterable[bytes], now: float) -> tuple[list[m.Message], list[bytes]]:
        """Process frames; return the messages for the role, and frames to send immediately."""
        self.heard = now
        messages: list[m.Message] = []
        answers: list[bytes] = []
        for frame in frames:
            try:
                message = self._decoder.decode(frame)
            except ProtocolError as error:
                answers.append(codec.encode(_refusal(error)))
                continue
            kind = type(message)
            if kind is m.Ping:
                answers.append(codec.encode(m.Pong(message.number, self.seen)))
                messages.append(message)
            elif kind is m.Pong:
                pass
            elif kind is m.Welcome:
                if self._begins(message):
                    messages.append(message)
            elif kind is m.Bye:
                self.departed = True
                self.farewell = line(message.reason)
            elif kind is m.Error and message.code == "hello-first":
                if not self._unanswered:
                    answers.append(self.greet(now))
            elif kind is m.Error and (
                (self._unanswered and self._is_final(message.code)) or _expels(message)
            ):
                self._unanswered = 0.0
                text = f"the broker refuses: {line(message.message)}"
                raise NameTaken(text) if self._may_inherit(message.code) else DovetailError(text)
            else:
                self.seen = max(self.seen, getattr(message, "seq", 0))
                messages.append(message)
        return messages, answers

    def _begins(self, welcome: m.Welcome) -> bool:
        """Process a welcome; return whether it is new, since a repeated ``hello`` gets two."""
        self._unanswered = 0.0
        same = self.welcome is not None and self.welcome.session == welcome.session
        if same and not welcome.resumed:
            return False
        if not welcome.resumed:
            self.seen = 0
        self.welcome = welcome
        self._decoder.limit(welcome.limits)
        return True

    def _is_final(self, code: str) -> bool:
        """True if another ``hello`` would get the same error."""
        return code in FATAL or (self.welcome is None and code in UNREADABLE)

    def _may_inherit(self, code: str) -> bool:
        """True if a peer that is just starting asked for the name that is taken."""
        named = bool(self.hello.name) or any(offer.instance for offer in self.hello.offers)
        return code == "name-taken" and named and self.welcome is None

    def silent(self, now: float) -> bool:
        """Return whether the broker's silence is so long that the peer must say ``hello`` again."""
        return now - self.heard > max(self.patience, self._unanswered)

    @property
    def patience(self) -> float:
        """Seconds of silence that are still normal."""
        if self.welcome is None:
            return 2.0
        return max(4 * self.welcome.heartbeat, 2.0) if self.welcome.heartbeat else inf


def _expels(error: m.Error) -> bool:
    """Return whether an error disconnects this peer for good, such as for a revoked key."""
    return error.code == "access" and error.id is None and error.answers is None


def _refusal(error: ProtocolError) -> m.Error:
    """Return the error for an unreadable frame; it answers the frame's request.

    A frame that is itself an answer makes no request, and its ``id`` is one of this peer's own
    numbers.
    """
    if error.kind in ("reply", "saved", "error"):
        return m.Error(error.code, str(error))
    request = error.about.get("id")
    answers = error.about.get("seq") if request is None else None
    return m.Error(error.code, str(error), request, answers)
