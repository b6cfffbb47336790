"""Complete games of Tetris with a linear evaluation, compiled, and the features of Bertsekas and
Tsitsiklis.

Feature sets, by number: 0 ``dt``, the eight of ``dovetail_games.tetris.features``; 1
``dt-diversity``, with pattern diversity as the ninth; 2 ``bertsekas``; 3 ``all``: these nine, then
Bertsekas and Tsitsiklis'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.games.tetris.columns import (
    AFTER,
    PIECE,
    borrowing,
    columns_of,
    drop_all,
    placements,
    room,
    take,
    under,
)
from dovetail_agents.learning.splitmix import draw
from dovetail_games.bits import popcount
from dovetail_games.tetris.kernels import FEATURES, HEIGHTS, ROTATIONS, WIDTHS, features

Array = NDArray[Any]

DT, DIVERSITY, BERTSEKAS, ALL = range(4)
FIELD = 15
"""Bits of each of four counts in a word; a board of 40 x 30 counts up to 1,350."""
MASK = (1 << FIELD) - 1


@njit(cache=True, nogil=True)
def size(kind: int, width: int) -> int:
    """Return the number of features in a set, for a board width."""
    if kind == DT:
        return FEATURES
    if kind == DIVERSITY:
        return FEATURES + 1
    if kind == BERTSEKAS:
        return 2 * width + 2
    return FEATURES + 1 + 2 * width + 2


@borrowing
def _heights(wall: Array, width: int, out: Array) -> int:
    """Write the height of each column; return the number of holes."""
    out[:width] = 0
    covered = 0
    holes = 0
    for row in range(wall.shape[0] - 1, -1, -1):
        here = wall[row]
        new = here & ~covered
        hidden = covered & ~here
        if new == 0 and hidden == 0:
            continue
        for column in range(width):
            if new >> column & 1:
                out[column] = row + 1
            holes += hidden >> column & 1
        covered |= here
    return holes


@borrowing
def bertsekas(wall: Array, width: int, out: Array) -> None:
    """Write the features of Bertsekas and Tsitsiklis (1996) for a wall without full rows.

    Args:
        wall: the rows from the bottom.
        width: the width of the board.
        out: float64, shape (2 width + 2,), written: column heights (width), absolute differences of
            neighbours (width - 1), the largest height, the holes, 1.
    """
    holes = _heights(wall, width, out)
    highest = 0.0
    for column in range(width):
        highest = max(highest, out[column])
        if column:
            out[width + column - 1] = abs(out[column] - out[column - 1])
    out[2 * width - 1] = highest
    out[2 * width] = holes
    out[2 * width + 1] = 1


@borrowing
def diversity(wall: Array, width: int, scratch: Array) -> int:
    """Return how many of -2, -1, 0, 1, 2 occur as height differences of adjacent columns."""
    _heights(wall, width, scratch)
    seen = 0
    for column in range(1, width):
        step = int(scratch[column] - scratch[column - 1])
        if -2 <= step <= 2:
            seen |= 1 << (step + 2)
    return popcount(seen)


@borrowing
def describe(
    wall: Array,
    height: int,
    width: int,
    row: int,
    tall: int,
    cleared: int,
    eroded: int,
    kind: int,
    out: Array,
) -> None:
    """Write a set's features for a wall after a drop; arguments as for
    ``dovetail_games.tetris.kernels.features``.

    ``out`` always has room for ``size(ALL, width)`` numbers; those beyond the set are scratch.
    """
    if kind == BERTSEKAS:
        bertsekas(wall, width, out)
        return
    features(wall, height, width, row, tall, cleared, eroded, out)
    if kind == DT:
        return
    out[FEATURES] = diversity(wall, width, out[FEATURES + 1 :])
    if kind == ALL:
        bertsekas(wall, width, out[FEATURES + 1 :])


# -- all placements --------------------------------------------------------------------------------


@borrowing
def _hide(here: Array, hidden: Array) -> None:
    """Write the holes of columns; bit 0 is the floor."""
    for at in range(here.shape[0]):
        hidden[at] = (under(here[at]) & -2) ^ here[at]


@borrowing
def _count(
    left: Array, here: Array, right: Array, hidden: Array, inside: int, counts: Array
) -> int:
    """Write the counts of columns; return 0 if there are no wells.

    Args:
        left, here, right: the columns, and those beside each; bit 1 is the lowest row.
        hidden: the holes.
        inside: the bits of rows within the board.
        counts: transitions from the left, transitions along the column, holes, and hole depth, as
            digits of a number in base 2^FIELD.
    """
    shafts = 0
    for at in range(here.shape[0]):
        cells = here[at]
        side = popcount((left[at] ^ cells) & inside)
        along = popcount(cells >> 1 ^ (cells | 1))
        # Except for the run on the floor, each cell is in a run above a hole.
        depth = popcount(cells & (cells + 2))
        counts[at] = (
            side + (along << FIELD) + (popcount(hidden[at]) << 2 * FIELD) + (depth << 3 * FIELD)
        )
        shafts |= left[at] & right[at] & ~(cells | 1)
    return shafts


@borrowing
def _wells(left: Array, here: Array, right: Array, alive: Array, wells: Array) -> None:
    """Write the cumulative wells of columns: from each free cell between full ones, the free cells
    below."""
    for at in range(here.shape[0]):
        alive[at] = left[at] & right[at] & ~(here[at] | 1)
    for at in range(here.shape[0]):
        wells[at] = 0
    more = 1
    while more:
        more = 0
        for at in range(here.shape[0]):  # three steps at once keep the words in registers
            free = ~(here[at] | 1)
            first = alive[at]
            second = first >> 1 & free
            third = second >> 1 & free
            wells[at] += popcount(first) + popcount(second) + popcount(third)
            alive[at] = third >> 1 & free
            more |= alive[at]


@borrowing
def _gather(words: Array, count: int, sums: Array) -> None:
    """Write the sum of each placement's words over its columns."""
    for placement in range(count):
        sums[placement] = 0
    for start in range(0, words.shape[0], count):
        part = words[start : start + count]
        for placement in range(count):
            sums[placement] += part[placement]


