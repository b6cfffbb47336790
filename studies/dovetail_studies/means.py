"""Means over seeds, as shown on the studies' pages."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_experiments.statistics import Estimate, estimates


def mean(values: Sequence[float]) -> Estimate:
    """Return a mean with Student's interval.

    Equal values give an interval of no width, shown as ``every seed``.

    >>> mean([2.0, 2.0])
    Estimate(value=2.0, low=2.0, high=2.0)
    """
    found = estimates.mean(values)
    if len(values) > 1 and not found.known and found.value == found.value:
        return Estimate(found.value, found.value, found.value)
    return found
