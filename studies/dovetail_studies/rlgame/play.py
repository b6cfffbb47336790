"""Compiled games of the study's learners and minimax players, with their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dovetail_agents.games.rlgame.agent import geometry_of
from dovetail_games.rlgame.rules import geometry
from dovetail_studies.rlgame import kernels as k
from dovetail_studies.rlgame.profiles import LAYERS, Profile

Array = NDArray[Any]
Game = Literal["rlgame-8", "rlgame-6", "connect-four"]
PAWNS = 10
CAP = 20_000
"""Maximum moves of both players in a game of RLGame, after which it is truncated."""


@dataclass(frozen=True)
class Played:
    """Results of games in the order of play."""

    stats: Array
    """Shape (games, columns); see ``kernels``."""
    digests: Array
    last: list[int]
    """Actions of the last game of RLGame."""


def joined(parts: Sequence[Played]) -> Played:
    """Concatenate the games of consecutive parts."""
    stats = np.concatenate([each.stats for each in parts])
    return Played(stats, np.concatenate([each.digests for each in parts]), parts[-1].last)


class LearningPair:
    """Two learning players, White and Black, each with its own network.

    Args:
        game: the game that they play.
        seed: the seed of their initial weights, uniform in -0.5..0.5, and of all choices.
    """

    def __init__(self, game: Game, seed: int) -> None:
        inputs, units = LAYERS[game]
        rng = np.random.default_rng(seed)
        first = rng.uniform(-0.5, 0.5, (2, inputs + 1, units))
        second = rng.uniform(-0.5, 0.5, (2, units + 1))
        self.game = game
        self.nets = k.Nets(first, second, np.zeros_like(first), np.zeros_like(second), np.zeros(2))
        self.state: Array = rng.integers(0, 2**63, 1, np.uint64)

    def copy(self) -> LearningPair:
        """Return players with the same weights and random numbers."""
        other = LearningPair.__new__(LearningPair)
        other.game = self.game
        other.nets = k.Nets(*(each.copy() for each in self.nets))
        other.state = self.state.copy()
        return other

    def play(
        self,
        games: int,
        profile: Profile,
        *,
        minimax: bool = False,
        blind: bool = False,
        depth: int = 5,
        cap: int = CAP,
    ) -> Played:
        """Play games in which both players learn.

        Args:
            games: the number of games.
            profile: the learning profile.
            minimax: true if White looks ahead, three plies in Connect Four.
            blind: true for a search with the error of the study's version 1.3.
            depth: the depth of the search in RLGame.
            cap: maximum moves of both players, after which a game of RLGame is truncated.
        """
        rule = profile.rule(*LAYERS[self.game])
        stats: Array = np.zeros((games, k.COLUMNS), np.int64)
        digests: Array = np.zeros(games, np.uint64)
        kinds = np.array([k.MINIMAX if minimax else k.LEARNER, k.LEARNER])
        last: Array = np.full(cap, -1, np.int64)
        if self.game == "connect-four":
            k.connect_four(games, kinds, self.nets, rule, self.state, stats, digests)
            return Played(stats, digests, [])
        shape = geometry(int(self.game[-1]), 2)
        k.rlgame(
            *(games, kinds, depth, blind, PAWNS, cap, geometry_of(shape, True, True)),
            *(self.nets, rule, self.state, stats, digests, last),
        )
        plies = int(stats[-1, k.PLIES]) if games else 0
        return Played(stats, digests, last[:plies].tolist())
