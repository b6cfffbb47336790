"""The choice of the next pairing.  Pure.

Always pairing the nearest opponents gains most from each game, but makes the table's intervals too
narrow, because the ratings that choose the opponents contain the errors that games should average
out (docs/decisions/0032-the-arena.md has figures).  A wide Gaussian, with a share of opponents
sampled uniformly, keeps the coverage (tests/experiments/arena/test_pairing.py measures it).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A player that could play now."""

    player: int
    entrant: str
    """Owner of the program; programs of one entrant never meet. Empty for baselines."""
    units: int
    """Units played in this season."""
    last: int
    """Number of its latest unit; 0 if it has played none."""
    mu: float
    """Rating, on any scale."""
    free: bool = True
    """True if it can start at once. Busy players can also be drawn, and the unit waits for them:
    otherwise players that finish at the same time would keep meeting each other."""


def choose(
    candidates: Sequence[Candidate],
    players: int,
    turn: int,
    rng: random.Random,
    *,
    width: float,
    uniform: float,
    spread: float,
) -> list[int]:
    """Return the players of the next unit, in random order; empty if too few can play.

    Args:
        players: the number to choose.
        turn: the number of this choice. Even turns pick the player with the fewest units, so that
            newcomers catch up; odd turns the one that has waited longest, so that newcomers do not
            crowd it out.
        width: the width of the Gaussian that opponents are drawn from, in units of ``spread``.
        uniform: the share of opponents drawn regardless of ratings.
        spread: the standard deviation of the ratings of all players.
    """
    pool = sorted(candidates, key=lambda each: each.player)
    rng.shuffle(pool)  # ties are broken at random
    free = [each for each in pool if each.free]
    if not free:
        return []
    first = min(free, key=lambda each: (each.units, each.last) if turn % 2 == 0 else each.last)
    chosen = [first]
    while len(chosen) < players:
        others = [each for each in pool if not any(_same(each, one) for one in chosen)]
        if not others:
            return []
        weights = [1.0] * len(others)
        if spread > 0 and rng.random() >= uniform:
            distances = [((each.mu - first.mu) / (width * spread)) ** 2 / 2 for each in others]
            nearest = min(distances)  # so that the weights do not all vanish
            weights = [math.exp(nearest - each) for each in distances]
        chosen.append(rng.choices(others, weights)[0])
    rng.shuffle(chosen)
    return [each.player for each in chosen]


def round_robin(entrants: Mapping[int, str], size: int, rng: random.Random) -> list[list[int]]:
    """Return the units of a final, in random order.

    With two players per unit, every pair meets once. With more, players meet in random groups, in
    as many rounds as each player needs to meet as many opponents as there are others.

    Args:
        entrants: the entrant of each player, as in ``Candidate``.
        size: players per unit.
    """
    everyone = sorted(entrants)

    def apart(players: Sequence[int]) -> bool:
        own = [entrants[each] for each in players if entrants[each]]
        return len(set(players)) == len(players) and len(set(own)) == len(own)

    units = []
    if size == 2:
        units = [list(pair) for pair in itertools.combinations(everyone, 2) if apart(pair)]
        rng.shuffle(units)
    else:
        for _ in range(math.ceil((len(everyone) - 1) / (size - 1))):
            waiting = rng.sample(everyone, len(everyone))
            while waiting:
                unit: list[int] = []
                # Fill an incomplete last group with other players.
                for each in [*waiting, *rng.sample(everyone, len(everyone))]:
                    if len(unit) < size and apart([*unit, each]):
                        unit.append(each)
                waiting = [each for each in waiting[1:] if each not in unit]
                if len(unit) == size:
                    units.append(unit)
    for unit in units:
        rng.shuffle(unit)
    return units


def _same(one: Candidate, other: Candidate) -> bool:
    return one.player == other.player or (one.entrant != "" and one.entrant == other.entrant)