@borrowing
def _holed(hidden: Array, count: int, out: Array) -> None:
    """Write the rows of each placement that contain holes, as bits."""
    for placement in range(count):
        out[placement] = 0
    for start in range(0, hidden.shape[0], count):
        part = hidden[start : start + count]
        for placement in range(count):
            out[placement] |= part[placement]


@borrowing
def _erode(boards: Array, count: int, width: int, full: Array, out: Array) -> None:
    """Write the rows cleared times the piece's cells cleared."""
    for placement in range(count):
        out[placement, 1] = 0
        if full[placement]:
            cells = 0
            for at in range(count + placement, (width + 1) * count, count):
                cells += popcount(boards[PIECE, at] & full[placement])
            out[placement, 1] = popcount(full[placement]) * cells


@borrowing
def _eight(words: Array, count: int, height: int, width: int, out: Array) -> None:
    """Write the features of ``dovetail_games.tetris.kernels.features`` except the first two."""
    board = words[AFTER]
    size = width * count
    for at in range(count):
        board[at] = board[size + count + at] = -1
    left, here, right = board[:size], board[count:][:size], board[2 * count :][:size]
    counts, hidden, alive = words[3, :size], words[4, :size], words[5, :size]
    sums, holed, wells = words[6], words[7], words[8]
    inside = ((1 << height) - 1) << 1
    _hide(here, hidden)
    shafts = _count(left, here, right, hidden, inside, counts)
    _gather(counts, count, sums)
    _holed(hidden, count, holed)
    for placement in range(count):
        total = sums[placement]
        last = popcount(~here[size - count + placement] & inside)
        out[placement, 2] = (total & MASK) + last
        out[placement, 3] = total >> FIELD & MASK
        out[placement, 4] = total >> 2 * FIELD & MASK
        out[placement, 5] = 0
        out[placement, 6] = total >> 3 * FIELD
        out[placement, 7] = popcount(holed[placement])
    if shafts:
        _wells(left, here, right, alive, counts)
        _gather(counts, count, wells)
        for placement in range(count):
            out[placement, 5] = wells[placement]


@borrowing
def _tall(here: Array, hidden: Array, tall: Array) -> None:
    """Write the heights of columns."""
    for at in range(here.shape[0]):
        tall[at] = popcount(here[at] | hidden[at])


@borrowing
def _diverse(tall: Array, count: int, width: int, seen: Array, out: Array) -> None:
    """Write the pattern diversity; see ``diversity``."""
    for placement in range(count):
        seen[placement] = 0
    for column in range(1, width):
        last, here = tall[(column - 1) * count : column * count], tall[column * count :][:count]
        for placement in range(count):
            step = min(max(here[placement] - last[placement], -3), 3)
            seen[placement] |= 1 << (step + 3)
    for placement in range(count):
        out[placement, FEATURES] = popcount(seen[placement] & 0b0111110)


