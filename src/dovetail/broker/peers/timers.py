"""Timers for deadlines that move without notice."""

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
        """The time at which it is overdue; ``FOREVER`` for never."""
        ...

    timer: float
    """The time of its earliest entry in the heap; ``FOREVER`` without one."""


class Timers:
    """A heap of deadlines, each checked again when its entry comes up."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timed]] = []
        """Entries by time; an object can have several."""
        self._order = itertools.count()

    def watch(self, timed: Timed) -> None:
        """Watch an object's deadline; call again if it becomes earlier."""
        if timed.deadline < timed.timer:
            timed.timer = timed.deadline
            heapq.heappush(self.heap, (timed.timer, next(self._order), timed))

    def rewatch(self, timed: Timed) -> None:
        """Watch an object whose entries were cleared from the heap."""
        timed.timer = FOREVER
        self.watch(timed)

    def due(self, now: float) -> Iterator[Timed]:
        """Yield the overdue objects; the caller handles each before it takes the next."""
        while self.heap and self.heap[0][0] <= now:
            due, _, timed = heapq.heappop(self.heap)
            if timed.timer != due:
                continue
            timed.timer = FOREVER
            if timed.deadline <= now:
                yield timed
            self.watch(timed)
