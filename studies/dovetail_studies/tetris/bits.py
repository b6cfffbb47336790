"""The feature network on Tetris boards, compiled for columns of bits and all placements at once.

Its results equal those of the reference in the tests. A word holds a column of a board, and the
words of all placements of a piece lie side by side, column after column, so that each loop applies
one branchless operation to hundreds of words and compiles to vector instructions. A filter's sum is
computed bit by bit: counters have one word per binary digit. An entry of -1 adds the complement and
raises the threshold by 1. A filter whose threshold is unreachable, or always reached, is skipped;
in a search for genes that is half of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.games.tetris.columns import borrowing, drop_all, placements, room, take, under
from dovetail_agents.learning.splitmix import draw
from dovetail_games.bits import popcount

Array = NDArray[Any]

DIGITS = 6
"""Binary digits of the counters: sums up to 63; no filter has more than 40 entries."""
LEFT, UP, RIGHT, DOWN = 1, 2, 3, 4
"""Directions of loops in ``Network.tables``."""


# -- squares ---------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _add(one: int, two: int, three: int) -> tuple[int, int]:
    """Return the two digits of the sum of three bits, for each bit of the words."""
    either = one ^ two
    return either ^ three, (one & two) | (either & three)


@borrowing
def _masks(entries: Array, mirror: int, row: int, column: int) -> tuple[int, int]:
    """Return the masks by which an entry inverts a neighbour's word and selects from it."""
    row, column = 2 - row if mirror == 2 else row, 2 - column if mirror == 1 else column
    entry = entries[row * 3 + column]
    return -(entry < 0), -(entry != 0)


@njit(cache=True, nogil=True)
def _three(
    word: int, turn_a: int, use_a: int, turn_b: int, use_b: int, turn_c: int, use_c: int
) -> tuple[int, int]:
    """Return the digits of the sum over a filter's column, from the top. Bit 1 is the lowest
    row."""
    above, here, below = (
        (word >> 2 ^ turn_a) & use_a,
        (word >> 1 ^ turn_b) & use_b,
        (word ^ turn_c) & use_c,
    )
    return _add(above, here, below)


@borrowing
def _fired(
    left: Array,
    here: Array,
    right: Array,
    entries: Array,
    mirror: int,
    edge: int,
    least: int,
    full: int,
    out: Array,
) -> None:
    """Write the cells of a column at which a square filter fires.

    Args:
        left, here, right: the columns and their neighbours; bit 1 is the lowest row.
        entries: the entries of the filter, row by row from the top.
        mirror: 0, or the flip of ``Network.tables``.
        edge: the bits below and above the board.
        least: the least sum that fires, an entry of -1 counting the complement.
        full: the bits of a column; bit 0 is the lowest row here.
        out: one word for each of ``here``.
    """
    turn_0, use_0 = _masks(entries, mirror, 0, 0)
    turn_1, use_1 = _masks(entries, mirror, 0, 1)
    turn_2, use_2 = _masks(entries, mirror, 0, 2)
    turn_3, use_3 = _masks(entries, mirror, 1, 0)
    turn_4, use_4 = _masks(entries, mirror, 1, 1)
    turn_5, use_5 = _masks(entries, mirror, 1, 2)
    turn_6, use_6 = _masks(entries, mirror, 2, 0)
    turn_7, use_7 = _masks(entries, mirror, 2, 1)
    turn_8, use_8 = _masks(entries, mirror, 2, 2)
    least = min(max(least, 0), 15)
    least_1, least_2 = -(least & 1), -(least >> 1 & 1)
    least_4, least_8 = -(least >> 2 & 1), -(least >> 3)
    for at in range(here.shape[0]):
        one, two = _three(left[at] | edge, turn_0, use_0, turn_3, use_3, turn_6, use_6)
        more, twos = _three(here[at] | edge, turn_1, use_1, turn_4, use_4, turn_7, use_7)
        rest, last = _three(right[at] | edge, turn_2, use_2, turn_5, use_5, turn_8, use_8)
        ones, carry = _add(one, more, rest)
        two, four = _add(two, twos, last)
        twos, carry = two ^ carry, two & carry
        fours, eights = four ^ carry, four & carry
        # At least: greater at some digit and equal at all higher ones, or equal everywhere.
        above, equal = eights & ~least_8, ~(eights ^ least_8)
        above, equal = above | (equal & fours & ~least_4), equal & ~(fours ^ least_4)
        above, equal = above | (equal & twos & ~least_2), equal & ~(twos ^ least_2)
        out[at] = (above | (equal & (ones | ~least_1))) & full


