"""Long series averaged down to a few points."""

from __future__ import annotations

POINTS = 40
"""Minimum points of a long series."""


class Thinned:
    """A series averaged down to between ``POINTS`` and twice that many means."""

    def __init__(self) -> None:
        self._size = 1
        """Minimum number of values per mean, but for the last."""
        self._sums: list[tuple[int, float, int]] = []
        """Last position, sum and count of each mean's values."""

    def add(self, place: int, total: float, count: int = 1) -> None:
        """Add a value, or the sum of several up to a position."""
        if self._sums and self._sums[-1][2] < self._size:
            _, before, known = self._sums[-1]
            self._sums[-1] = place, before + total, known + count
            return
        if len(self._sums) == 2 * POINTS:
            self._size *= 2
            pairs = zip(self._sums[::2], self._sums[1::2], strict=True)
            self._sums = [(b[0], a[1] + b[1], a[2] + b[2]) for a, b in pairs]
        self._sums.append((place, total, count))

    def extend(self, other: Thinned, after: int) -> None:
        """Add another series, whose positions begin after ``after``."""
        for place, total, count in other._sums:
            self.add(after + place, total, count)

    def means(self) -> list[tuple[float, float]]:
        """Return the positions and the means."""
        return [(float(place), total / count) for place, total, count in self._sums]
