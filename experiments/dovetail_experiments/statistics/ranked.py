"""Ratings from rankings of several players: the Plackett-Luce model, and ladders.  Pure."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.protocol.seeds import derive
from dovetail_experiments.statistics.estimates import Estimate, normal, quantile, without_interval
from dovetail_experiments.statistics.ratings import SCALE, Floats

Ranking = Mapping[str, float]
"""Ranking of a game by player, such as places: the lowest number is best, equal numbers tie."""
REPETITIONS = 200
ORDERS = math.factorial(6)
"""Maximum orders of tied players considered for a game; a larger number would exhaust memory."""


class _Model:
    """Likelihood of games grouped into units.

    Tied players count in each of their orders with equal weight; beyond six of them, in a random
    sample of the orders.
    """

    def __init__(
        self,
        players: Sequence[str],
        units: Sequence[Sequence[Ranking]],
        ghost: float,
        zero: Collection[str],
    ) -> None:
        self.players = players
        self.ghost = ghost
        index = {name: number for number, name in enumerate(players)}
        self.zero = [index[each] for each in zero or players]
        lines: dict[int, list[tuple[tuple[int, ...], int, float]]] = {}
        for unit, games in enumerate(units):
            for ranking in games:
                found = _orders({index[name]: place for name, place in ranking.items()})
                for order in found:
                    lines.setdefault(len(order), []).append((order, unit, 1 / len(found)))
        self.tables = [
            (
                np.array([order for order, _, _ in rows]),
                np.array([unit for _, unit, _ in rows]),
                np.array([weight for _, _, weight in rows]),
            )
            for rows in lines.values()
        ]
        self.start = np.zeros(len(players))

    def ratings(self, counts: Floats | None = None) -> dict[str, float]:
        """Return the ratings with a weight for each unit."""
        from scipy.optimize import minimize

        tables = [
            (rows, weights if counts is None else weights * counts[units])
            for rows, units, weights in self.tables
        ]
        ghost = self.ghost

        def loss(theta: Floats) -> tuple[float, Floats]:
            total = float(ghost * (np.logaddexp(0, theta) - theta / 2).sum())
            slope = ghost * (1 / (1 + np.exp(-theta)) - 0.5)
            for rows, weight in tables:
                t = theta[rows]
                for place in range(rows.shape[1] - 1):
                    rest = t[:, place:]
                    top = rest.max(1, keepdims=True)
                    scaled = np.exp(rest - top)
                    sums = scaled.sum(1)
                    total += float((weight * (np.log(sums) + top[:, 0] - t[:, place])).sum())
                    np.add.at(slope, rows[:, place:], (weight / sums)[:, None] * scaled)
                    np.add.at(slope, rows[:, place], -weight)
            return total, slope

        tolerance = 1e-8 if counts is None else 1e-3
        objective: Any = loss  # scipy's stubs do not allow arrays of any shape
        found = minimize(
            objective, self.start, jac=True, method="BFGS", options={"gtol": tolerance}
        )
        theta = found.x - found.x[self.zero].mean()
        if counts is None:
            self.start = found.x
        return {name: SCALE * float(each) for name, each in zip(self.players, theta, strict=True)}


def _orders(places: Mapping[int, float]) -> list[tuple[int, ...]]:
    """Return the equally likely orders of a game, or a random sample of them if there are too many.

    The sample depends only on the places, so equal games have equal orders.
    """
    groups = [
        [player for player in places if places[player] == place]
        for place in sorted(set(places.values()))
    ]
    if math.prod(math.factorial(len(group)) for group in groups) <= ORDERS:
        return [
            tuple(itertools.chain(*choice))
            for choice in itertools.product(*(itertools.permutations(g) for g in groups))
        ]
    rng = random.Random(derive(0, "orders", str(groups)))
    # Add all rotations of a sample, so that each player is equally often in each place and equal
    # players stay equal.
    rotations = min(math.lcm(*map(len, groups)), ORDERS)
    found = []
    for _ in range(ORDERS // rotations):
        drawn = [rng.sample(group, len(group)) for group in groups]
        for by in range(rotations):
            turned = (g[by % len(g) :] + g[: by % len(g)] for g in drawn)
            found.append(tuple(itertools.chain(*turned)))
    return found


def ranked(
    players: Sequence[str],
    units: Sequence[Sequence[Ranking]],
    seed: int,
    ghost: float = 1.0,
    repetitions: int = REPETITIONS,
    zero: Collection[str] = (),
) -> dict[str, Estimate]:
    """Return ratings with 95 % intervals; a unit is an opening with all rotations of its players.

    The players in ``zero``, all by default, have mean 0.

    The interval is Student's t times the standard deviation over resampled units. ``ghost`` is the
    number of drawn games of each player against one rated 0, which keep ratings finite.
    """
    rng = np.random.default_rng(seed)

    model = _Model(players, units, ghost, zero)
    middle = model.ratings()
    n = len(units)
    if n < 2 or all(_alike(games, units[0]) for games in units[1:]):
        # Equal units do not show how much units vary.
        return {name: without_interval(value) for name, value in middle.items()}
    draws = [
        list(
            model.ratings(
                np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
            ).values()
        )
        for _ in range(repetitions)
    ]
    t = quantile(len(units) - 1)
    deviation = np.std(draws, axis=0, ddof=1)
    return {
        name: Estimate(value, value - t * float(each), value + t * float(each))
        for (name, value), each in zip(middle.items(), deviation, strict=True)
    }


def _alike(games: Sequence[Ranking], others: Sequence[Ranking]) -> bool:
    """Return whether two units have the same games, in any order."""
    return sorted(sorted(each.items()) for each in games) == sorted(
        sorted(each.items()) for each in others
    )


def ladder(games: Sequence[Ranking]) -> dict[str, tuple[float, float]]:
    """Return openskill's mu and sigma of each player, from games in the order they were played.

    This is for ladders with changing players. The result depends on the order of games, and sigma
    is not an interval; use ``ranked`` for final tables.
    """
    found: dict[str, tuple[float, float]] = {}
    for game in games:
        found.update(after(found, game))
    return found


def after(
    before: Mapping[str, tuple[float, float]], game: Ranking
) -> dict[str, tuple[float, float]]:
    """Return openskill's mu and sigma of a game's players after it; newcomers start with its
    defaults."""
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    names = list(game)
    teams = [
        [model.rating() if name not in before else model.rating(*before[name])] for name in names
    ]
    rated = model.rate(teams, ranks=[float(game[name]) for name in names])
    return {
        name: (float(each.mu), float(each.sigma))
        for name, (each,) in zip(names, rated, strict=True)
    }


def likelihood(one: Estimate, other: Estimate, n: int) -> float:
    """Return the likelihood that one rating exceeds another, assuming independence."""
    if not (one.known and other.known):
        return math.nan
    t = quantile(max(1, n - 1))
    variance = ((one.high - one.value) / t) ** 2 + ((other.high - other.value) / t) ** 2
    return normal((one.value - other.value) / math.sqrt(variance)) if variance else math.nan
