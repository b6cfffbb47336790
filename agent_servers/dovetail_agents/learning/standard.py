"""Standardised inputs, with their mean subtracted and divided by their standard deviation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
MOST = 5.0
"""Maximum standard deviations from the mean, for inputs that have rarely changed so far."""


class Standard:
    """The means and variances of inputs over all rows so far.

    >>> inputs = Standard(2)
    >>> inputs.see(np.array([[1, 30], [3, 30]]))
    >>> inputs(np.array([[1, 30], [4, 30]])).tolist()
    [[-1.0, 0.0], [2.0, 0.0]]

    Args:
        inputs: the length of a row.
    """

    def __init__(self, inputs: int) -> None:
        self.count = 0
        """Number of rows so far."""
        self.mean: Array = np.zeros(inputs)
        self.squares: Array = np.zeros(inputs)
        """Sums of squared distances from the mean."""

    def see(self, rows: NDArray[Any]) -> None:
        """Update the statistics with rows (Chan, Golub and LeVeque 1979)."""
        count = len(rows)
        mean = rows.mean(axis=0, dtype=np.float64)
        apart = mean - self.mean
        whole = self.count + count
        self.squares += ((rows - mean) ** 2).sum(axis=0) + apart**2 * (self.count * count / whole)
        self.mean += apart * (count / whole)
        self.count = whole

    def __call__(self, rows: NDArray[Any]) -> Array:
        """Return rows in standard deviations from the mean; 0 for inputs that never changed."""
        deviation = np.sqrt(self.squares / max(1, self.count))
        found: Array = (rows - self.mean) / np.where(deviation > 0, deviation, np.inf)
        return found.clip(-MOST, MOST).astype(np.float32)
