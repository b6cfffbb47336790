"""Tetris' inner loops, compiled: drops, and the eight features of Dellacherie and Thiery.

A wall is an int64 array of rows from the bottom, with four more rows than the board; bit c of a row
is column c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_games.bits import popcount
from dovetail_games.tetris.pieces import tables

ROTATIONS, WIDTHS, HEIGHTS, ROWS = tables()
FEATURES = 8

Array = NDArray[Any]


@njit(cache=True)
def top(wall: Array) -> int:
    """Return the number of rows from the floor to the highest occupied one."""
    for row in range(wall.shape[0] - 1, -1, -1):
        if wall[row]:
            return row + 1
    return 0


@njit(cache=True)
def landing(wall: Array, high: int, piece: int, rotation: int, column: int) -> int:
    """Return the row in which the lowest cell of a piece comes to rest when it is dropped."""
    height = HEIGHTS[piece, rotation]
    row = high
    while row > 0:
        for part in range(height):
            at = row - 1 + part
            if at < wall.shape[0] and wall[at] & ROWS[piece, rotation, part] << column:
                return row
        row -= 1
    return 0


@njit(cache=True)
def drop(wall: Array, piece: int, rotation: int, column: int, width: int) -> tuple[int, int, int]:
    """Drop a piece on the wall and clear full rows.

    Returns:
        The row of its lowest cell, the rows cleared, and the number of its cells cleared.
    """
    full = (1 << width) - 1
    row = landing(wall, top(wall), piece, rotation, column)
    cleared = 0
    eroded = 0
    for part in range(HEIGHTS[piece, rotation]):
        wall[row + part] |= ROWS[piece, rotation, part] << column
    for part in range(HEIGHTS[piece, rotation]):
        if wall[row + part] == full:
            cleared += 1
            eroded += popcount(ROWS[piece, rotation, part])
    if cleared:
        to = row
        for source in range(row, wall.shape[0]):
            if wall[source] != full:
                wall[to] = wall[source]
                to += 1
        for rest in range(to, wall.shape[0]):
            wall[rest] = 0
    return row, cleared, eroded


@njit(cache=True)
def _copy(wall: Array, to: Array) -> None:
    for row in range(wall.shape[0]):  # numba takes seconds to compile the copy of a slice
        to[row] = wall[row]


@njit(cache=True)
def placements(piece: int, width: int, rotations: Array, columns: Array) -> int:
    """Write the rotations and columns of all placements of a piece; return their number."""
    count = 0
    for rotation in range(ROTATIONS[piece]):
        for column in range(width - WIDTHS[piece, rotation] + 1):
            rotations[count] = rotation
            columns[count] = column
            count += 1
    return count


@njit(cache=True)
def features(
    wall: Array, height: int, width: int, row: int, tall: int, cleared: int, eroded: int, out: Array
) -> None:
    """Write the eight features of a wall after a drop, in the order of the study, section 2.1.

    Args:
        wall: the wall after full rows were cleared.
        height: the height of the board.
        width: the width of the board.
        row: the row where the piece's lowest cell came to rest.
        tall: the piece's height in its rotation.
        cleared: the number of rows cleared.
        eroded: the number of the piece's cells cleared.
        out: float64, shape (8,), written: landing height, eroded cells, row transitions, column
            transitions, holes, cumulative wells, hole depth, rows with holes.
    """
    full = (1 << width) - 1
    high = top(wall)
    row_changes = 2 * (height - high) if high < height else 0
    column_changes = 0
    holes = 0
    wells = 0
    depth = 0
    rows_with_holes = 0
    below = full
    for at in range(high + 1):
        here = wall[at] if at < wall.shape[0] else 0
        column_changes += popcount(here ^ below)
        below = here
    covered = 0
    for at in range(high - 1, -1, -1):
        here = wall[at]
        if at < height:
            walled = here << 1 | 1 | 1 << (width + 1)
            row_changes += popcount((walled ^ walled >> 1) & ((full << 1) | 1))
        hidden = covered & ~here & full
        if hidden:
            holes += popcount(hidden)
            rows_with_holes += 1
            above = wall[at + 1]
            roofed = hidden & above
            while roofed:
                bit = roofed & -roofed
                roofed ^= bit
                up = at + 1
                while up < high and wall[up] & bit:
                    depth += 1
                    up += 1
        covered |= here
        left = here << 1 | 1
        right = here >> 1 | 1 << (width - 1)
        shafts = left & right & ~here & full
        while shafts:
            bit = shafts & -shafts
            shafts ^= bit
            down = at
            while down >= 0 and not wall[down] & bit:
                wells += 1
                down -= 1
    out[0] = row + (tall - 1) / 2
    out[1] = cleared * eroded
    out[2] = row_changes
    out[3] = column_changes
    out[4] = holes
    out[5] = wells
    out[6] = depth
    out[7] = rows_with_holes


@njit(cache=True)
def features_after_all(wall: Array, piece: int, height: int, width: int, out: Array) -> int:
    """Write the features after every placement of a piece; return the number of placements.

    Args:
        wall: the wall before the drop; not modified.
        piece: the piece's number.
        height: the height of the board.
        width: the width of the board.
        out: shape (placements or more, 9), float64: the eight features, and 1 if the game is over.
    """
    count = 0
    after = np.empty_like(wall)
    for rotation in range(ROTATIONS[piece]):
        for column in range(width - WIDTHS[piece, rotation] + 1):
            _copy(wall, after)
            row, cleared, eroded = drop(after, piece, rotation, column, width)
            tall = HEIGHTS[piece, rotation]
            features(after, height, width, row, tall, cleared, eroded, out[count])
            out[count, 8] = after[height] != 0
            count += 1
    return count


@njit(cache=True)
def _unpack(wall: Array, height: int, width: int, out: Array) -> None:
    for row in range(height):
        for column in range(width):
            out[height - 1 - row, column] = wall[row] >> column & 1


@njit(cache=True)
def boards_after_all(wall: Array, piece: int, height: int, width: int, out: Array) -> int:
    """Write the boards after every placement of a piece; return the number of placements.

    Args:
        wall: the wall before the drop; not modified.
        piece: the piece's number.
        height: the height of the board.
        width: the width of the board.
        out: shape (placements or more, 3, height, width), uint8, row 0 at the top: the piece's
            cells where it came to rest, the board with it, and the board after full rows were
            cleared.
    """
    count = 0
    after = np.empty_like(wall)
    for rotation in range(ROTATIONS[piece]):
        for column in range(width - WIDTHS[piece, rotation] + 1):
            row = landing(wall, top(wall), piece, rotation, column)
            after[:] = 0
            for part in range(HEIGHTS[piece, rotation]):
                after[row + part] = ROWS[piece, rotation, part] << column
            _unpack(after, height, width, out[count, 0])
            for at in range(after.shape[0]):
                after[at] |= wall[at]
            _unpack(after, height, width, out[count, 1])
            _copy(wall, after)
            drop(after, piece, rotation, column, width)
            _unpack(after, height, width, out[count, 2])
            count += 1
    return count


# -- many games at once: arrays by slot ------------------------------------------------------------


@njit(cache=True)
def drop_slots(
    slots: Array, actions: Array, walls: Array, pieces: Array, width: int, rewards: Array
) -> None:
    """Place the piece in each of some slots; write the rows cleared to ``rewards``, by slot and
    seat."""
    for k in range(len(slots)):
        slot, action = slots[k], actions[k]
        rewards[slot, 0] = drop(walls[slot], pieces[slot], action // width, action % width, width)[
            1
        ]


@njit(cache=True)
def unpack_slots(slots: Array, walls: Array, out: Array) -> None:
    """Write the boards in some slots: uint8 [slots, height, width], row 0 at the top."""
    for k in range(len(slots)):
        _unpack(walls[slots[k]], out.shape[1], out.shape[2], out[k])


@njit(cache=True)
def legal_slots(slots: Array, pieces: Array, width: int, out: Array) -> None:
    """Set the bits of the placements in rows of zeros: uint8 [slots, bytes]."""
    rotations, columns = np.empty(4 * width, np.int64), np.empty(4 * width, np.int64)
    for k in range(len(slots)):
        for number in range(placements(pieces[slots[k]], width, rotations, columns)):
            action = rotations[number] * width + columns[number]
            out[k, action >> 3] |= 1 << (action & 7)


@njit(cache=True)
def after_slots(slots: Array, walls: Array, pieces: Array, out: Array) -> None:
    """Write the boards after every placement, slot by slot; see ``boards_after_all``."""
    at = 0
    for slot in slots:
        at += boards_after_all(walls[slot], pieces[slot], out.shape[2], out.shape[3], out[at:])
