"""Walls of Tetris as columns of bits, and the walls after all placements of a piece, compiled.

Bit r of a column is row r, from the bottom. The words of all placements are adjacent, column after
column, so that branch-free loops over hundreds of words compile to vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_games.bits import popcount
from dovetail_games.tetris.kernels import HEIGHTS, ROTATIONS, ROWS, WIDTHS

Array = NDArray[Any]

Function = TypeVar("Function", bound=Callable[..., object])


def borrowing(function: Function) -> Function:
    """Compile a function that only uses arrays of its caller.

    This omits reference counts for views of them, which took a quarter of a game with a network.
    """
    # Numba's types lack this option.
    compiled: Function = njit(cache=True, nogil=True, _nrt=False)(function)
    return compiled


def _parts() -> tuple[Array, Array]:
    """Return the columns of each piece as bits, and the row of the lowest cell in each."""
    parts, lows = np.zeros_like(ROWS), np.zeros_like(ROWS)
    for piece, rotation, column in np.ndindex(parts.shape):
        cells = ROWS[piece, rotation] >> column & 1
        parts[piece, rotation, column] = int((cells << np.arange(4)).sum())
        lows[piece, rotation, column] = int(cells.argmax())
    return parts, lows


PARTS, LOWS = _parts()
"""Columns and their lowest rows by piece, rotation and column from the left edge; int64."""
PIECE, PLACED, AFTER = range(3)
"""The boards of a placement, like the afterstates of ``dovetail_games.tetris``."""
ROOM = 9
"""Number of boards: these three, and six rows of scratch words."""


@njit(cache=True, nogil=True)
def under(word: int) -> int:
    """Return all bits up to the highest one set."""
    for shift in (1, 2, 4, 8, 16, 32):
        word |= word >> shift
    return word


@njit(cache=True, nogil=True)
def columns_of(wall: Array, width: int) -> Array:
    """Return the columns of a wall given by rows."""
    columns = np.zeros(width, np.int64)
    for row in range(wall.shape[0]):
        for column in range(width):
            columns[column] |= (wall[row] >> column & 1) << row
    return columns


@njit(cache=True, nogil=True)
def placements(piece: int, width: int) -> int:
    """Return the number of placements of a piece."""
    count = 0
    for rotation in range(ROTATIONS[piece]):
        count += width - WIDTHS[piece, rotation] + 1
    return count


@njit(cache=True, nogil=True)
def room(width: int) -> Array:
    """Return an array for the words of all placements: int64, shape (ROOM, words of a board)."""
    return np.zeros((ROOM, (width + 2) * 4 * width), np.int64)


@borrowing
def _put(
    columns: Array, piece: int, count: int, boards: Array, rows: Array, heights: Array
) -> None:
    """Write the piece's cells, the board with it, and the row of its lowest cell.

    Each loop covers a column of one rotation, where all placements have the same parts; ``heights``
    is scratch.
    """
    width = columns.shape[0]
    for column in range(width):
        heights[column] = popcount(under(columns[column]))
        beside, start = columns[column] << 1, (column + 1) * count
        alone, cells = boards[PIECE, start : start + count], boards[PLACED, start : start + count]
        for at in range(count):
            alone[at] = 0
            cells[at] = beside
    first = 0
    for rotation in range(ROTATIONS[piece]):
        wide = WIDTHS[piece, rotation]
        places = width - wide + 1
        landed = rows[first : first + places]
        landed[:] = 0
        for part in range(wide):
            low, under_it = LOWS[piece, rotation, part], heights[part : part + places]
            for column in range(places):
                landed[column] = max(landed[column], under_it[column] - low)
        for part in range(wide):
            cells = PARTS[piece, rotation, part] << 1
            at = (part + 1) * count + first
            for column in range(places):
                boards[PIECE, at] = cells << landed[column]
                boards[PLACED, at] |= cells << landed[column]
                at += count + 1
        first += places


@borrowing
def _remove(full: int, words: Array, count: int) -> None:
    """Remove rows, given as bits, from the columns of a placement, which are ``count`` apart."""
    while full:
        highest = (under(full) + 1) >> 1
        below, above = highest - 1, -highest
        for at in range(0, words.shape[0], count):
            words[at] = (words[at] & below) | (words[at] >> 1 & above)
        full ^= highest


@borrowing
def _clear(width: int, count: int, boards: Array, full: Array, ends: Array) -> None:
    """Write the boards after full rows were cleared, with these rows and their number."""
    for placement in range(count):
        full[placement] = -1
    for column in range(1, width + 1):
        cells = boards[PLACED, column * count : (column + 1) * count]
        for placement in range(count):
            full[placement] &= cells[placement]
    before, after = boards[PLACED, count:], boards[AFTER, count:]
    for at in range(width * count):
        after[at] = before[at]
    for placement in range(count):
        ends[placement, 0] = popcount(full[placement])
        if full[placement]:
            _remove(full[placement], after[placement : width * count], count)


@borrowing
def _finish(
    piece: int, height: int, width: int, count: int, boards: Array, rows: Array, ends: Array
) -> bool:
    """Write which placements end the game; return whether a piece rose above the board."""
    above = False
    placement = 0
    for rotation in range(ROTATIONS[piece]):
        for _ in range(width - WIDTHS[piece, rotation] + 1):
            ends[placement, 1] = 0
            if rows[placement] + HEIGHTS[piece, rotation] > height:
                above = True
                for at in range(count + placement, (width + 1) * count, count):
                    ends[placement, 1] |= boards[AFTER, at] >> (height + 1) & 1
            placement += 1
    return above


@borrowing
def drop_all(
    columns: Array,
    piece: int,
    height: int,
    boards: Array,
    rows: Array,
    full: Array,
    ends: Array,
) -> bool:
    """Write the boards after every placement of a piece.

    Args:
        columns: the wall's columns before the drop.
        piece: the piece's number.
        height: the height of the board.
        boards: int64, shape (AFTER + 1 or more, words of a board): the piece's cells, the board
            with it, and the board after full rows were cleared; the columns from the one left of
            the board to the one right of it, each as a word of every placement. Bit 1 is the lowest
            row. The two outer columns are not written.
        rows: int64, shape (placements or more,), the row of the piece's lowest cell.
        full: int64, shape (placements and width or more,), the full rows as bits.
        ends: int64, shape (placements or more, 2), the rows cleared, and 1 if the game is over.

    Returns:
        Whether a piece rose above the board.
    """
    width = columns.shape[0]
    count = placements(piece, width)
    _put(columns, piece, count, boards, rows, full)
    _clear(width, count, boards, full, ends)
    return bool(_finish(piece, height, width, count, boards, rows, ends))


@borrowing
def take(boards: Array, count: int, placement: int, columns: Array) -> None:
    """Write the columns after a placement."""
    for column in range(columns.shape[0]):
        columns[column] = boards[AFTER, (column + 1) * count + placement] >> 1
