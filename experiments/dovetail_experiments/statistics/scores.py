"""Scores of two players over games or pairs: Elo, intervals, likelihood of superiority.  Pure.

A pair is one opening played twice with the seats swapped; its score is 0, 1/4, 1/2, 3/4 or 1.
Formulas follow fastchess, except ``interval``, which has correct coverage even for few pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail_experiments.statistics.estimates import Estimate, normal, quantile, without_interval

C = 800 / math.log(10)
"""Normalised Elo per standard deviation of a game's score."""


def elo(score: float) -> float:
    """Return the Elo difference of an expected score; infinite at 0 and 1."""
    if score <= 0 or score >= 1:
        return math.inf if score >= 1 else -math.inf
    return -400 * math.log10(1 / score - 1) + 0.0  # never -0


def expected(difference: float) -> float:
    """Return the expected score for a difference in Elo."""
    return 1 / (1 + 10 ** (-difference / 400))


@dataclass(frozen=True, slots=True)
class Sample:
    """Counts of each score.

    Args:
        values: scores in 0..1, ascending.
        cells: the number of possible scores of a unit: 3 for single games, 5 for pairs.
    """

    values: tuple[float, ...]
    counts: tuple[float, ...]
    cells: int

    @classmethod
    def of(cls, counts: Sequence[float]) -> Sample:
        """Return a sample from counts of evenly spaced scores, lowest first.

        Three counts are losses, draws and wins; five are LL, LD, WL + DD, WD and WW.
        """
        values = tuple(k / (len(counts) - 1) for k in range(len(counts)))
        return cls(values, tuple(map(float, counts)), len(counts))

    @classmethod
    def observed(cls, scores: Iterable[float], cells: int = 5) -> Sample:
        """Return a sample from single scores; other values than those of one pair are allowed."""
        counts = {k / (cells - 1): 0.0 for k in range(cells)}
        for score in scores:
            counts[score] = counts.get(score, 0.0) + 1
        values = sorted(counts)
        return cls(tuple(values), tuple(counts[each] for each in values), cells)

    @property
    def n(self) -> float:
        """Number of units."""
        return math.fsum(self.counts)

    @property
    def score(self) -> float:
        """Mean score."""
        return math.fsum(a * c for a, c in zip(self.values, self.counts, strict=True)) / self.n

    @property
    def variance(self) -> float:
        """Variance of a unit's score."""
        s = self.score
        squares = ((a - s) ** 2 * c for a, c in zip(self.values, self.counts, strict=True))
        return math.fsum(squares) / self.n

    def smoothed(self) -> Sample:
        """Return the sample with an extra unit spread evenly over the possible scores."""
        counts = dict(zip(self.values, self.counts, strict=True))
        for k in range(self.cells):
            value = k / (self.cells - 1)
            counts[value] = counts.get(value, 0.0) + 1 / self.cells
        values = sorted(counts)
        return Sample(tuple(values), tuple(counts[each] for each in values), self.cells)

    def shown(self) -> str:
        """Return the counts of possible scores, lowest first; others count at the nearest one."""
        cells = [0.0] * self.cells
        for value, count in zip(self.values, self.counts, strict=True):
            cells[round(value * (self.cells - 1))] += count
        return "-".join(f"{each:g}" for each in cells)


def interval(sample: Sample) -> Estimate:
    """Return the mean score with its 95 % interval; no interval for fewer than two units.

    An extra unit is spread over the possible scores, so that equal units do not appear certain.
    """
    n = sample.n
    if n < 2:
        return without_interval(sample.score if n else math.nan)
    wider = sample.smoothed()
    half = quantile(n - 1) * math.sqrt(wider.variance / (wider.n - 1))
    return Estimate(sample.score, max(0.0, wider.score - half), min(1.0, wider.score + half))


def stratified(parts: Sequence[tuple[float, Sample]]) -> Estimate:
    """Return the weighted mean of several samples' scores, with its 95 % interval.

    This is ``interval`` for parts whose weights differ from their units, with the degrees of
    freedom of Welch and Satterthwaite. No interval if a part has fewer than two units.

    Args:
        parts: weights, which sum to 1, and samples.
    """
    value = math.fsum(weight * part.score for weight, part in parts)
    if any(part.n < 2 for _, part in parts):
        return without_interval(value)
    wider = [(weight, part.smoothed()) for weight, part in parts]
    spread = [weight**2 * part.variance / (part.n - 1) for weight, part in wider]
    degrees = math.fsum(spread) ** 2 / math.fsum(
        each**2 / (part.n - 1) for each, (_, part) in zip(spread, parts, strict=True)
    )
    half = quantile(degrees) * math.sqrt(math.fsum(spread))
    centre = math.fsum(weight * part.score for weight, part in wider)
    return Estimate(value, max(0.0, centre - half), min(1.0, centre + half))


def as_elo(score: Estimate) -> Estimate:
    """Return an estimated score as a difference in Elo; the ends may be infinite."""
    if not score.known:
        return without_interval(elo(score.value))
    return Estimate(elo(score.value), elo(score.low), elo(score.high))


def superiority(sample: Sample) -> float:
    """Return the likelihood that the true score exceeds one half, from the smoothed sample."""
    wider = sample.smoothed()
    if sample.n < 2:
        return math.nan
    return normal((wider.score - 0.5) / math.sqrt(wider.variance / (wider.n - 1)))


def points(places: Sequence[float]) -> list[float]:
    """Return the points of each seat from scores, higher being better: 1 for first, 0 for last.

    Seats with equal scores share the mean of their places.

    >>> points([5.0, 1.0, 5.0])
    [0.75, 0.0, 0.75]
    """
    scores = np.asarray(places, float)
    below = (scores[:, None] > scores[None, :]).sum(1)
    level = (scores[:, None] == scores[None, :]).sum(1) - 1
    return [float(each) for each in (below + level / 2) / max(1, len(scores) - 1)]
