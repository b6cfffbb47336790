"""Deadlines that may move without notice."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import Protocol

from dovetail.broker.rules.clocks import FOREVER


class Timed(Protocol):
    """Something with a deadline."""

    @property
    def deadline(self) -> float:
        """When it is overdue; ``FOREVER`` for never."""
        ...

    timer: float
    """The earliest time at which the timers will look at it; ``FOREVER`` at first."""


class Timers:
    """Deadlines, re-checked lazily when they fire."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timed]] = []
        """Entries by time; an object may have several."""
        self._order = itertools.count()

    def watch(self, timed: Timed) -> None:
        """Have ``due`` yield something at its deadline; call again if that becomes earlier."""
        if timed.deadline < timed.timer:
            timed.timer = timed.deadline
            heapq.heappush(self.heap, (timed.timer, next(self._order), timed))

    def rewatch(self, timed: Timed) -> None:
        """Watch what an earlier heap, cleared since, may have watched."""
        timed.timer = FOREVER
        self.watch(timed)

    def due(self, now: float) -> Iterator[Timed]:
        """Yield what is overdue, for the caller to act upon before it takes the next."""
        while self.heap and self.heap[0][0] <= now:
            due, _, timed = heapq.heappop(self.heap)
            if timed.timer != due:
                continue
            timed.timer = FOREVER
            if timed.deadline <= now:
                yield timed
            self.watch(timed)
