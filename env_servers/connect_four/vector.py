"""Connect Four in many slots at once, compiled; tests/env_servers/test_vector.py plays it against ``rules``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dovetail.env_servers.environment import Spec
from dovetail.env_servers.turn_based import TurnBased
from dovetail.env_servers.vector import TERMINATED, Column


@njit(cache=True)
def _wins(discs: Column, row: int, column: int, connect: int) -> bool:
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
    won: Column,
    slots: Column,
    actions: Column,
    connect: int,
) -> None:
    """Drop a disc in each of some slots; ``won`` becomes whether it ends a row that wins."""
    for k in range(len(slots)):
        slot, column = slots[k], actions[k]
        mover = movers[slot]
        row = heights[slot, column]
        discs[slot, mover, row, column] = 1
        heights[slot, column] = row + 1
        moves[slot] += 1
        won[slot] = _wins(discs[slot, mover], row, column, connect)
        movers[slot] = 1 - mover


class ConnectFours(TurnBased):
    """Connect Four boards, one in each slot."""

    def __init__(self, configuration: Any, slots: int, spec: Spec) -> None:
        super().__init__(configuration, slots, spec)
        self._shape = configuration.rows, configuration.columns
        self._discs: Column = np.zeros((slots, 2, *self._shape), np.uint8)
        self._heights: Column = np.zeros((slots, configuration.columns), np.int32)
        self._moves: Column = np.zeros(slots, np.int32)
        self._won: Column = np.zeros(slots, bool)

    def begin(self, slots: Column, seeds: Column) -> None:
        self._discs[slots] = 0
        self._heights[slots] = 0
        self._moves[slots] = 0
        self.movers[slots] = 0

    def play(self, slots: Column, actions: Column) -> None:
        _step(
            *(self._discs, self._heights, self._moves, self.movers, self._won, slots, actions),
            self.configuration.connect,
        )
        rows, columns = self._shape
        full = slots[self._moves[slots] == rows * columns]
        self.over[full] = TERMINATED
        self.outcomes[full] = 0.5
        won = slots[self._won[slots]]
        losers = self.movers[won]
        self.over[won] = TERMINATED
        self.rewards[won, losers], self.rewards[won, 1 - losers] = -1.0, 1.0
        self.outcomes[won, losers], self.outcomes[won, 1 - losers] = 0.0, 1.0

    def observations(self, slots: Column, seats: Column) -> Column:
        seen: Column = self._discs[slots]
        turned = np.flatnonzero(seats)
        seen[turned] = seen[turned, ::-1]
        return seen

    def legal(self, slots: Column) -> Column:
        return np.packbits(self._heights[slots] < self._shape[0], axis=1, bitorder="little")

    def afterstates(self, slots: Column, total: int) -> Column:
        heights = self._heights[slots]
        row, column = np.nonzero(heights < self._shape[0])
        found: Column = self.observations(slots, self.movers[slots])[row]
        found[np.arange(total), 0, heights[row, column], column] = 1
        return found
