"""2048 in many slots at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.vector import TERMINATED, Column
from dovetail.peer.vector_random import Twisters
from dovetail_games.game_2048 import kernels
from dovetail_games.game_2048.environment import Game2048
from dovetail_games.turn_based import TurnBased


class Arrays2048(TurnBased):
    """A board in each slot."""

    def __init__(self, configuration: Any, slots: int, game: Game2048) -> None:
        super().__init__(configuration, slots, game.init())
        self._shape = configuration.rows, configuration.columns
        self._planes = game.exponents if configuration.encoding == "planes" else 0
        self._boards: Column = np.zeros((slots, configuration.rows * configuration.columns), "i8")
        self._legal: Column = np.zeros(slots, np.uint8)
        self._chance = Twisters(slots)

    def begin(self, slots: Column, seeds: Column) -> None:
        self._chance.begin(slots, seeds)
        options = self.configuration
        kernels.start_all(
            *(slots, self._boards, self._shape, self._chance.states),
            *(options.tiles, options.four, self._legal),
        )
        self._settle(slots)

    def play(self, slots: Column, actions: Column) -> None:
        kernels.step_all(
            *(slots, actions, self._boards, self._shape, self._chance.states),
            *(self.configuration.four, self._legal, self.rewards),
        )
        self._settle(slots)

    def _settle(self, slots: Column) -> None:
        self.over[slots[self._legal[slots] == 0]] = TERMINATED

    def _encoded(self, boards: Column) -> Column:
        exponents: Column = boards.astype(np.uint8).reshape(-1, *self._shape)
        if not self._planes:
            return exponents
        numbers = np.arange(self._planes, dtype=np.uint8)
        planes: Column = (exponents[:, None] == numbers[:, None, None]).astype(np.uint8)
        return planes

    def observations(self, slots: Column, seats: Column) -> Column:
        return self._encoded(self._boards[slots])

    def legal(self, slots: Column) -> Column:
        return self._legal[slots][:, None]

    def afterstates(self, slots: Column, total: int) -> Column:
        found: Column = np.empty((total, self._boards.shape[1]), np.int64)
        kernels.after_all(slots, self._boards, self._shape, found)
        return self._encoded(found)
