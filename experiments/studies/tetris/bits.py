"""The feature network on Tetris boards, compiled for rows of bits.

Its results equal those of ``feature_network.reference``. A filter's sum over a whole row is
computed bit by bit: each entry adds a shifted row to a counter that has one word per binary digit.
An entry of -1 adds the complement and raises the threshold by 1. Rows well above the wall are
identical, so they are evaluated once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dovetail.agent_servers.general.feature_network.kernels import middle
from dovetail.agent_servers.learning.splitmix import draw
from dovetail.env_servers.tetris.kernels import HEIGHTS, ROTATIONS, ROWS, WIDTHS, landing, top

Array = NDArray[Any]

DIGITS = 6
"""Of the counters: sums up to 63; no filter has more than 40 entries."""


@njit(cache=True, nogil=True)
def _bits(word: int) -> int:
    count = 0
    while word:
        word &= word - 1
        count += 1
    return count


@njit(cache=True, nogil=True)
def _add(digits: Array, word: int) -> None:
    for place in range(DIGITS):
        if word == 0:
            return
        carry = digits[place] & word
        digits[place] ^= word
        word = carry


@njit(cache=True, nogil=True)
def _reach(digits: Array, least: int, full: int) -> int:
    """Return the positions whose counter is at least ``least``, as a word."""
    if least <= 0:
        return full
    if least >= 1 << DIGITS:
        return 0
    above = 0
    equal = full
    for place in range(DIGITS - 1, -1, -1):
        if least >> place & 1:
            equal &= digits[place]
        else:
            above |= equal & digits[place]
            equal &= ~digits[place]
    return (above | equal) & full


@njit(cache=True, nogil=True)
def _widen(board: Array, row: int, height: int, width: int, sides: int, ends: int) -> int:
    """Return a row with a cell added left and right; bit 0 is the cell added on the left."""
    if row < 0 or row >= height:
        return ((1 << (width + 2)) - 1) * ends
    return int(board[row]) << 1 | sides | sides << (width + 1)


@njit(cache=True, nogil=True)
def _fired(
    below: int, here: int, above: int, entries: Array, least: int, flip: int, full: int
) -> int:
    """Return the cells of a row at which a square filter fires; the rows are widened."""
    if least <= 0:
        return full
    if least > 9:
        return 0
    ones = twos = fours = eights = 0
    for i in range(3):
        row = above if i == 0 else (here if i == 1 else below)
        for j in range(3):
            entry = entries[(2 - i if flip == 2 else i) * 3 + (2 - j if flip == 1 else j)]
            if entry == 0:
                continue
            word = row >> j if entry > 0 else ~(row >> j)
            carry = ones & word
            ones ^= word
            word = twos & carry
            twos ^= carry
            carry = fours & word
            fours ^= word
            eights ^= carry
    # At least: greater at some digit and equal at all higher ones, or equal at all.
    if least & 8:
        result, equal = 0, eights
    else:
        result, equal = eights, ~eights
    if least & 4:
        equal &= fours
    else:
        result |= equal & fours
        equal &= ~fours
    if least & 2:
        equal &= twos
    else:
        result |= equal & twos
        equal &= ~twos
    equal &= ones if least & 1 else -1
    return (result | equal) & full


@njit(cache=True, nogil=True)
def _walk(board: Array, row: int, fired: int, loop: int, count: int, height: int, full: int) -> int:
    """Return the cells counted from the cells of one row that fire."""
    total = 0
    alive = fired & (board[row] if count else ~board[row])
    while alive:
        total += _bits(alive)
        if loop == 1:
            alive >>= 1
        elif loop == 3:
            alive = alive << 1 & full
        elif loop == 2:
            row += 1
        else:
            row -= 1
        if row < 0 or row >= height:
            return total
        alive &= board[row] if count else ~board[row]
    return total


@njit(cache=True, nogil=True)
def _square(
    board: Array, high: int, height: int, width: int, numbers: Array, entries: Array
) -> int:
    full = (1 << width) - 1
    sides, ends, flip, loop, count = numbers[2], numbers[3], numbers[4], numbers[5], numbers[6]
    least = numbers[8] + numbers[11]
    total = 0
    row = 0
    below = _widen(board, -1, height, width, sides, ends)
    here = _widen(board, 0, height, width, sides, ends)
    while row < height:
        above = _widen(board, row + 1, height, width, sides, ends)
        fired = _fired(below, here, above, entries, least, 0, full)
        found = 0
        if loop:
            if fired:
                found = _walk(board, row, fired, loop, count, height, full)
        else:
            found = _bits(fired)
            if flip:
                found += _bits(_fired(below, here, above, entries, least, flip, full))
        # From the second free row above the wall to the last but one of the board all are alike.
        alike = 1
        if row > high and row < height - 1 and (loop == 0 or fired == 0):
            alike = height - 1 - row
        total += found * alike
        row += alike
        below = here if alike == 1 else _widen(board, row - 1, height, width, sides, ends)
        here = above if alike == 1 else _widen(board, row, height, width, sides, ends)
    return total


@njit(cache=True, nogil=True)
def _line(
    board: Array,
    high: int,
    height: int,
    width: int,
    numbers: Array,
    entries: Array,
    bias: float,
    digits: Array,
    outputs: Array,
) -> float:
    least, plus, minus = numbers[8], numbers[9], numbers[10]
    if numbers[1] == 0:
        count = height
        fired = 0
        for row in range(height):
            on = _bits(board[row] & plus) - _bits(board[row] & minus) >= least
            outputs[height - 1 - row] = on
            fired += on
    else:
        count = width
        full = (1 << width) - 1
        digits[:] = 0
        for row in range(min(high, height)):
            entry = entries[height - 1 - row]
            if entry > 0:
                _add(digits, board[row])
            elif entry < 0:
                _add(digits, ~board[row] & full)
                least += 1
        word = _reach(digits, least, full)
        for column in range(width):
            outputs[column] = word >> column & 1
        fired = _bits(word)
    return middle(outputs, count, bias) if numbers[7] else float(fired)


@njit(cache=True, nogil=True)
def value(
    boards: Array,
    highs: Array,
    height: int,
    width: int,
    numbers: Array,
    filters: Array,
    reals: Array,
    digits: Array,
    outputs: Array,
) -> float:
    """Return the network's value of one placement.

    Args:
        boards: int64, shape (3, height or more): rows from the bottom of the piece's cells, the
            board with it, and the board after; rows above the height are not looked at.
        highs: int64, shape (3,): rows up to the highest occupied one of each.
        height: of the board.
        width: of the board.
        numbers, filters, reals: ``Network.tables``.
        digits: scratch, int64, shape (DIGITS,).
        outputs: scratch, int64, shape (the larger of height and width,).
    """
    total = 0.0
    for unit in range(numbers.shape[0]):
        weight = reals[unit, 1]
        if weight == 0:
            continue
        plane = numbers[unit, 0]
        board, high = boards[plane], highs[plane]
        own, entries = numbers[unit], filters[unit]
        if own[1] == 2:
            total += weight * _square(board, high, height, width, own, entries)
        else:
            bias = reals[unit, 0]
            total += weight * _line(board, high, height, width, own, entries, bias, digits, outputs)
    return total


@njit(cache=True, nogil=True)
def put(
    wall: Array,
    high: int,
    piece: int,
    rotation: int,
    column: int,
    width: int,
    boards: Array,
    highs: Array,
) -> int:
    """Write the three boards of a placement; return the rows cleared.

    Args:
        wall: before the drop, int64; it stays as it is.
        high: rows up to its highest occupied one.
        piece: its number.
        rotation: of the piece.
        column: of the piece's left edge.
        width: of the board.
        boards: int64, shape (3, rows of the wall).
        highs: int64, shape (3,): rows from the floor above which each board is free.
    """
    full = (1 << width) - 1
    tall = HEIGHTS[piece, rotation]
    row = landing(wall, high, piece, rotation, column)
    boards[0] = 0
    boards[1] = wall
    for part in range(tall):
        boards[0, row + part] = ROWS[piece, rotation, part] << column
        boards[1, row + part] |= boards[0, row + part]
    highs[0] = row + tall
    highs[1] = max(high, row + tall)
    to = 0
    for source in range(highs[1]):
        boards[2, to] = boards[1, source]
        to += boards[1, source] != full
    boards[2, to:] = 0
    highs[2] = to
    return int(highs[1] - to)


@njit(cache=True, nogil=True)
def values_after_all(
    wall: Array,
    piece: int,
    height: int,
    width: int,
    numbers: Array,
    filters: Array,
    reals: Array,
    out: Array,
) -> int:
    """Write the network's value of every placement of a piece; return how many there are.

    Args:
        wall: before the drop; it stays as it is.
        piece: its number.
        height: of the board.
        width: of the board.
        numbers, filters, reals: ``Network.tables``.
        out: float64, shape (placements or more, 3): the value, the rows cleared, 1 if the game is
            over.
    """
    boards = np.empty((3, wall.shape[0]), np.int64)
    highs = np.empty(3, np.int64)
    digits = np.zeros(DIGITS, np.int64)
    outputs = np.zeros(max(height, width), np.int64)
    high = top(wall)
    count = 0
    for rotation in range(ROTATIONS[piece]):
        for column in range(width - WIDTHS[piece, rotation] + 1):
            out[count, 1] = put(wall, high, piece, rotation, column, width, boards, highs)
            out[count, 2] = boards[2, height] != 0
            out[count, 0] = value(
                boards, highs, height, width, numbers, filters, reals, digits, outputs
            )
            count += 1
    return count


@njit(cache=True, nogil=True)
def play(
    height: int,
    width: int,
    pieces: Array,
    most: int,
    seed: int | np.uint64,
    numbers: Array,
    filters: Array,
    reals: Array,
    avoid: bool,
) -> tuple[int, int, bool]:
    """Play one game with a feature network; as ``tetris_learning.kernels.play``."""
    wall = np.zeros(height + 4, np.int64)
    state = np.zeros(1, np.uint64)
    state[0] = np.uint64(seed)
    out = np.empty((4 * width, 3), np.float64)
    boards = np.empty((3, wall.shape[0]), np.int64)
    highs = np.empty(3, np.int64)
    lines = 0
    placed = 0
    while most == 0 or placed < most:
        piece = pieces[draw(state, pieces.shape[0])]
        count = values_after_all(wall, piece, height, width, numbers, filters, reals, out)
        chosen = 0
        worth = -np.inf
        for placement in range(count):
            if avoid and out[placement, 2]:
                continue
            if out[placement, 0] > worth:
                worth = out[placement, 0]
                chosen = placement
        rotation = 0
        while chosen > width - WIDTHS[piece, rotation]:
            chosen -= width - WIDTHS[piece, rotation] + 1
            rotation += 1
        lines += put(wall, top(wall), piece, rotation, chosen, width, boards, highs)
        wall[:] = boards[2]
        placed += 1
        if wall[height]:
            return lines, placed, True
    return lines, placed, False
