"""Games of Tetris that measure a weight vector or a genome."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.tetris import kernels
from dovetail_agents.games.tetris.weights import KINDS, Weights
from dovetail_agents.general.feature_network.genome import UnitNetwork
from dovetail_games.tetris import PIECES
from dovetail_studies.tetris import bits

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TetrisGame:
    """Board, pieces and limit of a game."""

    height: int = 20
    width: int = 10
    pieces: str = PIECES
    most: int = 0
    """Maximum pieces before a game is truncated; 0 for no limit."""

    def numbers(self) -> Array:
        """The numbers of the pieces in play: int64.

        Raises:
            DovetailError: there are no pieces, or one is unknown.
        """
        if not self.pieces or set(self.pieces) - set(PIECES):
            raise DovetailError(f"pieces are of {PIECES}, not {self.pieces!r}")
        return np.array([PIECES.index(piece) for piece in self.pieces], np.int64)


class Player(Protocol):
    """A player of whole games."""

    def play(self, game: TetrisGame, seed: np.uint64) -> tuple[int, int, bool]:
        """Return the rows cleared, the pieces placed, and true if the game ended."""


@dataclass(frozen=True)
class LinearPlayer:
    """A player with a linear evaluation."""

    weights: Weights
    avoid: bool = True
    """True to assign minus infinity to a placement that ends the game."""
    _array: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_array", self.weights.array())

    def play(self, game: TetrisGame, seed: np.uint64) -> tuple[int, int, bool]:
        """Play one game; see ``Player``."""
        own = self.weights
        found: tuple[int, int, bool] = kernels.play(
            game.height,
            game.width,
            game.numbers(),
            game.most,
            seed,
            KINDS[own.features],
            self._array,
            own.reward,
            self.avoid,
        )
        return found


@dataclass(frozen=True)
class Networked:
    """A player with a feature network for boards of the game's size."""

    network: UnitNetwork
    avoid: bool = False
    """True to assign minus infinity to a placement that ends the game. The agent, which is not
    specific to a game, does not do so."""
    _tables: tuple[Array, Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tables", self.network.tables())

    def play(self, game: TetrisGame, seed: np.uint64) -> tuple[int, int, bool]:
        """Play one game; see ``Player``."""
        assert (game.height, game.width) == (self.network.rows, self.network.columns)
        found: tuple[int, int, bool] = bits.play(
            game.height, game.width, game.numbers(), game.most, seed, *self._tables, self.avoid
        )
        return found


def seeds(seed: int, generation: int, games: int) -> Array:
    """Return seeds of games: uint64; each generation has its own."""
    return np.random.SeedSequence([seed, generation]).generate_state(games, np.uint64)


def play(players: Sequence[Player], game: TetrisGame, seeds: Array, workers: int = 1) -> Array:
    """Let each player play the same games.

    Args:
        players: the players.
        game: the game.
        seeds: uint64, one per game.
        workers: the number of threads, which does not affect the results.

    Returns:
        rows cleared, pieces placed, and 1 if the game ended; int64, shape (players, games, 3).
    """
    jobs = [(player, seed) for player in players for seed in seeds]
    if workers > 1:
        with ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(lambda job: job[0].play(game, job[1]), jobs))
    else:
        found = [player.play(game, seed) for player, seed in jobs]
    return np.array(found, np.int64).reshape(len(players), len(seeds), 3)


def sequences_of(count: int) -> str:
    """Return the number of distinct games, in words; equal players play a sequence alike."""
    return f"not counted; {count:,} sequences of pieces, which the players share"
