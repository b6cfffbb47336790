"""Whom the learner of a league meets next.  Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from dovetail.protocol.seeds import derive
from dovetail_experiments.files.file import League


def snapshot(learner: str, episodes: int) -> str:
    """Return the name of a learner's state after ``episodes`` of the league."""
    return f"{learner}@{episodes}"


def pool(league: League, episodes: int) -> list[str]:
    """Return the opponents after ``done`` episodes: the fixed ones, then snapshots, the latest
    last."""
    every = league.snapshot_every
    found = [snapshot(league.learner, each) for each in range(0, episodes + 1, every)]
    return [*league.pool, *found[-league.keep :]]


def opponent(
    league: League, episodes: int, scores: Mapping[str, tuple[float, int]], seed: int
) -> str:
    """Return whom the learner meets in the block that begins after ``done`` episodes.

    ``prioritised`` draws with weight (1 - p)**2, p the learner's score against each so far; a
    member it has not met counts as p = 1/2 with two games (Vinyals et al. 2019).

    Args:
        league: the league.
        episodes: played in it.
        scores: by opponent, the learner's points and games.
        seed: the experiment's.
    """
    members = pool(league, episodes)
    if league.policy == "latest":
        return members[-1]
    rng = random.Random(derive(seed, "league", league.name, episodes))
    if league.policy == "uniform":
        return rng.choice(members)
    return rng.choices(members, weights(members, scores))[0]


def weights(members: Sequence[str], scores: Mapping[str, tuple[float, int]]) -> list[float]:
    """Return how likely each member is to be the next opponent, not normalised."""
    found = []
    for name in members:
        points, games = scores.get(name, (0.0, 0))
        found.append((1 - (points + 1) / (games + 2)) ** 2)
    return found
