"""Step sizes that decrease during learning."""

from __future__ import annotations

from msgspec import Struct


class StepSize(Struct, frozen=True):
    """A schedule: constant, or decaying with a count of episodes, visits or updates.

    >>> StepSize(0.5).at(100)
    0.5
    >>> StepSize(0.5, power=1.0, floor=0.1).at(2), StepSize(0.5, power=1.0, floor=0.1).at(50)
    (0.25, 0.1)
    >>> [StepSize(0.6, decay=100).at(n) for n in (0, 100, 200)]
    [0.6, 0.3, 0.19999999999999998]
    >>> StepSize(0.5, halving=10).at(25)
    0.125
    """

    first: float
    """Initial step size."""
    power: float = 0.0
    """Exponent of the count (at least 1) that divides the step size."""
    floor: float = 0.0
    """Minimum step size, with ``power``."""
    decay: float = 0.0
    """Divides the step size by 1 + count / decay: a half at ``decay``, a third at twice that; 0 for
    none."""
    halving: int = 0
    """Count after which the step size is halved each time; 0 for never."""

    def at(self, count: float) -> float:
        """Return the step size after ``count`` episodes, visits or updates."""
        size = self.first
        if self.decay:
            size = size / (1 + count / self.decay)
        if self.power > 0:
            size = max(self.floor, size / float(count) ** self.power)
        if self.halving:
            size = size / 2.0 ** (count // self.halving)
        return size
