"""Compiled games of 2048 with a feature network, by the network and search of Tetris."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.games.game_2048.kernels import appear
from dovetail_agents.general.feature_network.genome import UnitNetwork
from dovetail_agents.general.feature_network.kernels import values
from dovetail_games.game_2048.kernels import slide

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def play(
    rows: int,
    columns: int,
    most: int,
    seed: int | np.uint64,
    numbers: Array,
    filters: Array,
    reals: Array,
) -> tuple[int, int, bool]:
    """Play one game; each move maximizes the network's value, the first among equals.

    Args:
        rows, columns: the size of the board.
        most: maximum moves, after which the game is truncated; 0 for no limit.
        seed: the seed of the tiles that appear.
        numbers, filters, reals: ``UnitNetwork.tables`` for three planes: the change, and twice the
            board after.

    Returns:
        the score, the moves, and true if the game ended.
    """
    tiles = np.zeros(rows * columns, np.int64)
    state = np.zeros(1, np.uint64)
    state[0] = np.uint64(seed)
    appear(tiles, state)
    appear(tiles, state)
    after = np.zeros((4, rows * columns), np.int64)
    gains = np.zeros(4, np.int64)
    boards = np.zeros((4, 3, rows, columns), np.int64)
    score = 0
    moves = 0
    while most == 0 or moves < most:
        count = 0
        for move in range(4):
            gains[count] = slide(tiles, rows, columns, move, after[count])
            if gains[count] < 0:
                continue
            for square in range(rows * columns):
                row, column = square // columns, square % columns
                boards[count, 0, row, column] = after[count, square] - tiles[square]
                boards[count, 1, row, column] = after[count, square]
                boards[count, 2, row, column] = after[count, square]
            count += 1
        if count == 0:
            return score, moves, True
        chosen = int(values(boards[:count], numbers, filters, reals).argmax())
        tiles[:] = after[chosen]
        score += gains[chosen]
        moves += 1
        appear(tiles, state)
    return score, moves, False


@dataclass(frozen=True)
class Sliding:
    """A player of 2048 with a network."""

    network: UnitNetwork
    _tables: tuple[Array, Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tables", self.network.tables())

    def play(self, game: Any, seed: np.uint64) -> tuple[int, int, bool]:
        """Play one game; of ``game`` only ``most`` is used, since the network has its own board."""
        own = self.network
        found: tuple[int, int, bool] = play(own.rows, own.columns, game.most, seed, *self._tables)
        return found