@borrowing
def _heights_and_steps(tall: Array, count: int, width: int, first: int, out: Array) -> None:
    """Write the features of ``bertsekas`` from number ``first``; holes are known from the eight."""
    for placement in range(count):
        out[placement, first + 2 * width] = out[placement, 4]
        highest = last = 0
        for column in range(width):
            here = tall[column * count + placement]
            highest = max(highest, here)
            out[placement, first + column] = here
            if column:
                out[placement, first + width + column - 1] = abs(here - last)
            last = here
        out[placement, first + 2 * width - 1] = highest
        out[placement, first + 2 * width + 1] = 1


@borrowing
def described(
    columns: Array, piece: int, height: int, kind: int, words: Array, out: Array, ends: Array
) -> int:
    """Write a set's features after every placement of a piece; return the number of placements.

    Args:
        columns: the wall's columns before the drop; not modified.
        words: an array from ``columns.room``, starting with the boards of ``drop_all``.
        piece, height, kind, out, ends: as for ``described_after_all``.
    """
    width = columns.shape[0]
    count = placements(piece, width)
    rows, full = words[3], words[4]
    drop_all(columns, piece, height, words, rows, full, ends)
    placement = 0
    for rotation in range(ROTATIONS[piece]):
        for _ in range(width - WIDTHS[piece, rotation] + 1):
            out[placement, 0] = rows[placement] + (HEIGHTS[piece, rotation] - 1) / 2
            placement += 1
    _erode(words, count, width, full, out)
    _eight(words, count, height, width, out)
    if kind != DT:
        _tall(words[AFTER, count:][: width * count], words[4, : width * count], words[3])
    if kind in (DIVERSITY, ALL):
        _diverse(words[3], count, width, words[5], out)
    if kind in (BERTSEKAS, ALL):
        first = 0 if kind == BERTSEKAS else FEATURES + 1
        _heights_and_steps(words[3], count, width, first, out)
    return count


@njit(cache=True, nogil=True)
def described_after_all(
    wall: Array, piece: int, height: int, width: int, kind: int, out: Array, ends: Array
) -> int:
    """Write a set's features after every placement of a piece; return the number of placements.

    Args:
        wall: the wall before the drop; not modified.
        piece: the piece's number.
        height: the height of the board.
        width: the width of the board.
        kind: the feature set.
        out: float64, shape (placements or more, ``size(ALL, width)``); columns beyond the set are
            scratch.
        ends: int64, shape (placements or more, 2), the rows cleared, and 1 if the game is over.
    """
    columns = columns_of(wall, width)
    return int(described(columns, piece, height, kind, room(width), out, ends))


@borrowing
def best(
    count: int, described: Array, ends: Array, weights: Array, reward: float, avoid: bool
) -> int:
    """Return the placement with the largest weighted sum; ties go to the first.

    Args:
        count: the number of placements.
        described: the features, shape (count or more, features or more).
        ends: rows cleared and whether the game is over, shape (count or more, 2).
        weights: shape (features,).
        reward: the weight of rows cleared.
        avoid: whether a placement that ends the game is worth minus infinity.
    """
    chosen = 0
    most = -np.inf
    for placement in range(count):
        if avoid and ends[placement, 1]:
            continue
        worth = reward * ends[placement, 0]
        for feature in range(weights.shape[0]):
            worth += weights[feature] * described[placement, feature]
        if worth > most:
            most = worth
            chosen = placement
    return chosen


@njit(cache=True, nogil=True)
def play(
    height: int,
    width: int,
    pieces: Array,
    most: int,
    seed: int | np.uint64,
    kind: int,
    weights: Array,
    reward: float,
    avoid: bool,
) -> tuple[int, int, bool]:
    """Play one game with a linear evaluation.

    Args:
        height: the height of the board.
        width: the width of the board.
        pieces: the numbers of the pieces, drawn with equal probability.
        most: the number of pieces after which the game is truncated; 0 for never.
        seed: the seed of the pieces.
        kind, weights, reward, avoid: the player; see ``describe`` and ``best``.

    Returns:
        The rows cleared, the pieces placed, and whether the game ended.
    """
    columns = np.zeros(width, np.int64)
    words = room(width)
    state = np.zeros(1, np.uint64)
    state[0] = np.uint64(seed)
    out = np.empty((4 * width, size(ALL, width)), np.float64)
    ends = np.empty((4 * width, 2), np.int64)
    lines = 0
    placed = 0
    while most == 0 or placed < most:
        piece = pieces[draw(state, pieces.shape[0])]
        count = described(columns, piece, height, kind, words, out, ends)
        chosen = best(count, out, ends, weights, reward, avoid)
        take(words, count, chosen, columns)
        lines += ends[chosen, 0]
        placed += 1
        if ends[chosen, 1]:
            return lines, placed, True
    return lines, placed, False
