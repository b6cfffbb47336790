"""Dots and boxes in many slots at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.environments.vector import CONTINUES, TERMINATED, Column
from dovetail_games.dots import kernels
from dovetail_games.dots.environment import Dots
from dovetail_games.dots.rules import grid
from dovetail_games.turn_based import TurnBased


class DotsArrays(TurnBased):
    """A position in each slot."""

    def __init__(self, configuration: Any, slots: int, game: Dots) -> None:
        super().__init__(configuration, slots, game.init())
        shape = grid(configuration.rows, configuration.columns)
        self._beside = kernels.neighbours(shape)
        self._drawn: Column = np.zeros((slots, shape.lines), np.uint8)
        self._edges: Column = np.zeros((slots, shape.boxes), np.int64)
        self._counts: Column = np.zeros((slots, 5), np.int64)
        self._boxes: Column = np.zeros((slots, 2), np.int64)
        self._owners: Column = np.full((slots, shape.boxes), -1, np.int8)
        self._gained: Column = np.zeros((slots, 2), np.int64)

    def begin(self, slots: Column, seeds: Column) -> None:
        self._drawn[slots] = 0
        self._edges[slots] = 0
        self._counts[slots] = [self._edges.shape[1], 0, 0, 0, 0]
        self._boxes[slots] = 0
        self._owners[slots] = -1
        self.movers[slots] = 0

    def play(self, slots: Column, actions: Column) -> None:
        kernels.draw_all(
            *(slots, actions, self._beside, self._drawn, self._edges, self._counts),
            *(self._boxes, self._owners, self.movers, self._gained),
        )
        kind = self.configuration.rewards
        if kind == "boxes":
            gained = self._gained[slots]
            self.rewards[slots] = gained - gained[:, ::-1]
        ended = slots[self._drawn[slots].all(axis=1)]
        self.over[ended] = TERMINATED
        boxes = self._boxes[ended]
        lead = boxes - boxes[:, ::-1]
        self.outcomes[ended] = (np.sign(lead) + 1) / 2
        if kind != "boxes":
            self.rewards[ended] = np.sign(lead) if kind == "win" else lead

    def observations(self, slots: Column, seats: Column) -> Column:
        seen = self._seen(slots, seats)
        seen[:, -1] = (self.over[slots] == CONTINUES) & (self.movers[slots] == seats)
        return seen

    def _seen(self, slots: Column, seats: Column) -> Column:
        """Return seats' observations, without the flag of the seat to draw."""
        owners, seats = self._owners[slots], seats[:, None]
        parts = [self._drawn[slots], owners == seats, owners == 1 - seats, seats < 0]
        seen: Column = np.concatenate(parts, axis=1, dtype=np.uint8, casting="unsafe")
        return seen

    def legal(self, slots: Column) -> Column:
        return np.packbits(self._drawn[slots] == 0, axis=1, bitorder="little")

    def afterstates(self, slots: Column, total: int) -> Column:
        free = self._drawn[slots] == 0
        row, line = np.nonzero(free)
        found = self._seen(slots, self.movers[slots])[row]
        number = np.arange(total)
        found[number, line] = 1
        for side in (0, 1):
            box = self._beside[line, side]
            made = (box >= 0) & (self._edges[slots[row], box] == 3)
            found[number[made], free.shape[1] + box[made]] = 1
            found[made, -1] = free.sum(axis=1)[row[made]] > 1
        return found
