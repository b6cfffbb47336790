"""Standings of a tournament: points and ratings.  Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.experiments.statistics import Estimate, Tally, Z, wilson

Pair = tuple[str, str]
PRIOR = 0.5
"""Drawn games that every pair is taken to have played beside its own, so that ratings stay finite."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a player reached."""

    player: str
    wins: int
    draws: int
    losses: int
    elo: Estimate
    """Against the mean of all players; see ``ratings``."""

    @property
    def score(self) -> Estimate:
        """Points, a draw counting half, per game."""
        return wilson(self.wins + self.draws / 2, self.wins + self.draws + self.losses)


def standings(players: Sequence[str], meetings: Mapping[Pair, Sequence[Tally]]) -> list[Standing]:
    """Return the players, the best first.

    Args:
        players: in the order of the tournament.
        meetings: by pair, what both did against each other.
    """
    counts = {name: [0, 0, 0] for name in players}
    points: dict[Pair, float] = {}
    for pair, tallies in meetings.items():
        for tally in tallies:
            for number, count in enumerate((tally.wins, tally.draws, tally.losses)):
                counts[tally.agent][number] += count
            other = pair[1] if tally.agent == pair[0] else pair[0]
            gained = tally.wins + tally.draws / 2
            points[tally.agent, other] = points.get((tally.agent, other), 0.0) + gained
    found = ratings(players, points)
    rows = [
        Standing(name, wins, draws, losses, found[name])
        for name, (wins, draws, losses) in counts.items()
    ]
    return sorted(rows, key=lambda each: -each.elo.value)


def ratings(players: Sequence[str], points: Mapping[Pair, float]) -> dict[str, Estimate]:
    """Return Elo ratings around a mean of 0, with 95 % intervals.

    Bradley and Terry's model by maximum likelihood (Hunter 2004, algorithm MM), draws as half a win for both.
    The intervals follow from the curvature of the likelihood at its maximum.

    Args:
        players: all of them.
        points: by player and opponent, what the first scored against the second.
    """
    n = len(players)
    won = np.zeros((n, n))
    for (one, other), score in points.items():
        won[players.index(one), players.index(other)] += score
    met = won + won.T > 0
    won += PRIOR * met / 2
    games = won + won.T
    strength = np.ones(n)
    for _ in range(10_000):
        share = games / (strength[:, None] + strength[None, :])
        new = won.sum(1) / np.maximum(share.sum(1), 1e-300)
        new /= math.exp(np.log(new).mean())
        if np.abs(np.log(new / strength)).max() < 1e-10:
            break
        strength = new
    chance = strength[:, None] / (strength[:, None] + strength[None, :])
    weight = games * chance * (1 - chance)
    information = np.diag(weight.sum(1)) - weight
    variance = np.diag(np.linalg.pinv(information))
    scale = 400 / math.log(10)
    out = {}
    for number, name in enumerate(players):
        middle = scale * math.log(strength[number])
        half = Z * scale * math.sqrt(max(0.0, variance[number]))
        out[name] = Estimate(middle, middle - half, middle + half)
    return out
