"""Connect Four in many slots at once, compiled; tests/env_servers/test_vector.py plays it against
``rules``."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.turn_based import TurnBased
from dovetail.peer.environments.vector import TERMINATED, Column
from dovetail.peer.kernels import njit
from dovetail_games.connect_four.environment import ConnectFour


@njit(cache=True)
def wins(discs: Column, row: int, column: int, connect: int) -> bool:
    """Return whether the disc at a square is in a row that wins."""
    rows, columns = discs.shape
    for up, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        line = 1
        for sign in (-1, 1):
            r, c = row + sign * up, column + sign * right
            while 0 <= r < rows and 0 <= c < columns and discs[r, c]:
                line += 1
                r += sign * up
                c += sign * right
        if line >= connect:
            return True
    return False


@njit(cache=True)
def _step(
    discs: Column,
    heights: Column,
    moves: Column,
    movers: Column,
    over: Column,
    rewards: Column,
    outcomes: Column,
    slots: Column,
    actions: Column,
    connect: int,
) -> None:
    """Drop a disc in each of some slots, and say what it ends."""
    squares = discs.shape[2] * discs.shape[3]
    for k in range(len(slots)):
        slot, column = slots[k], actions[k]
        mover = movers[slot]
        row = heights[slot, column]
        discs[slot, mover, row, column] = 1
        heights[slot, column] = row + 1
        moves[slot] += 1
        movers[slot] = 1 - mover
        if wins(discs[slot, mover], row, column, connect):
            over[slot] = TERMINATED
            rewards[slot, mover], rewards[slot, 1 - mover] = 1.0, -1.0
            outcomes[slot, mover], outcomes[slot, 1 - mover] = 1.0, 0.0
        elif moves[slot] == squares:
            over[slot] = TERMINATED
            outcomes[slot] = 0.5


@njit(cache=True)
def _seen(discs: Column, slots: Column, seats: Column) -> Column:
    """Return the boards of some slots as seats see them, their own discs first."""
    seen = np.empty((len(slots), *discs.shape[1:]), np.uint8)
    for k in range(len(slots)):
        for side in range(2):
            seen[k, side] = discs[slots[k], side ^ seats[k]]
    return seen


@njit(cache=True)
def _legal(heights: Column, rows: int, slots: Column) -> Column:
    """Return the bit masks of the columns that are not full."""
    columns = heights.shape[1]
    found = np.zeros((len(slots), (columns + 7) >> 3), np.uint8)
    for k in range(len(slots)):
        for column in range(columns):
            if heights[slots[k], column] < rows:
                found[k, column >> 3] |= 1 << (column & 7)
    return found


class ConnectFourArrays(TurnBased):
    """Connect Four boards, one in each slot."""

    def __init__(self, configuration: Any, slots: int, game: ConnectFour) -> None:
        super().__init__(configuration, slots, game.init())
        self._shape = configuration.rows, configuration.columns
        self._discs: Column = np.zeros((slots, 2, *self._shape), np.uint8)
        self._heights: Column = np.zeros((slots, configuration.columns), np.int32)
        self._moves: Column = np.zeros(slots, np.int32)

    def begin(self, slots: Column, seeds: Column) -> None:
        self._discs[slots] = 0
        self._heights[slots] = 0
        self._moves[slots] = 0
        self.movers[slots] = 0

    def play(self, slots: Column, actions: Column) -> None:
        _step(
            *(self._discs, self._heights, self._moves, self.movers),
            *(self.over, self.rewards, self.outcomes, slots, actions),
            self.configuration.connect,
        )

    def observations(self, slots: Column, seats: Column) -> Column:
        found: Column = _seen(self._discs, slots, seats)
        return found

    def legal(self, slots: Column) -> Column:
        found: Column = _legal(self._heights, self._shape[0], slots)
        return found

    def afterstates(self, slots: Column, total: int) -> Column:
        heights = self._heights[slots]
        row, column = np.nonzero(heights < self._shape[0])
        found: Column = self.observations(slots, self.movers[slots])[row]
        found[np.arange(total), 0, heights[row, column], column] = 1
        return found
