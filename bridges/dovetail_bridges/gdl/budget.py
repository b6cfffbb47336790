"""The budget of an evaluation of rules."""

from __future__ import annotations

import math
import time

from dovetail.protocol.errors import DovetailError

MOST_STEPS = 20_000_000
"""Maximum conditions tried in an evaluation."""
SECONDS = 5.0
"""Maximum processor time of an evaluation, since even a few facts with deeply nested terms can take
long."""
LOOK = 5_000
"""Conditions between two checks of the clock, which starts at the first, since most evaluations end
before."""


class TooLarge(DovetailError):
    """The rules derive more than this program accepts."""


class Budget(list[int]):
    """The budget, whose only entry is the number of conditions left before the next check.

    Args:
        steps: the maximum number of conditions; ``MOST_STEPS`` if None.
    """

    def __init__(self, steps: int | None = None) -> None:
        super().__init__([0])
        self._most = steps
        self._steps = 0
        self._end = 0.0

    def begin(self) -> None:
        """Start an evaluation."""
        most = MOST_STEPS if self._most is None else self._most
        self[0] = min(LOOK, most)
        self._steps = most - self[0]
        self._end = math.inf

    def look(self) -> None:
        """Check the clock.

        Raises:
            TooLarge: the time is over.
        """
        now = time.thread_time()
        if self._end == math.inf:
            self._end = now + SECONDS
        if now > self._end:
            raise TooLarge(
                f"the rules take more than {SECONDS:g} s to work out; make the game smaller"
            )

    def more(self) -> None:
        """Allow more conditions, if there are any left.

        Raises:
            TooLarge: there are none, or the time is over.
        """
        self.look()
        if self._steps <= 0:
            raise TooLarge(
                f"the rules try more than {MOST_STEPS:,} conditions at once; make the game smaller"
            )
        self[0] = min(LOOK, self._steps)
        self._steps -= self[0]
