"""Whether programs on this machine can work at the same time."""

from __future__ import annotations

import os

LOOK = 0.25
"""Seconds between two looks."""


class Cores:
    """The cores that this program may use, which others may change while it runs."""

    __slots__ = ("_next", "_several")

    def __init__(self) -> None:
        self._next = 0.0
        self._several = True

    def several(self, now: float) -> bool:
        """Whether there is more than one, as of the last look; ``now`` is a monotonic time in seconds."""
        if now >= self._next:
            self._next = now + LOOK
            self._several = available() > 1
        return self._several


def available() -> int:
    """Return how many cores this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
