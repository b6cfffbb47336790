"""Ratings from two-player games: the Bradley-Terry model with intervals from pairs.  Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail_experiments.statistics.estimates import Estimate, Z, normal
from dovetail_experiments.statistics.scores import Sample

Pair = tuple[str, str]
Floats = NDArray[np.float64]
PRIOR = 0.5
"""Drawn games added to each pairing, which keep ratings finite."""
SCALE = 400 / math.log(10)
"""Elo per unit of the logistic scale."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings with mean 0 in each component of players that met."""

    players: tuple[str, ...]
    elo: dict[str, Estimate]
    covariance: Floats
    """Covariance of the ratings, in Elo squared; NaN where intervals are unknown."""
    components: list[list[str]]
    """Groups of players connected by games; ratings are comparable only within a group."""
    undefeated: frozenset[str] = field(default=frozenset())
    """Players that scored every point; only the lower ends of their intervals are meaningful."""
    winless: frozenset[str] = field(default=frozenset())
    """Players that scored nothing; only the upper ends are meaningful."""

    def superiority(self, one: str, other: str) -> float:
        """Return the likelihood that one player is stronger than another; NaN if unknown."""
        i, j = self.players.index(one), self.players.index(other)
        v = self.covariance
        variance = v[i, i] + v[j, j] - 2 * v[i, j]
        if not variance > 0:
            return math.nan
        return normal((self.elo[one].value - self.elo[other].value) / math.sqrt(variance))

    def around(self, names: Collection[str]) -> dict[str, Estimate]:
        """Return the ratings shifted so that, in each component, the players named have mean 0.

        A component without any of them is unchanged.
        """
        found = dict(self.elo)
        v = self.covariance
        for group in self.components:
            zero = [self.players.index(each) for each in group if each in names]
            if not zero:
                continue
            shift = sum(self.elo[self.players[i]].value for i in zero) / len(zero)
            own = v[np.ix_(zero, zero)].mean()
            for each in group:
                i = self.players.index(each)
                middle = self.elo[each].value - shift
                half = Z * _root(v[i, i] + own - 2 * v[i, zero].mean())
                found[each] = Estimate(middle, middle - half, middle + half)
        return found


def fit(points: Floats, prior: float = PRIOR) -> Floats:
    """Return the maximum-likelihood logistic strengths, with mean 0 in each component.

    Uses Hunter's MM algorithm (2004).

    Args:
        points: n x n, the points of each player against each other one; a draw is half a point.
        prior: drawn games added to each pairing that met.

    Raises:
        ValueError: without a prior, a player or group that won or lost everything has no rating.
    """
    from scipy.sparse.csgraph import connected_components

    n = len(points)
    met = points + points.T > 0
    won = points + prior / 2 * met
    if prior == 0 and connected_components(won > 0, connection="strong")[0] > 1:
        raise ValueError("a group of players won or lost all games against the others")
    games = won + won.T
    theta = np.zeros(n)
    groups = [np.array(group) for group in components(met)]
    for _ in range(100_000):
        strength = np.exp(theta)
        share = games / (strength[:, None] + strength[None, :])
        new = np.log(np.maximum(won.sum(1), 1e-300)) - np.log(np.maximum(share.sum(1), 1e-300))
        for group in groups:
            new[group] -= new[group].mean()
        moved = float(np.abs(new - theta).max())
        theta = new
        if moved < 1e-11:
            break
    return theta


def components(met: NDArray[np.bool_]) -> list[list[int]]:
    """Return the groups of players connected by games, in the order of the players."""
    from scipy.sparse.csgraph import connected_components

    groups: dict[int, list[int]] = {}
    for player, group in enumerate(connected_components(met, directed=False)[1]):
        groups.setdefault(int(group), []).append(player)
    return list(groups.values())


