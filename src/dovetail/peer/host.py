"""The base of the hosts of agents and environments: messages in, messages out.

Sans I/O, like the broker's core: ``serve`` wraps it in a socket, and the in-process mode calls it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from dovetail.peer.error_origin import FAILURES, Failure
from dovetail.peer.inbox import Inbox
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError

Between = Callable[[list[m.Message]], None]
"""Called by a host between two messages, with its answers so far."""


class Host(ABC):
    """Handles each message of a session exactly once.

    Its ``Inbox`` answers a repeated frame as before, so that a reconnection cannot make an agent
    decide twice, or an environment step twice.
    """

    role: m.Role
    turns: ClassVar[frozenset[type[m.Message]]]
    """The messages for ``_turn``; all others are for ``_other``."""

    def __init__(self) -> None:
        self._inbox = Inbox()
        self._waiting: dict[Any, Any] = {}
        """Decisions collected for ``_finish_batch``."""

    @abstractmethod
    def offers(self) -> list[m.Offer]:
        """Return the environments or agents on offer."""

    def handle(
        self, incoming: Sequence[m.Message], between: Between | None = None
    ) -> list[m.Message]:
        """Handle messages in order; return the answers.

        ``between`` is called after each message with the answers so far, and may remove some.
        """
        out: list[m.Message] = []
        inbox, turns = self._inbox, self.turns
        for message in incoming:
            if between is not None and out:
                between(out)
            if type(message) in turns:
                seq: int = message.seq  # type: ignore[attr-defined]
                if seq > inbox.seen:
                    inbox.seen = seq
                elif not inbox.take(seq, out):
                    continue
                self._turn(message, out)
            elif inbox.take(getattr(message, "seq", 0), out):
                self._other(message, out)
        if self._waiting:
            self._finish_batch(out)
        return out

    def unsendable(self, answer: m.Message, text: str) -> m.Message:
        """Return the replacement for an answer that cannot be sent; ``text`` says why."""
        return self._inbox.failed(answer, text)

    @abstractmethod
    def _turn(self, message: Any, out: list[m.Message]) -> None:
        """Handle a message of ``turns``."""

    def _other(self, message: m.Message, out: list[m.Message]) -> None:
        match message:
            case m.Welcome():
                self._inbox.begin(message)
                if not message.resumed:
                    self._reset()
            case m.Bye():
                self._reset()
            case m.Ping():
                self._inbox.settle(message.settled)

    def _finish_batch(self, out: list[m.Message]) -> None:  # noqa: B027  # not all have any
        """Answer the collected decisions; called at the end of ``handle``."""

    @abstractmethod
    def _reset(self) -> None:
        """Drop everything, since the session is over."""

    @abstractmethod
    def _described(self, error: Failure, where: str) -> str:
        """Return one line about an exception of the user's code; an unexpected one is logged."""

    def _batch(self, group: Any, message: Any, where: str, out: list[m.Message]) -> None:
        try:
            answer = group.steps(message)
        except FAILURES as error:
            code = "invalid" if isinstance(error, ProtocolError) else "crashed"
            self._fail(message.seq, code, self._described(error, where), out)
            return
        out.append(answer)
        if self._inbox.keeping:
            self._inbox.keep(message.seq, answer, group.before)
            group.before = message.seq

    def _fail(self, seq: int, code: str, text: str, out: list[m.Message]) -> None:
        self._inbox.answer(seq, m.Error(code, text, answers=seq), out)
