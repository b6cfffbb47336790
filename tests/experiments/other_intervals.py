"""Intervals by other methods than ours, which tests compare with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail_experiments.statistics.estimates import Estimate, Z, normal, quantile
from dovetail_experiments.statistics.ratings import SCALE, Pair, fit, ratings
from dovetail_experiments.statistics.scores import C, Sample, elo


@dataclass(frozen=True, slots=True)
class Performance:
    """A sample's figures as fastchess prints them."""

    elo: Estimate
    elo_error: float
    """Half the width of the interval, printed after ±."""
    nelo: Estimate
    nelo_error: float
    los: float
    """Likelihood of superiority."""


def performance(sample: Sample) -> Performance | None:
    """Return Elo, normalised Elo and the likelihood of superiority as fastchess computes them.

    None if the score is 0 or 1 or all units are equal, where these formulas are undefined.
    """
    s, v = sample.score, sample.variance
    if not 0 < s < 1 or v == 0:
        return None
    error = math.sqrt(v / sample.n)
    low, high = elo(s - Z * error), elo(s + Z * error)
    scale = C / math.sqrt(v if sample.cells == 3 else 2 * v)
    n, half = (s - 0.5) * scale, Z * error * scale
    return Performance(
        Estimate(elo(s), low, high),
        (high - low) / 2,
        Estimate(n, n - half, n + half),
        half,
        normal((s - 0.5) / error),
    )


def bootstrap(
    players: Sequence[str],
    meetings: Mapping[Pair, Sample],
    seed: int,
    repetitions: int,
) -> dict[str, Estimate]:
    """Return ratings with intervals from resampled pairs, drawn from the smoothed cells."""
    rng = np.random.default_rng(seed)
    n = len(players)
    index = {name: number for number, name in enumerate(players)}
    draws = []
    for _ in range(repetitions):
        points = np.zeros((n, n))
        for (one, other), sample in meetings.items():
            if not sample.n:
                continue
            wider = sample.smoothed()
            count = round(sample.n)
            cells = rng.multinomial(count, np.asarray(wider.counts) / wider.n)
            scored = 2 * float((cells * np.asarray(wider.values)).sum())
            points[index[one], index[other]] += scored
            points[index[other], index[one]] += 2 * count - scored
        draws.append(SCALE * fit(points))
    deviation = np.std(draws, axis=0, ddof=1)
    t = quantile(max(1.0, min((s.n for s in meetings.values() if s.n), default=2.0) - 1))
    middle = ratings(players, meetings).elo
    return {
        name: Estimate(
            middle[name].value,
            middle[name].value - t * float(deviation[i]),
            middle[name].value + t * float(deviation[i]),
        )
        for name, i in index.items()
    }
