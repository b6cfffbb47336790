"""In-process games between agents, with the counts that the studies report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dovetail.client.client import Experiment

DERIVATION = 1
"""Derivation of the seats' seeds in all studies, fixed because kept results were played with it."""


class Score(Struct):
    """Results of games between two players, counted for the first."""

    games: int = 0
    wins: int = 0
    losses: int = 0
    cut: int = 0
    """Number of truncated games, included in ``games`` but neither won nor lost."""
    digests: set[str] = msgspec.field(default_factory=set)
    """Digests of the actions, one per distinct game."""

    def add(self, other: Score) -> None:
        """Add more games."""
        self.games += other.games
        self.wins += other.wins
        self.losses += other.losses
        self.cut += other.cut
        self.digests |= other.digests


def match(
    experiment: Experiment,
    game: str,
    players: Sequence[int],
    episodes: int,
    seed: int,
    configuration: Mapping[str, Any] | None = None,
    *,
    learn: Sequence[bool] = (False, False),
    openings: int = 0,
    most: int | None = None,
    rotate: bool = True,
) -> Score:
    """Play games between two players, who exchange seats after each game unless ``rotate`` is
    false.

    Args:
        experiment: the experiment that created the players.
        game: the environment's name.
        players: instance numbers from ``create``.
        episodes: the number of games.
        seed: the seed of the games.
        configuration: the game's configuration.
        learn: true for each player that learns.
        openings: the number of random plies before the players decide.
        most: maximum turns of a game; None for no limit.
        rotate: true to exchange seats; if false, each opening is played once.
    """
    modes: list[Any] = ["learn" if each else "evaluate" for each in learn]
    found = Score()
    run = experiment.run(
        game,
        list(players),
        episodes=episodes,
        seed=seed,
        configuration=dict(configuration or {}),
        modes=modes,
        rotate=rotate,
        opening_turns=openings,
        max_turns=most,
        derivation=DERIVATION,
    )
    for episode in run:
        found.games += 1
        found.digests.add(episode.digest)
        if episode.outcome is None:
            found.cut += 1
            continue
        seat = [place.instance for place in episode.seats].index(players[0])
        found.wins += episode.outcome[seat] > 0.5
        found.losses += episode.outcome[seat] < 0.5
    return found
