"""Tetris in many slots at once.

Observations are maps, so those of a batch form a list; columns of it are computed as arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.vector import TERMINATED, TRUNCATED, Column
from dovetail.peer.vector_random import Twisters
from dovetail_games.tetris import kernels
from dovetail_games.tetris.environment import Tetris
from dovetail_games.tetris.pieces import PIECES
from dovetail_games.turn_based import TurnBased


class TetrisArrays(TurnBased):
    """A wall and a piece in each slot."""

    def __init__(self, configuration: Any, slots: int, game: Tetris) -> None:
        super().__init__(configuration, slots, game.init())
        height, width = configuration.height, configuration.width
        self._walls: Column = np.zeros((slots, height + 4), np.int64)
        self._pieces: Column = np.zeros(slots, np.int64)
        self._placed: Column = np.zeros(slots, np.int64)
        self._set: Column = np.array([PIECES.index(each) for each in configuration.pieces])
        self._chance = Twisters(slots)
        self._bytes = -(-4 * width // 8)

    def begin(self, slots: Column, seeds: Column) -> None:
        self._walls[slots] = 0
        self._placed[slots] = 0
        self._chance.begin(slots, seeds)
        self._draw(slots)

    def _draw(self, slots: Column) -> None:
        self._pieces[slots] = self._set[self._chance.number(slots, 0, len(self._set))]

    def play(self, slots: Column, actions: Column) -> None:
        options = self.configuration
        kernels.drop_slots(slots, actions, self._walls, self._pieces, options.width, self.rewards)
        self._placed[slots] += 1
        self._draw(slots)
        if options.max_pieces:
            self.over[slots[self._placed[slots] >= options.max_pieces]] = TRUNCATED
        self.over[slots[self._walls[slots, options.height] != 0]] = TERMINATED

    def observations(self, slots: Column, seats: Column) -> list[Any]:
        options = self.configuration
        boards: Column = np.empty((len(slots), options.height, options.width), np.uint8)
        kernels.unpack_slots(slots, self._walls, boards)
        pieces = self._pieces[slots].tolist()
        return [
            {"board": board, "piece": piece} for board, piece in zip(boards, pieces, strict=True)
        ]

    def legal(self, slots: Column) -> Column:
        found: Column = np.zeros((len(slots), self._bytes), np.uint8)
        kernels.legal_slots(slots, self._pieces, self.configuration.width, found)
        return found

    def afterstates(self, slots: Column, total: int) -> Column:
        options = self.configuration
        out: Column = np.empty((total, 3, options.height, options.width), np.uint8)
        kernels.after_slots(slots, self._walls, self._pieces, out)
        return out if options.afterstates == "boards" else out[:, 2].copy()
