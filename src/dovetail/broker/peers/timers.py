"""What must be looked at when: a heap of deadlines that may move without being told."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from dovetail.broker.rules.clocks import FOREVER


class Timed(Protocol):
    """Something with a deadline."""

    @property
    def deadline(self) -> float:
        """When it is overdue; ``FOREVER`` for never."""
        ...

    timer: float
    """The earliest time at which the timers will look at it; ``FOREVER`` at first."""


T = TypeVar("T", bound=Timed)


class Timers:
    """Deadlines; one that moves later, or away, is found out when the old one has come."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timed, Callable[[float], None]]] = []
        """What is to be looked at, the earliest first; more than one entry may be of one thing."""
        self._order = itertools.count()

    def watch(self, timed: T, overdue: Callable[[T, float], None]) -> None:
        """Have ``overdue`` called once the deadline has passed; again after each earlier one."""
        if timed.deadline < timed.timer:
            self._push(timed, partial(overdue, timed))

    def rewatch(self, timed: T, overdue: Callable[[T, float], None]) -> None:
        """Watch what an earlier heap, cleared since, may have watched."""
        timed.timer = FOREVER
        self.watch(timed, overdue)

    def _push(self, timed: Timed, overdue: Callable[[float], None]) -> None:
        timed.timer = timed.deadline
        heapq.heappush(self.heap, (timed.timer, next(self._order), timed, overdue))

    def tick(self, now: float) -> None:
        """Call what is overdue."""
        while self.heap and self.heap[0][0] <= now:
            due, _, timed, overdue = heapq.heappop(self.heap)
            if timed.timer != due:
                continue
            timed.timer = FOREVER
            if timed.deadline <= now:
                overdue(now)
            if timed.deadline < timed.timer:
                self._push(timed, overdue)
