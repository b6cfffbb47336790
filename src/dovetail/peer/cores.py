"""The number of CPU cores that a program may use."""

from __future__ import annotations

import os

LOOK = 0.25
"""Seconds between two checks of the number of cores, which can change while a program runs."""


class Cores:
    """The cores that this program may use, looked up at most every ``LOOK`` seconds."""

    __slots__ = ("_next", "_several")

    def __init__(self) -> None:
        self._next = 0.0
        self._several = True

    def several(self, now: float) -> bool:
        """Return whether there is more than one; ``now`` is a monotonic time in seconds."""
        if now >= self._next:
            self._next = now + LOOK
            self._several = available() > 1
        return self._several


def available() -> int:
    """Return the number of cores that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
