"""Connect Four in many slots at once, compiled; tests/env_servers/test_vector.py plays it against ``rules``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dovetail.env_servers.environment import Spec
from dovetail.env_servers.vector import Column, Transitions, VectorEnvironment

OPEN, DRAW = -1, 2


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
    winner: Column,
    slots: Column,
    actions: Column,
    connect: int,
) -> None:
    rows, columns = discs.shape[2], discs.shape[3]
    for k in range(len(slots)):
        slot, column = slots[k], actions[k]
        mover = moves[slot] & 1
        row = heights[slot, column]
        discs[slot, mover, row, column] = 1
        heights[slot, column] = row + 1
        moves[slot] += 1
        if _wins(discs[slot, mover], row, column, connect):
            winner[slot] = mover
        elif moves[slot] == rows * columns:
            winner[slot] = DRAW


@njit(cache=True)
def _look(
    discs: Column,
    heights: Column,
    moves: Column,
    winner: Column,
    slots: Column,
    rows: Column,
    seats: Column,
    seen: Column,
    legal: Column,
    finals: Column,
    rewards: Column,
    outcomes: Column,
    over: Column,
) -> None:
    """Fill in what the slots lead to; the lengths of the columns are right."""
    height, columns = discs.shape[2], discs.shape[3]
    row = end = 0
    for k in range(len(slots)):
        slot = slots[k]
        if winner[slot] == OPEN:
            mover = moves[slot] & 1
            rows[row], seats[row] = slot, mover
            seen[row, 0], seen[row, 1] = discs[slot, mover], discs[slot, 1 - mover]
            for column in range(columns):
                if heights[slot, column] < height:
                    legal[row, column >> 3] |= 1 << (column & 7)
            row += 1
            continue
        over[k] = 1
        finals[end, 0, 0], finals[end, 0, 1] = discs[slot, 0], discs[slot, 1]
        finals[end, 1, 0], finals[end, 1, 1] = discs[slot, 1], discs[slot, 0]
        if winner[slot] == DRAW:
            outcomes[end, :] = 0.5
        else:
            won = winner[slot]
            outcomes[end, won], outcomes[end, 1 - won] = 1.0, 0.0
            rewards[k, won], rewards[k, 1 - won] = 1.0, -1.0
        end += 1


@njit(cache=True)
def _after(discs: Column, heights: Column, rows: Column, seats: Column, out: Column) -> None:
    """Fill in what each mover would see after each legal move, row by row."""
    height, columns = discs.shape[2], discs.shape[3]
    at = 0
    for k in range(len(rows)):
        slot, mover = rows[k], seats[k]
        for column in range(columns):
            if heights[slot, column] < height:
                out[at, 0], out[at, 1] = discs[slot, mover], discs[slot, 1 - mover]
                out[at, 0, heights[slot, column], column] = 1
                at += 1


class ConnectFours(VectorEnvironment):
    """Connect Four boards, one in each slot."""

    def __init__(self, configuration: Any, slots: int, spec: Spec) -> None:
        super().__init__(configuration, slots)
        self._spec = spec
        self._shape = configuration.rows, configuration.columns
        self._discs = np.zeros((slots, 2, *self._shape), np.uint8)
        self._heights = np.zeros((slots, configuration.columns), np.int32)
        self._moves = np.zeros(slots, np.int32)
        self._winner = np.full(slots, OPEN, np.int32)

    def init(self) -> Spec:
        return self._spec

    def start(self, slots: Column, seeds: Column) -> None:
        self._discs[slots] = 0
        self._heights[slots] = 0
        self._moves[slots] = 0
        self._winner[slots] = OPEN

    def step(self, slots: Column, seats: Column, actions: Column) -> None:
        connect = self.configuration.connect
        _step(
            *(self._discs, self._heights, self._moves, self._winner, slots, actions),
            connect,
        )

    def transitions(self, slots: Column, *, afterstates: bool) -> Transitions:
        ended = int((self._winner[slots] != OPEN).sum())
        count = len(slots) - ended
        rows, seats = np.empty(count, np.int32), np.empty(count, np.int32)
        seen = np.empty((count, 2, *self._shape), np.uint8)
        legal = np.zeros((count, -(-self._shape[1] // 8)), np.uint8)
        finals = np.empty((ended, 2, 2, *self._shape), np.uint8)
        rewards, outcomes = np.zeros((len(slots), 2)), np.empty((ended, 2))
        over = np.zeros(len(slots), np.uint8)
        _look(
            *(self._discs, self._heights, self._moves, self._winner, slots),
            *(rows, seats, seen, legal, finals, rewards, outcomes, over),
        )
        found = Transitions(rows, seats, seen, legal)
        if ended:
            found.rewards, found.over = rewards, over
            found.finals, found.outcomes = finals, outcomes
        if afterstates:
            total = int((self._heights[rows] < self._shape[0]).sum())
            found.afterstates = np.empty((total, 2, *self._shape), np.uint8)
            _after(self._discs, self._heights, rows, seats, found.afterstates)
        return found
