"""RLGame in many slots at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.vector import TERMINATED, TRUNCATED, Column
from dovetail_games.rlgame import kernels
from dovetail_games.rlgame.environment import RLGame
from dovetail_games.rlgame.kernels import BASE, DEAD
from dovetail_games.rlgame.rules import geometry
from dovetail_games.turn_based import TurnBased


class RLGameArrays(TurnBased):
    """A position in each slot."""

    def __init__(self, configuration: Any, slots: int, game: RLGame) -> None:
        super().__init__(configuration, slots, game.init())
        size = configuration.size
        shape = self._geometry = geometry(size, configuration.base)
        self._how = configuration.loss == "ordered", configuration.base_pawns
        self._pawns: Column = np.full((slots, 2, configuration.pawns), BASE, np.int64)
        self._cells: Column = np.zeros((slots, size * size), np.int8)
        self._winners: Column = np.full(slots, -1, np.int64)
        self._moves: Column = np.zeros(slots, np.int64)
        self._bytes = -(-(4 * size * size + shape.exits.shape[1]) // 8)

    def begin(self, slots: Column, seeds: Column) -> None:
        self._pawns[slots] = BASE
        self._cells[slots] = 0
        self._moves[slots] = 0
        self.movers[slots] = self.configuration.first

    def play(self, slots: Column, actions: Column) -> None:
        options, shape = self.configuration, self._geometry
        moved = self.movers[slots]
        kernels.play_slots(
            *(slots, actions, self.movers, self._pawns, self._cells, shape.steps, shape.exits),
            *(*self._how, self._winners),
        )
        self._moves[slots] += 1
        if options.pawn_reward:
            alive = (self._pawns[slots] != DEAD).sum(axis=2)
            row = np.arange(len(slots))
            lead = alive[row, moved] - alive[row, 1 - moved]
            self.rewards[slots, moved] = options.pawn_reward * lead / options.pawns
        self.over[slots[self._moves[slots] >= options.max_moves]] = TRUNCATED
        won = slots[self._winners[slots] >= 0]
        winners = self._winners[won]
        self.over[won] = TERMINATED
        self.rewards[won, winners] = options.win_reward
        self.rewards[won, 1 - winners] = -options.win_reward
        self.outcomes[won, winners] = 1.0
        self.outcomes[won, 1 - winners] = 0.0

    def _encoded(self, slots: Column, seats: Column, pawns: Column, cells: Column) -> Column:
        """Return seats' observations of the positions in some slots of these arrays."""
        size = self.configuration.size
        if self.configuration.encoding == "planes":
            seen: Column = np.empty((len(slots), 4, size * size), np.float32)
            kernels.planes_slots(slots, seats, pawns, cells, seen)
            return seen.reshape(-1, 4, size, size)
        views = self._geometry.slots
        rows: Column = np.empty((len(slots), 2 * (self._geometry.outside + 5)), np.uint8)
        firsts = seats if self.configuration.encoding == "own" else np.zeros_like(seats)
        kernels.encode_slots(slots, firsts, pawns, cells, views, rows)
        return rows

    def observations(self, slots: Column, seats: Column) -> Column:
        return self._encoded(slots, seats, self._pawns, self._cells)

    def legal(self, slots: Column) -> Column:
        shape = self._geometry
        found: Column = np.zeros((len(slots), self._bytes), np.uint8)
        kernels.legal_slots(
            *(slots, self.movers, self._pawns, self._cells, shape.steps, shape.exits, found)
        )
        return found

    def afterstates(self, slots: Column, total: int) -> Column:
        shape = self._geometry
        pawns: Column = np.empty((total, *self._pawns.shape[1:]), np.int64)
        cells: Column = np.empty((total, self._cells.shape[1]), np.int8)
        seats: Column = np.empty(total, np.int64)
        kernels.after_slots(
            *(slots, self.movers, self._pawns, self._cells, shape.steps, shape.exits),
            *(*self._how, pawns, cells, seats),
        )
        return self._encoded(np.arange(total, dtype=np.int32), seats, pawns, cells)
