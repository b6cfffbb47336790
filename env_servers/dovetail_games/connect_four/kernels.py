"""Connect Four, compiled: discs on boards of any size, and on many boards at once.

A player's discs are an array of zeros and ones: uint8, shape (rows, columns), row 0 at the bottom.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.environments.vector import TERMINATED
from dovetail.peer.kernels import njit

Array = NDArray[Any]


@njit(cache=True)
def wins(discs: Array, row: int, column: int, connect: int) -> bool:
    """Return whether the disc on a square is part of a winning row."""
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
def play_slots(
    discs: Array,
    heights: Array,
    moves: Array,
    movers: Array,
    over: Array,
    rewards: Array,
    outcomes: Array,
    slots: Array,
    actions: Array,
    connect: int,
) -> None:
    """Drop a disc in each of some slots, and record finished games."""
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
def look_slots(discs: Array, slots: Array, seats: Array) -> Array:
    """Return the observations of seats in some slots, their own discs first."""
    seen = np.empty((len(slots), *discs.shape[1:]), np.uint8)
    for k in range(len(slots)):
        for side in range(2):
            seen[k, side] = discs[slots[k], side ^ seats[k]]
    return seen


@njit(cache=True)
def legal_slots(heights: Array, rows: int, slots: Array) -> Array:
    """Return the bit masks of the columns that are not full."""
    columns = heights.shape[1]
    found = np.zeros((len(slots), (columns + 7) >> 3), np.uint8)
    for k in range(len(slots)):
        for column in range(columns):
            if heights[slots[k], column] < rows:
                found[k, column >> 3] |= 1 << (column & 7)
    return found
