"""Statistics over runs of a method: means, interquartile means, bootstrap intervals, comparisons.
Pure.

The unit is the run (the seed of a complete training), never the episode.  Definitions follow
Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice" (2021), as in
their library rliable; the tests compare both.  Matrices have a row for each run and a column for
each task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail_experiments.statistics import estimates

Matrix = NDArray[np.float64]
Statistic = Callable[[Matrix], float]

RESAMPLES = 2_000
"""Bootstrap samples for an interval."""
FEW = 5
"""Minimum runs for a bootstrap; with fewer its interval is far too narrow."""
ENOUGH = 10
"""Runs from which bootstrap intervals have their nominal coverage."""


@dataclass(frozen=True, slots=True)
class Band:
    """Mean and interquartile mean over runs, with 95 % intervals."""

    runs: int
    mean: float
    low: float
    high: float
    """Upper end of the mean's interval, by Student's t; NaN for one run."""
    iqm: float
    """Mean of the middle half; with three runs or fewer it is the mean."""
    iqm_low: float
    iqm_high: float
    """Upper end of the interquartile mean's interval, by bootstrap; not finite if there are fewer
    than ``FEW`` runs or all are equal."""

    @property
    def note(self) -> str:
        """Note to print beside it."""
        if self.runs == 1:
            return "one run: no interval"
        if math.isnan(self.low):
            return "all runs alike: no interval"
        if self.runs < FEW:
            return "few seeds"
        return "bootstrap approximate" if self.runs < ENOUGH else ""


def iqm(values: ArrayLike) -> float:
    """Return the interquartile mean; a quarter of the values, rounded down, is cut at each end."""
    from scipy import stats

    return float(stats.trim_mean(np.asarray(values, float), 0.25, axis=None))


def band(values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Band:
    """Return the mean and the interquartile mean of one value per run, with intervals.

    Args:
        values: one value from each run.
        least, most: the range of possible values, which bounds the mean's interval.

    >>> found = band([1.0, 2.0])
    >>> round(found.low, 4), round(found.high, 4)
    (-4.8531, 7.8531)
    >>> found = band([0.9, 1.0], least=0.0, most=1.0)
    >>> round(found.low, 4), round(found.high, 4)
    (0.3147, 1.0)
    """
    x = np.asarray(values, float)
    n = len(x)
    if n == 0:
        return Band(0, *[math.nan] * 6)
    middle = (-math.inf, math.inf)
    if n >= FEW:
        middle = bootstrap(x[:, None], iqm)
    found = estimates.mean(x.tolist())
    low, high = found.low, found.high
    if not math.isnan(low):
        low, high = max(low, least), min(high, most)
    return Band(n, float(x.mean()), low, high, iqm(x), *middle)


def bootstrap(
    matrix: ArrayLike, statistic: Statistic, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the 95 % percentile interval of a statistic, resampling each task's runs separately.

    NaN if the runs of each task are equal, as they do not show how much runs vary.
    """
    x = np.asarray(matrix, float)
    if (x == x[0]).all():
        return math.nan, math.nan
    runs, tasks = x.shape
    rng = np.random.default_rng(seed)
    columns = np.arange(tasks)
    found = [
        statistic(x[rng.integers(runs, size=(runs, tasks)), columns]) for _ in range(resamples)
    ]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def improvement(x: ArrayLike, y: ArrayLike) -> float:
    """Return the probability that a run of ``x`` beats one of ``y``, averaged over tasks; ties
    count half."""
    return _better(_matrix(x), _matrix(y))


def _better(first: Matrix, second: Matrix) -> float:
    higher, equal = first[:, None] > second[None], first[:, None] == second[None]
    return float((higher.mean((0, 1)) + equal.mean((0, 1)) / 2).mean())


def improvement_band(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of ``improvement``; NaN if all samples are equal."""
    first, second = (_matrix(each) for each in (x, y))
    rng = np.random.default_rng(0)
    columns = np.arange(first.shape[1])
    found = []
    for _ in range(RESAMPLES):
        a = first[rng.integers(len(first), size=first.shape), columns]
        b = second[rng.integers(len(second), size=second.shape), columns]
        found.append(_better(a, b))
    if min(found) == max(found):
        return math.nan, math.nan
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def profile(matrix: ArrayLike, levels: Sequence[float]) -> list[float]:
    """Return the share of runs above each level."""
    x = np.asarray(matrix, float)
    return [float((x > level).mean()) for level in levels]


def optimality_gap(matrix: ArrayLike) -> float:
    """Return the mean distance of runs to 1; values above it count as 1."""
    return 1.0 - float(np.minimum(np.asarray(matrix, float), 1.0).mean())


@dataclass(frozen=True, slots=True)
class Comparison:
    """One method compared with another on the same seeds."""

    pairs: int
    difference: float
    low: float
    high: float
    """Upper end of the mean difference's 95 % interval, by Student's t."""
    t: float
    p: float
    """P value of the paired t test; adjust several with ``holm``."""
    wilcoxon: float
    """The p value of Wilcoxon's signed-rank test."""
    better: float
    """Probability that a run of the first method beats one of the second."""
    better_low: float
    better_high: float


def compare(x: Sequence[float], y: Sequence[float]) -> Comparison | None:
    """Compare two methods, given as values paired by seed; return None for fewer than two pairs."""
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} values are not pairs")
    n = len(x)
    if n < 2:
        return None
    found = estimates.paired(x, y)
    mean = found.mean
    low, high = improvement_band(x, y) if n >= FEW else (0.0, 1.0)
    return Comparison(
        *(n, mean.value, mean.low, mean.high, found.t, found.p, found.wilcoxon),
        *(improvement(x, y), low, high),
    )


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number (Holm 1979), in the same order.

    NaN values stay NaN.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    # A comparison without a p value still adds to their number.
    known = [index for index, value in enumerate(values) if not math.isnan(value)]
    order = sorted(known, key=values.__getitem__)
    adjusted = [math.nan] * len(values)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = least
    return adjusted


def area(curve: Mapping[int, float]) -> float:
    """Return the area under a curve divided by its width; for a single point, its value.

    >>> area({0: 0.0, 10: 1.0, 40: 1.0})
    0.875
    """
    at = sorted(curve)
    if len(at) == 1:
        return curve[at[0]]
    return float(np.trapezoid([curve[each] for each in at], at)) / (at[-1] - at[0])


def reached(curve: Mapping[int, float], level: float) -> int | None:
    """Return the first episode count at which a curve reaches ``level``; None if it never does."""
    return next((at for at in sorted(curve) if curve[at] >= level), None)


def _matrix(values: ArrayLike) -> Matrix:
    x = np.asarray(values, float)
    return x[:, None] if x.ndim == 1 else x
