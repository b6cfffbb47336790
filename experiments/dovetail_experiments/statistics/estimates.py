"""Estimates with intervals: rates, means, paired differences.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.959964
"""Standard normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval, which is NaN to NaN if the data allow none."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Return whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))


def without_interval(value: float) -> Estimate:
    """Return a figure without an interval."""
    return Estimate(value, math.nan, math.nan)


def quantile(degrees: float) -> float:
    """Return the quantile of Student's t for a two-sided 95 % interval.

    >>> round(quantile(4), 6)
    2.776445
    """
    from scipy import special

    return float(special.stdtrit(degrees, 0.975))


def normal(x: float) -> float:
    """Return the standard normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def wilson(successes: float, trials: float) -> Estimate:
    """Return a rate with its Wilson score interval (Wilson 1927).

    >>> found = wilson(90, 100)
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.9, 0.8256, 0.9448)
    """
    if trials == 0:
        return Estimate(math.nan, 0.0, 1.0)
    p = successes / trials
    square = Z * Z / trials
    centre = (p + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(p * (1 - p) / trials + square / (4 * trials))
    return Estimate(p, max(0.0, centre - half), min(1.0, centre + half))


def mean(values: Sequence[float]) -> Estimate:
    """Return a mean with Student's interval; there is no interval for a single value or equal ones.

    >>> found = mean([1.0, 2.0])
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (1.5, -4.8531, 7.8531)
    >>> mean([0.0] * 12)
    Estimate(value=0.0, low=nan, high=nan)
    """
    n = len(values)
    if n == 0:
        return without_interval(math.nan)
    average = math.fsum(values) / n
    if all(value == values[0] for value in values):
        return without_interval(values[0])  # equal values do not show how much they vary
    variance = math.fsum((value - average) ** 2 for value in values) / (n - 1)
    half = quantile(n - 1) * math.sqrt(variance / n)
    return Estimate(average, average - half, average + half)


def rate(parts: Sequence[tuple[float, float]]) -> Estimate:
    """Return a rate over trials grouped into parts, such as the positions of a game.

    A ratio estimate with Student's interval over the parts (Cochran, *Sampling Techniques*, 1977).
    If all parts have the same rate, Wilson's interval over the trials.

    Args:
        parts: successes and trials of each part.

    >>> rate([(3, 4), (1, 4), (4, 4)])
    Estimate(value=0.6666666666666666, low=0.0, high=1.0)
    """
    parts = [each for each in parts if each[1]]
    successes = math.fsum(each[0] for each in parts)
    trials = math.fsum(each[1] for each in parts)
    if not parts:
        return without_interval(math.nan)
    found = successes / trials
    square = math.fsum((won - found * of) ** 2 for won, of in parts)
    if square < 1e-12:
        return wilson(successes, trials)
    n = len(parts)
    half = quantile(n - 1) * math.sqrt(square * n / (n - 1)) / trials
    return Estimate(found, max(0.0, found - half), min(1.0, found + half))


@dataclass(frozen=True, slots=True)
class Difference:
    """Two methods compared on equal seeds."""

    mean: Estimate
    t: float
    p: float
    """Two-sided p value of Student's paired test; NaN, like ``t``, if all differences are equal."""
    wilcoxon: float
    """Two-sided p value of Wilcoxon's signed-rank test, which assumes no distribution."""


def paired(ones: Sequence[float], others: Sequence[float]) -> Difference:
    """Compare the values of two methods, paired by seed.

    Raises:
        ValueError: the lengths differ, or there are fewer than two values.
    """
    from scipy import stats

    if len(ones) != len(others) or len(ones) < 2:
        raise ValueError("a paired comparison needs two or more values of each, on the same seeds")
    differences = [one - other for one, other in zip(ones, others, strict=True)]
    found = mean(differences)
    wilcoxon = float(stats.wilcoxon(differences).pvalue) if any(differences) else 1.0
    if len(set(differences)) == 1:  # the t test has no scale
        return Difference(found, math.nan, math.nan, wilcoxon)
    test = stats.ttest_rel(ones, others)
    return Difference(found, float(test.statistic), float(test.pvalue), wilcoxon)