def ratings(
    players: Sequence[str],
    meetings: Mapping[Pair, Sample],
    prior: float = PRIOR,
    *,
    sparse: bool = False,
) -> Ratings:
    """Return Elo ratings with 95 % intervals that are valid for any share of draws and any
    openings.

    Intervals come from the sandwich estimator over pairs, that is from the variance of the pairs'
    scores instead of the model's variance of single games.

    Args:
        meetings: by player and opponent, the player's scores in pairs of games.
        prior: drawn games added to each pairing.
        sparse: whether most pairings have few games or none. Variances are then estimated from the
            model's residuals over all pairings, as single ones have too little data.
    """
    n = len(players)
    index = {name: number for number, name in enumerate(players)}
    points = np.zeros((n, n))
    for (one, other), sample in meetings.items():
        if sample.n:
            points[index[one], index[other]] += 2 * sample.n * sample.score
            points[index[other], index[one]] += 2 * sample.n * (1 - sample.score)
    theta = fit(points, prior)
    met = points + points.T > 0
    games = points + points.T + prior * met
    chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    weight = games * chance * (1 - chance)
    inverse = np.linalg.pinv(np.diag(weight.sum(1)) - weight)
    spread = np.zeros((n, n))
    unknown = np.zeros(n, bool)
    units = sum(sample.n for sample in meetings.values())
    for (one, other), sample in meetings.items():
        i, j = index[one], index[other]
        if not sample.n:
            continue
        if units <= n if sparse else sample.n < 2:
            unknown[[i, j]] = True
        u = np.zeros(n)
        u[i], u[j] = 1.0, -1.0
        expected = float(chance[i, j])
        variance = _residuals(sample, expected, units) if sparse else _variance(sample, expected)
        spread += variance * np.outer(u, u)
    if sparse and units > n:
        spread *= units / (units - n + 1)  # as many ratings were fitted
    covariance = SCALE**2 * inverse @ spread @ inverse
    groups = components(met)
    for group in groups:
        if unknown[group].any() or len(group) == 1:
            covariance[np.ix_(group, group)] = math.nan
    found = {}
    for number, name in enumerate(players):
        middle = SCALE * float(theta[number])
        half = Z * _root(covariance[number, number])
        found[name] = Estimate(middle, middle - half, middle + half)
    return Ratings(
        tuple(players),
        found,
        covariance,
        [[players[number] for number in group] for group in groups],
        frozenset(p for p, i in index.items() if met[i].any() and not points[:, i].any()),
        frozenset(p for p, i in index.items() if met[i].any() and not points[i].any()),
    )


def _variance(sample: Sample, chance: float) -> float:
    """Return the variance of the points of all pairs in a pairing, from the smoothed cells."""
    wider = sample.smoothed()
    w = np.asarray(wider.counts) / wider.n
    e = 2 * (np.asarray(wider.values) - chance)
    return float(wider.n * (w * (e - (w * e).sum()) ** 2).sum())


def _residuals(sample: Sample, chance: float, units: float) -> float:
    """Return the sum of squared differences between points and expected points over all pairs.

    One extra unit is spread over all pairings, and within each evenly over the possible scores, so
    that a ladder of equal units does not appear certain.

    Args:
        units: the number of pairs in all pairings.
    """
    even = [k / (sample.cells - 1) for k in range(sample.cells)]
    more = sample.n / units / sample.cells
    return math.fsum(
        count * (2 * (value - chance)) ** 2
        for value, count in [
            *zip(sample.values, sample.counts, strict=True),
            *((value, more) for value in even),
        ]
    )


def _root(variance: float) -> float:
    """Return a standard deviation: 0 for a variance slightly below 0 by rounding, NaN for NaN."""
    return float(np.sqrt(np.maximum(0.0, variance)))


def nash_averaging(payoffs: Floats) -> tuple[Floats, Floats]:
    """Return the maximum-entropy equilibrium and each player's payoff against it (Balduzzi et al.
    2018).

    Players of the equilibrium have payoff 0; weaker ones have a negative payoff, however often they
    beat weak players.

    Args:
        payoffs: an antisymmetric n x n table of the row's payoff against the column, such as score
            minus 1/2.

    Raises:
        ValueError: it is not antisymmetric.
    """
    from scipy.optimize import linprog, minimize

    n = len(payoffs)
    if payoffs.shape != (n, n) or np.abs(payoffs + payoffs.T).max() > 1e-9:
        raise ValueError("Nash averaging needs an antisymmetric table: row i, column j = -(j, i)")
    # any equilibrium, as a start
    inside: Any = linprog(
        np.zeros(n), A_ub=payoffs, b_ub=np.full(n, 1e-12), A_eq=np.ones((1, n)), b_eq=[1.0]
    )
    objective: Any = _negative_entropy
    constraints: Any = [
        {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(n)},
        {"type": "ineq", "fun": lambda p: -(payoffs @ p), "jac": lambda p: -payoffs},
    ]
    found = minimize(
        objective,
        inside.x,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints=constraints,
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    p = np.clip(found.x, 0, None)
    p /= p.sum()
    return p, payoffs @ p


def _negative_entropy(p: Floats) -> tuple[float, Floats]:
    log = np.log(np.maximum(p, 1e-12))
    return float((p * log).sum()), log + 1
