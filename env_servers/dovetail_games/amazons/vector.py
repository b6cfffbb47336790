"""Amazons in many slots at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.vector import TERMINATED, Column
from dovetail_games.amazons import kernels
from dovetail_games.amazons.environment import Amazons
from dovetail_games.turn_based import TurnBased


class AmazonsArrays(TurnBased):
    """A position in each slot."""

    def __init__(self, configuration: Any, slots: int, game: Amazons) -> None:
        super().__init__(configuration, slots, game.init())
        board = self._board = game.board
        self._size = board.rows, board.columns
        size = len(board.squares)
        self._boards: Column = np.zeros((slots, size), np.int8)
        self._shooters: Column = np.full(slots, -1, np.int64)
        self._stuck: Column = np.zeros(slots, bool)
        self._bytes = -(-(size * size + size if board.steps else size**3) // 8)

    def begin(self, slots: Column, seeds: Column) -> None:
        self._boards[slots] = self._board.squares
        self._shooters[slots] = -1
        self._stuck[slots] = False
        self.movers[slots] = self._board.mover

    def play(self, slots: Column, actions: Column) -> None:
        kernels.play_slots(
            *(slots, actions, self.movers, self._boards, *self._size, self._board.steps),
            *(self._shooters, self._stuck),
        )
        lost = slots[self._stuck[slots]]
        losers = self.movers[lost]
        self.over[lost] = TERMINATED
        self.rewards[lost, losers], self.rewards[lost, 1 - losers] = -1.0, 1.0
        self.outcomes[lost, losers], self.outcomes[lost, 1 - losers] = 0.0, 1.0

    def observations(self, slots: Column, seats: Column) -> Column:
        seen = self._empty(len(slots))
        kernels.look_slots(slots, seats, self._boards, self._shooters, seen)
        return seen.reshape(len(slots), -1, *self._size)

    def _empty(self, rows: int) -> Column:
        return np.empty((rows, 3 + self._board.steps, self._boards.shape[1]), np.uint8)

    def legal(self, slots: Column) -> Column:
        found: Column = np.zeros((len(slots), self._bytes), np.uint8)
        kernels.legal_slots(
            *(slots, self.movers, self._boards, *self._size, self._board.steps),
            *(self._shooters, found),
        )
        return found

    def afterstates(self, slots: Column, total: int) -> Column:
        found = self._empty(total)
        kernels.after_slots(
            *(slots, self.movers, self._boards, *self._size, self._board.steps),
            *(self._shooters, found),
        )
        return found.reshape(total, -1, *self._size)