@borrowing
def _total(words: Array, count: int, sums: Array) -> None:
    for start in range(0, words.shape[0], count):
        part = words[start : start + count]
        for placement in range(count):
            sums[placement] += popcount(part[placement])


@borrowing
def _aside(alive: Array, run: Array, count: int, step: int) -> None:
    """Move to the next column on the left (-1) or right, where runs may end."""
    width = alive.shape[0] // count
    for number in range(width):
        to = number if step < 0 else width - 1 - number
        here = alive[to * count : (to + 1) * count]
        if not 0 <= to - step < width:
            here[:] = 0
            continue
        before = alive[(to - step) * count : (to - step + 1) * count]
        same = run[to * count : (to + 1) * count]
        for placement in range(count):
            here[placement] = before[placement] & same[placement]


@borrowing
def _walk(
    board: Array,
    alive: Array,
    run: Array,
    count: int,
    loop: int,
    counted: int,
    full: int,
    sums: Array,
) -> None:
    """Add the counted cells of runs that start at cells that fire.

    Args:
        board: columns; bit 1 is the lowest row.
        alive: the cells that fire; bit 0 is the lowest row. Overwritten.
        run: scratch of the same shape.
        count: the number of placements.
        loop, counted: the direction, and the value of the cells that count.
        full: the bits of a column; bit 0 is the lowest row.
        sums: the sums of each placement.
    """
    turn = counted - 1
    left = 0
    for at in range(alive.shape[0]):
        run[at] = (board[at] >> 1 ^ turn) & full
        alive[at] &= run[at]
        left |= alive[at]
    while left:
        _total(alive, count, sums)
        left = 0
        if loop in (LEFT, RIGHT):
            _aside(alive, run, count, -1 if loop == LEFT else 1)
            for at in range(alive.shape[0]):
                left |= alive[at]
        elif loop == UP:
            for at in range(alive.shape[0]):
                alive[at] = alive[at] << 1 & run[at]
                left |= alive[at]
        else:
            for at in range(alive.shape[0]):
                alive[at] = alive[at] >> 1 & run[at]
                left |= alive[at]


@borrowing
def _square(
    board: Array,
    count: int,
    height: int,
    width: int,
    numbers: Array,
    entries: Array,
    words: Array,
    sums: Array,
) -> None:
    full = (1 << height) - 1
    edge = numbers[3] * (1 | 1 << (height + 1))
    least = numbers[8] + numbers[11]
    if least > numbers[12]:
        return
    if least <= 0 and not numbers[5]:
        for placement in range(count):
            sums[placement] += height * width * (2 if numbers[4] else 1)
        return
    board[:count] = numbers[2] * full << 1
    board[(width + 1) * count : (width + 2) * count] = numbers[2] * full << 1
    size = width * count
    left, here, right = board[:size], board[count:][:size], board[2 * count :][:size]
    fired = words[0, :size]
    _fired(left, here, right, entries, 0, edge, least, full, fired)
    if numbers[5]:
        _walk(here, fired, words[1, :size], count, numbers[5], numbers[6], full, sums)
        return
    _total(fired, count, sums)
    if numbers[4]:
        _fired(left, here, right, entries, numbers[4], edge, least, full, fired)
        _total(fired, count, sums)


# -- rows and columns ------------------------------------------------------------------------------


@borrowing
def _reach(digits: Array, least: int, full: int) -> None:
    """Write the positions at which counters reach ``least`` over their first digit."""
    least = min(max(least, 0), (1 << DIGITS) - 1)
    for at in range(digits.shape[1]):
        above, equal = 0, full
        for place in range(DIGITS - 1, -1, -1):
            digit, wanted = digits[place, at], -(least >> place & 1)
            above |= equal & digit & ~wanted
            equal &= ~(digit ^ wanted)
        digits[0, at] = above | equal


@borrowing
def _rows(
    board: Array, count: int, height: int, width: int, numbers: Array, entries: Array, digits: Array
) -> None:
    """Write the rows of each placement that fire, as bits of the first digit."""
    full, least = (1 << height) - 1, numbers[8] + numbers[11]
    digits[:, :count] = 0
    if least > numbers[12]:
        return
    if least <= 0:
        digits[0, :count] = full
        return
    for column in range(width):
        if entries[column] == 0:
            continue
        turn = -(entries[column] < 0)
        cells = board[(column + 1) * count : (column + 2) * count]
        for at in range(count):
            carry = cells[at] >> 1 ^ turn
            for place in range(DIGITS):
                digit = digits[place, at]
                digits[place, at] = digit ^ carry
                carry &= digit
    _reach(digits[:, :count], least, full)


