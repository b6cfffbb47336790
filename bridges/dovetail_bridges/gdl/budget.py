"""The budget of an evaluation of rules."""

from __future__ import annotations

import math
import time

from dovetail.protocol.errors import DovetailError

MOST_STEPS = 20_000_000
"""Conditions tried in one evaluation at most."""
SECONDS = 5.0
"""Processor time of one evaluation at most: also a few facts can nest terms so deep that each takes
long."""
LOOK = 5_000
"""Conditions after which the clock is looked at; it starts at the first look, since most
evaluations end before."""


class TooLarge(DovetailError):
    """The rules derive more than this program accepts."""


class Budget(list[int]):
    """The conditions that may still be tried before the clock is looked at, as its only entry.

    Args:
        steps: conditions that an evaluation may try; ``MOST_STEPS`` if None.
    """

    def __init__(self, steps: int | None = None) -> None:
        super().__init__([0])
        self._most = steps
        self._steps = 0
        self._end = 0.0

    def begin(self) -> None:
        """Begin an evaluation."""
        most = MOST_STEPS if self._most is None else self._most
        self[0] = min(LOOK, most)
        self._steps = most - self[0]
        self._end = math.inf

    def look(self) -> None:
        """Look at the clock.

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
