"""A peer's end of a session, without the socket: hello, heartbeats, resumption.

Frames and the time go in, frames come out.  ``link`` puts a ZeroMQ socket around it; the page
docs/another-shell.md shows how to put anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, ProtocolError

FATAL = {"version", "access", "name-taken"}
"""Errors in answer to ``hello`` that saying it again does not mend."""

UNREADABLE = {"invalid", "malformed", "limit"}
"""Errors that a peer gets before its ``welcome`` only if its ``hello`` itself is at fault."""


class Session:
    """Keeps one peer known to its broker.

    Raises (from ``receive``):
        DovetailError: the broker refuses this peer; the text says why.
    """

    def __init__(self, hello: m.Hello) -> None:
        self.hello = hello
        self.welcome: m.Welcome | None = None
        self.seen = 0
        """The highest ``seq`` that has arrived in this session."""
        self.departed = False
        """Whether the broker said ``bye``."""
        self.heard = 0.0
        self._decoder: codec.Decoder[Any] = codec.Decoder(codec.AT_PEER[hello.role])
        self._greeted = False

    def greet(self, now: float) -> bytes:
        """Return the frame of a ``hello``, asking for the session that there was."""
        self.heard = now
        self._greeted = True
        self.hello.resume = None if self.welcome is None else self.welcome.session
        self.hello.seen = self.seen
        return codec.encode(self.hello)

    def receive(self, frames: Iterable[bytes], now: float) -> tuple[list[m.Message], list[bytes]]:
        """Take frames of the broker; return the messages for the role, and frames to send at once."""
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
            elif kind is m.Error and message.code == "hello-first":
                if not self._greeted:
                    answers.append(self.greet(now))
            elif kind is m.Error and self._greeted and self._is_final(message.code):
                raise DovetailError(f"the broker refuses: {message.message}")
            else:
                self.seen = max(self.seen, getattr(message, "seq", 0))
                messages.append(message)
        return messages, answers

    def _begins(self, welcome: m.Welcome) -> bool:
        """Take a welcome; return whether it is news: that to a ``hello`` said twice comes twice."""
        self._greeted = False
        same = self.welcome is not None and self.welcome.session == welcome.session
        if same and not welcome.resumed:
            return False
        if not welcome.resumed:
            self.seen = 0
        self.welcome = welcome
        self._decoder.limits = welcome.limits
        return True

    def _is_final(self, code: str) -> bool:
        """Whether to say ``hello`` again would get the same error."""
        return code in FATAL or (self.welcome is None and code in UNREADABLE)

    def silent(self, now: float) -> bool:
        """Whether the broker has been silent for so long that the peer must reconnect."""
        return now - self.heard > self.patience

    @property
    def patience(self) -> float:
        """Seconds of silence that mean nothing yet."""
        return 2.0 if self.welcome is None else max(4 * self.welcome.heartbeat, 2.0)


def _refusal(error: ProtocolError) -> m.Error:
    """Return the error for a frame that cannot be read; it answers what the frame asks.

    What is an answer itself asks for nothing, and its ``id`` is a number of this peer's own.
    """
    if error.kind in ("reply", "saved", "error"):
        return m.Error(error.code, str(error))
    request = error.about.get("id")
    answers = error.about.get("seq") if request is None else None
    return m.Error(error.code, str(error), request, answers)
