"""Whole games of Tetris with a linear evaluation, compiled, and the features of Bertsekas and
Tsitsiklis.

Feature sets, by number: 0 ``dt``, the eight of ``env_servers.tetris.features``; 1 ``dt-diversity``,
with pattern diversity as the ninth; 2 ``bertsekas``; 3 ``all``: the nine, then Bertsekas and
Tsitsiklis'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dovetail.agent_servers.learning.splitmix import draw
from dovetail.env_servers.tetris.kernels import FEATURES, HEIGHTS, ROTATIONS, WIDTHS, drop, features

Array = NDArray[Any]

DT, DIVERSITY, BERTSEKAS, ALL = range(4)


@njit(cache=True, nogil=True)
def size(kind: int, width: int) -> int:
    """Return how many features a set has on a board of this width."""
    if kind == DT:
        return FEATURES
    if kind == DIVERSITY:
        return FEATURES + 1
    if kind == BERTSEKAS:
        return 2 * width + 2
    return FEATURES + 1 + 2 * width + 2


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def bertsekas(wall: Array, width: int, out: Array) -> None:
    """Write the features of Bertsekas and Tsitsiklis (1996) of a wall after full rows were cleared.

    Args:
        wall: rows from the bottom.
        width: of the board.
        out: column heights (width), absolute differences of neighbours (width - 1), the largest
            height, the holes, 1; shape (2 width + 2,), float64.
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


@njit(cache=True, nogil=True)
def diversity(wall: Array, width: int, scratch: Array) -> int:
    """Return how many of -2, -1, 0, 1, 2 occur as the height difference of neighbouring columns."""
    _heights(wall, width, scratch)
    seen = 0
    for column in range(1, width):
        step = int(scratch[column] - scratch[column - 1])
        if -2 <= step <= 2:
            seen |= 1 << (step + 2)
    count = 0
    while seen:
        seen &= seen - 1
        count += 1
    return count


@njit(cache=True, nogil=True)
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
    """Write a set's features of a wall after a drop; arguments as
    ``env_servers.tetris.kernels.features``.

    ``out`` has room for ``size(ALL, width)`` numbers whatever the set; those beyond the set are
    scratch.
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


@njit(cache=True, nogil=True)
def described_after_all(
    wall: Array, piece: int, height: int, width: int, kind: int, out: Array, ends: Array
) -> int:
    """Write a set's features after every placement of a piece; return how many there are.

    Args:
        wall: before the drop; it stays as it is.
        piece: its number.
        height: of the board.
        width: of the board.
        kind: the feature set.
        out: float64, shape (placements or more, ``size(ALL, width)``).
        ends: int64, shape (placements or more, 2): the rows cleared, and 1 if the game is over.
    """
    count = 0
    after = np.empty_like(wall)
    for rotation in range(ROTATIONS[piece]):
        tall = HEIGHTS[piece, rotation]
        for column in range(width - WIDTHS[piece, rotation] + 1):
            after[:] = wall
            row, cleared, eroded = drop(after, piece, rotation, column, width)
            describe(after, height, width, row, tall, cleared, eroded, kind, out[count])
            ends[count, 0] = cleared
            ends[count, 1] = after[height] != 0
            count += 1
    return count


@njit(cache=True, nogil=True)
def best(
    count: int, described: Array, ends: Array, weights: Array, reward: float, avoid: bool
) -> int:
    """Return the placement with the largest weighted sum; the first of equals.

    Args:
        count: placements.
        described: features, shape (count or more, features or more).
        ends: rows cleared and whether the game is over, shape (count or more, 2).
        weights: shape (features,).
        reward: the weight of rows cleared.
        avoid: a placement that ends the game is worth minus infinity.
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
def place(wall: Array, piece: int, placement: int, width: int) -> int:
    """Put a piece at its placement of this number; return the rows cleared."""
    rotation = 0
    column = placement
    while column > width - WIDTHS[piece, rotation]:
        column -= width - WIDTHS[piece, rotation] + 1
        rotation += 1
    _, cleared, _ = drop(wall, piece, rotation, column, width)
    return cleared


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
        height: of the board.
        width: of the board.
        pieces: the numbers of those that come, each as likely.
        most: pieces after which the game is cut short; 0 for never.
        seed: of the pieces.
        kind, weights, reward, avoid: the player; see ``describe`` and ``best``.

    Returns:
        the rows cleared, the pieces placed, and whether the game came to its end.
    """
    wall = np.zeros(height + 4, np.int64)
    state = np.zeros(1, np.uint64)
    state[0] = np.uint64(seed)
    out = np.empty((4 * width, size(ALL, width)), np.float64)
    ends = np.empty((4 * width, 2), np.int64)
    lines = 0
    placed = 0
    while most == 0 or placed < most:
        piece = pieces[draw(state, pieces.shape[0])]
        count = described_after_all(wall, piece, height, width, kind, out, ends)
        lines += place(wall, piece, best(count, out, ends, weights, reward, avoid), width)
        placed += 1
        if wall[height]:
            return lines, placed, True
    return lines, placed, False
