"""The clocks of seats.  Pure: the time goes in, deadlines come out; all in seconds."""

from __future__ import annotations

import math
from typing import Final

from mypy_extensions import mypyc_attr

from dovetail.protocol.messages import Clock, ClockRule

FOREVER: Final = math.inf


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class SeatClock:
    """The clock of one seat in one episode, from sending a decision to receiving its answer.

    Args:
        rule: the run's; without any limit in it the clock is not ``timed``.
        answer_timeout: bounds an answer where the rule does not; None waits forever.
    """

    __slots__ = (
        *("_most", "_rule", "_stood", "deadline", "last", "left", "seconds", "sent"),
        *("standing", "timed"),
    )

    def __init__(self, rule: ClockRule, answer_timeout: float | None) -> None:
        self._rule = rule
        self.timed = rule.decision is not None or rule.episode is not None
        most = rule.decision if self.timed else answer_timeout
        self._most = FOREVER if most is None else most + (rule.margin if self.timed else 0.0)
        """Maximum seconds of an answer, whatever is left for the episode."""
        self.left = rule.episode
        """Seconds left for the episode; None is unlimited."""
        self.last: float | None = None
        """Seconds of the last answer."""
        self.seconds = 0.0
        """The total time of all answers, in seconds."""
        self.sent = 0.0
        self.deadline = FOREVER
        """When the answer that is owed is overdue."""
        self.standing = False
        """True if it counts nothing, in the middle of a decision."""
        self._stood = (0.0, 0.0)
        """When it was stopped, and the deadline then."""

    def ask(self, now: float) -> Clock | None:
        """Start: a decision is sent; return what the seat is shown with it."""
        self.sent = now
        self.deadline = now + self._most
        if self.left is not None:
            self.deadline = min(self.deadline, now + self.left + self._rule.margin)
        return Clock(self._rule.decision, self.left, self.last) if self.timed else None

    @property
    def runs(self) -> bool:
        """True if it counts: a decision has a limit and has been sent."""
        return self.deadline < FOREVER

    def shown(self, now: float) -> Clock:
        """Return the time left at this moment, also within a decision, for watchers."""
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
        """Count nothing until ``go``."""
        if not self.standing:
            self.standing = True
            self._stood = now, self.deadline
            self.deadline = FOREVER

    def go(self, now: float) -> None:
        """Count again, if it was stopped, as if no time had passed."""
        if self.standing:
            self.standing = False
            since, deadline = self._stood
            self.sent += now - since
            self.deadline = deadline + now - since

    def answer(self, now: float) -> bool:
        """Stop: the answer came, or is overdue; return whether it is in time."""
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
