"""Connect Four in many slots at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.vector import Column
from dovetail_games.connect_four import kernels
from dovetail_games.connect_four.environment import ConnectFour
from dovetail_games.turn_based import TurnBased


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
        kernels.play_slots(
            *(self._discs, self._heights, self._moves, self.movers),
            *(self.over, self.rewards, self.outcomes, slots, actions),
            self.configuration.connect,
        )

    def observations(self, slots: Column, seats: Column) -> Column:
        found: Column = kernels.look_slots(self._discs, slots, seats)
        return found

    def legal(self, slots: Column) -> Column:
        found: Column = kernels.legal_slots(self._heights, self._shape[0], slots)
        return found

    def afterstates(self, slots: Column, total: int) -> Column:
        heights = self._heights[slots]
        row, column = np.nonzero(heights < self._shape[0])
        found: Column = self.observations(slots, self.movers[slots])[row]
        found[np.arange(total), 0, heights[row, column], column] = 1
        return found