@borrowing
def _columns(
    board: Array, count: int, height: int, width: int, numbers: Array, entries: Array, out: Array
) -> None:
    """Write the columns of each placement that fire, as bits; bit 0 is the rightmost column."""
    plus = minus = 0
    for row in range(height):
        plus |= (entries[height - 1 - row] > 0) << (row + 1)
        minus |= (entries[height - 1 - row] < 0) << (row + 1)
    out[:count] = 0
    if numbers[8] > numbers[12] - numbers[11]:
        return
    if numbers[8] <= -numbers[11]:
        out[:count] = (1 << width) - 1
        return
    for column in range(width):
        cells = board[(column + 1) * count : (column + 2) * count]
        for at in range(count):
            found = popcount(cells[at] & plus) - popcount(cells[at] & minus)
            out[at] |= (found >= numbers[8]) << (width - 1 - column)


@njit(cache=True, nogil=True)
def _middle(fired: int, bias: float) -> float:
    """Return (least + most) / 2 of the firing coordinates, given as bit numbers."""
    gate = 1 if popcount(fired) + bias > 0 else 0
    if fired == 0:
        return 999 * gate / 2
    return (gate * (popcount(fired ^ (fired - 1)) - 1) + popcount(under(fired)) - 1) / 2


# -- networks --------------------------------------------------------------------------------------


@borrowing
def _values(
    boards: Array,
    count: int,
    height: int,
    width: int,
    numbers: Array,
    filters: Array,
    reals: Array,
    words: Array,
    out: Array,
) -> None:
    """Write the network's value of each placement.

    Args:
        boards: the boards of ``columns.drop_all``, without cells above the board.
        count: the number of placements.
        height: the height of the board.
        width: the width of the board.
        numbers, filters, reals: ``Network.tables``.
        words: scratch, int64, shape (DIGITS, words of a board).
        out: float64, shape (placements or more,).
    """
    sums = words[2]
    out[:count] = 0.0
    for unit in range(numbers.shape[0]):
        bias, weight = reals[unit, 0], reals[unit, 1]
        if weight == 0:
            continue
        board, own, entries = boards[numbers[unit, 0]], numbers[unit], filters[unit]
        if own[1] == 2:
            sums[:count] = 0
            _square(board, count, height, width, own, entries, words, sums)
            for placement in range(count):
                out[placement] += weight * sums[placement]
            continue
        if own[1] == 0:
            _rows(board, count, height, width, own, entries, words)
        else:
            _columns(board, count, height, width, own, entries, words[0])
        for placement in range(count):
            fired = words[0, placement]
            found = _middle(fired, bias) if own[7] else float(popcount(fired))
            out[placement] += weight * found


@borrowing
def _valued(
    columns: Array,
    piece: int,
    height: int,
    numbers: Array,
    filters: Array,
    reals: Array,
    words: Array,
    ends: Array,
    out: Array,
) -> int:
    """Write the network's value of each placement of a piece; return the number of placements.

    Args:
        columns: the columns of the wall before the drop.
        piece: its number.
        height: the height of the board.
        numbers, filters, reals: ``Network.tables``.
        words: the words of ``room``, which begin with the boards of ``drop_all``.
        ends: the ends of ``drop_all``.
        out: float64, shape (placements or more,).
    """
    width = columns.shape[0]
    count = placements(piece, width)
    boards, work = words[:3], words[3:]
    if drop_all(columns, piece, height, boards, work[0], work[1], ends):
        inside = ((1 << height) - 1) << 1
        for plane in range(3):
            for at in range(count, (width + 1) * count):
                boards[plane, at] &= inside
    _values(boards, count, height, width, numbers, filters, reals, work, out)
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
    """Play one game with a feature network, as ``agent_servers.games.tetris.kernels.play`` does."""
    columns = np.zeros(width, np.int64)
    state = np.zeros(1, np.uint64)
    state[0] = np.uint64(seed)
    values = np.empty(4 * width)
    ends = np.empty((4 * width, 2), np.int64)
    words = room(width)
    lines = 0
    placed = 0
    while most == 0 or placed < most:
        piece = pieces[draw(state, pieces.shape[0])]
        count = _valued(columns, piece, height, numbers, filters, reals, words, ends, values)
        chosen = 0
        worth = -np.inf
        for placement in range(count):
            if avoid and ends[placement, 1]:
                continue
            if values[placement] > worth:
                worth = values[placement]
                chosen = placement
        take(words, count, chosen, columns)
        lines += ends[chosen, 0]
        placed += 1
        if ends[chosen, 1]:
            return lines, placed, True
    return lines, placed, False
