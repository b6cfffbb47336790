"""The feature network over integers, compiled; the reference in the tests has the same values.

The loop is a single sweep over the board that carries the length of each run, so a unit visits each
cell a fixed number of times, whatever its genes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def middle(outputs: Array, count: int, bias: float) -> float:
    """Return (least + most) / 2 of the firing coordinates; the last output's coordinate is 0."""
    fired = 0
    for place in range(count):
        fired += outputs[place]
    gate = 1 if fired + bias > 0 else 0
    most = 0
    least = 999 * gate
    for place in range(count):
        at = count - 1 - place
        if outputs[place]:
            most = max(most, at)
            least = min(least, at * gate)
    return (least + most) / 2


@njit(cache=True, nogil=True)
def _line(board: Array, entries: Array, bias: float, across: bool, mid: bool) -> float:
    rows, columns = board.shape
    count = rows if across else columns
    inner = columns if across else rows
    outputs = np.zeros(count, np.int64)
    total = 0
    for place in range(count):
        found = 0
        for at in range(inner):
            found += entries[at] * (board[place, at] if across else board[at, place])
        if found + bias > 0:
            outputs[place] = 1
            total += 1
    return middle(outputs, count, bias) if mid else float(total)


@njit(cache=True, nogil=True)
def _fires(padded: Array, row: int, column: int, entries: Array, bias: float, flip: int) -> bool:
    found = 0
    for i in range(3):
        for j in range(3):
            entry = entries[(2 - i if flip == 2 else i) * 3 + (2 - j if flip == 1 else j)]
            if entry:
                found += entry * padded[row + i, column + j]
    return bool(found + bias > 0)


@njit(cache=True, nogil=True)
def _square(board: Array, padded: Array, numbers: Array, entries: Array, bias: float) -> int:
    rows, columns = board.shape
    flip, loop, count = numbers[4], numbers[5], numbers[6]
    padded[:] = numbers[3]
    padded[1:-1, 0] = numbers[2]
    padded[1:-1, -1] = numbers[2]
    padded[1:-1, 1:-1] = board
    total = 0
    if loop == 0:
        for row in range(rows):
            for column in range(columns):
                total += _fires(padded, row, column, entries, bias, 0)
                if flip:
                    total += _fires(padded, row, column, entries, bias, flip)
        return total
    # A cell's run is one longer than that of the next cell in the direction, which is visited
    # first.
    runs = np.zeros((rows + 2, columns + 2), np.int64)
    backward = loop > 2  # right or down: the next cell has the larger number
    for n in range(rows * columns):
        at = rows * columns - 1 - n if backward else n
        row, column = at // columns, at % columns
        if board[row, column] == count:
            if loop == 1:
                runs[row + 1, column + 1] = runs[row + 1, column] + 1
            elif loop == 2:
                runs[row + 1, column + 1] = runs[row, column + 1] + 1
            elif loop == 3:
                runs[row + 1, column + 1] = runs[row + 1, column + 2] + 1
            else:
                runs[row + 1, column + 1] = runs[row + 2, column + 1] + 1
            if _fires(padded, row, column, entries, bias, 0):
                total += runs[row + 1, column + 1]
    return total


@njit(cache=True, nogil=True)
def unit_value(board: Array, padded: Array, numbers: Array, entries: Array, bias: float) -> float:
    """Return a unit's value for its board.

    Args:
        board: int64, shape (rows, columns).
        padded: scratch, int64, shape (rows + 2, columns + 2).
        numbers: the unit's row in the first array of ``Network.tables``.
        entries: its row in the second array.
        bias: its bias in the third array.
    """
    if numbers[1] == 2:
        return float(_square(board, padded, numbers, entries, bias))
    return _line(board, entries, bias, numbers[1] == 0, numbers[7] != 0)


@njit(cache=True, nogil=True)
def values(boards: Array, numbers: Array, filters: Array, reals: Array) -> Array:
    """Return the network's value of each action: float64 (actions,).

    Args:
        boards: int64, shape (actions, planes, rows, columns).
        numbers, filters, reals: ``Network.tables``.
    """
    padded = np.zeros((boards.shape[2] + 2, boards.shape[3] + 2), np.int64)
    out = np.zeros(boards.shape[0])
    for action in range(boards.shape[0]):
        for unit in range(numbers.shape[0]):
            board = boards[action, numbers[unit, 0]]
            found = unit_value(board, padded, numbers[unit], filters[unit], reals[unit, 0])
            out[action] += reals[unit, 1] * found
    return out
