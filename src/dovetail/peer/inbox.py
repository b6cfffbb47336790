"""The rule for repeated frames: which ones a peer has received, and its answers.

Every frame that must arrive has a number, ``seq``, which increases within the session.  The broker
may resend a frame after a reconnection.  The peer then resends its answer if it has one, and
otherwise ignores the frame.
"""

from __future__ import annotations

from dovetail.protocol import messages as m

MOST, BYTES = 1 << 16, 1 << 28
"""Answers that are kept at most, and bytes of states, texts and binaries in them (S11.4)."""


class Inbox:
    """Distinguishes new frames from repeated ones."""

    __slots__ = ("_answers", "keeping", "seen")

    def __init__(self) -> None:
        self.seen = 0
        """The highest number received."""
        self.keeping = True
        """True if the broker may resend frames, so that answers must be kept."""
        self._answers: dict[int, m.Message] = {}

    def begin(self, welcome: m.Welcome) -> None:
        """Start a new session, unless the old one continues."""
        if not welcome.resumed:
            self.seen = 0
            self._answers.clear()
        self.keeping = welcome.heartbeat > 0

    def take(self, seq: int, out: list[m.Message]) -> bool:
        """Return whether a frame is new; a repeated one is answered into ``out`` as before.

        A faster form inline: ``seq > inbox.seen``, followed by ``inbox.seen = seq``.
        """
        if seq > self.seen:
            self.seen = seq
            return True
        answer = self._answers.get(seq)
        if answer is not None:
            out.append(answer)
        return not seq

    def answer(self, seq: int, answer: m.Message, out: list[m.Message]) -> None:
        out.append(answer)
        if self.keeping:
            size = _size(answer)
            if not size or sum(map(_size, self._answers.values())) + size <= BYTES:
                self.keep(seq, answer)

    def keep(self, seq: int, answer: m.Message, before: int = 0) -> None:
        """Keep an answer in place of the one to ``before``, which the next frame has confirmed."""
        if before:
            self._answers.pop(before, None)
        if seq and len(self._answers) < MOST:
            self._answers[seq] = answer

    def settle(self, settled: int) -> None:
        """Forget all answers up to a number; the broker has confirmed them."""
        for seq in [seq for seq in self._answers if seq <= settled]:
            del self._answers[seq]

    def failed(self, answer: m.Message, text: str) -> m.Error:
        """Return the error that replaces an unsendable answer, and keep it instead."""
        seq = next((seq for seq, kept in self._answers.items() if kept is answer), None)
        request = getattr(answer, "id", None)
        error = m.Error("crashed", text, request, None if request is not None else seq)
        if seq is not None:
            self._answers[seq] = error
        return error


def _size(answer: m.Message) -> int:
    """Return the bytes of an answer's state, text or binary."""
    value = getattr(answer, "state", getattr(answer, "body", None))
    return len(value) if isinstance(value, bytes | str) else 0
