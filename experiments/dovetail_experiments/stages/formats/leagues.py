"""The next opponent of a league's learner.  Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from dovetail.protocol.seeds import derive
from dovetail_experiments.files.file import League


def snapshot(learner: str, episodes: int) -> str:
    """Return the name of the learner's state after ``episodes`` episodes of the league."""
    return f"{learner}@{episodes}"


def pool(league: League, episodes: int) -> list[str]:
    """Return the possible opponents after ``episodes`` episodes: fixed ones, then snapshots."""
    every = league.snapshot_every
    found = [snapshot(league.learner, each) for each in range(0, episodes + 1, every)]
    return [*league.pool, *found[-league.keep :]]


def opponent(
    league: League, episodes: int, scores: Mapping[str, tuple[float, int]], seed: int
) -> str:
    """Return the learner's opponent in the block that starts after ``episodes`` episodes.

    ``prioritised`` draws with weight (1 - p)**2, where p is the learner's score so far against a
    member; an opponent it has not met counts as p = 1/2 over two games (Vinyals et al. 2019).

    Args:
        episodes: the number of episodes played in it.
        scores: the learner's points and games, by opponent.
    """
    members = pool(league, episodes)
    if league.policy == "latest":
        return members[-1]
    rng = random.Random(derive(seed, "league", league.name, episodes))
    if league.policy == "uniform":
        return rng.choice(members)
    return rng.choices(members, weights(members, scores))[0]


def weights(members: Sequence[str], scores: Mapping[str, tuple[float, int]]) -> list[float]:
    """Return each member's weight for the draw of the next opponent, not normalised."""
    found = []
    for name in members:
        points, games = scores.get(name, (0.0, 0))
        found.append((1 - (points + 1) / (games + 2)) ** 2)
    return found
