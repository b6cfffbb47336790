"""Seats' clocks.  Pure: the time goes in, deadlines come out; all in seconds."""

from __future__ import annotations

import math
from typing import Final

from mypy_extensions import mypyc_attr

from dovetail.protocol.messages import Clock, ClockRule

FOREVER: Final = math.inf


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class SeatClock:
    """A seat's clock in an episode; it runs from sending a decision to receiving the answer.
    Without a limit in the ``rule`` it is not ``timed``, and ``answer_timeout`` limits an answer."""

    __slots__ = (
        *("_most", "_rule", "_stood", "deadline", "last", "left", "seconds", "sent"),
        *("standing", "timed"),
    )

    def __init__(self, rule: ClockRule, answer_timeout: float | None) -> None:
        self._rule = rule
        self.timed = rule.decision is not None or rule.episode is not None
        most = rule.decision if self.timed else answer_timeout
        self._most = FOREVER if most is None else most + (rule.margin if self.timed else 0.0)
        """Maximum seconds for an answer, apart from those left for the episode."""
        self.left = rule.episode
        """Seconds left for the episode; None for no limit."""
        self.last: float | None = None
        """Seconds of the latest answer."""
        self.seconds = 0.0
        """Seconds of all answers together."""
        self.sent = 0.0
        self.deadline = FOREVER
        """The deadline of the pending answer."""
        self.standing = False
        """True if it was stopped in the middle of a decision."""
        self._stood = (0.0, 0.0)  # the time at which it was stopped, and its deadline then

    def ask(self, now: float) -> Clock | None:
        """Start the clock for a decision; return the ``clock`` to send along."""
        self.sent = now
        self.deadline = now + self._most
        if self.left is not None:
            self.deadline = min(self.deadline, now + self.left + self._rule.margin)
        return Clock(self._rule.decision, self.left, self.last) if self.timed else None

    @property
    def runs(self) -> bool:
        """True if it is running: a decision with a limit is pending."""
        return self.deadline < FOREVER

    def shown(self, now: float) -> Clock:
        """Return the time left now, within a decision too, for watchers."""
        took = 0.0
        if self.standing:
            took = self._stood[0] - self.sent
        elif self.deadline < FOREVER:
            took = now - self.sent
        decision = self._rule.decision
        return Clock(
            None if decision is None else max(0.0, decision - took),
            None if self.left is None else max(0.0, self.left - took),
            self.last,
        )

    def stop(self, now: float) -> None:
        """Stop the clock until ``go``."""
        if not self.standing:
            self.standing = True
            self._stood = now, self.deadline
            self.deadline = FOREVER

    def go(self, now: float) -> None:
        """Resume a stopped clock as if no time had passed."""
        if self.standing:
            self.standing = False
            since, deadline = self._stood
            self.sent += now - since
            self.deadline = deadline + now - since

    def answer(self, now: float) -> bool:
        """End a decision, answered or overdue; return whether it was in time."""
        if self.standing:
            self.go(now)
        in_time = now <= self.deadline or not self.timed
        took = now - self.sent
        self.last = took
        self.seconds += took
        if self.left is not None:
            self.left = max(0.0, self.left - took) + self._rule.increment
        self.deadline = FOREVER
        return in_time
