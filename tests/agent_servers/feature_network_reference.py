"""The feature network in plain numpy, step by step as the study describes it (4.2); slow.

Filters are correlated without reversal, stride 1. A square filter's board is padded by one cell on
each side, left and right first, then above and below across the widened board, so corners get the
latter value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dovetail_agents.general.feature_network.genome import Direction, Unit, UnitNetwork

Array = NDArray[Any]
STEPS: dict[Direction, tuple[int, int]] = {
    "left": (0, -1),
    "up": (-1, 0),
    "right": (0, 1),
    "down": (1, 0),
}


def longest(rows: int, columns: int) -> int:
    """Return the maximum number of steps of a unit's loops: from every cell, across the board."""
    return rows * columns * max(rows, columns)


def walk(board: Array, fired: Array, direction: Direction, count: int) -> int:
    """Return the number of cells counted from all firing cells, up to another value or the edge.

    A firing cell counts itself. Each step moves one cell and none leaves the board, so at most
    ``longest`` cells are counted.
    """
    down, across = STEPS[direction]
    total = 0
    for row, column in np.argwhere(fired):
        while 0 <= row < board.shape[0] and 0 <= column < board.shape[1]:
            if board[row, column] != count:
                break
            total += 1
            row, column = row + down, column + across
    return total


def middle(outputs: Array, bias: float) -> float:
    """Return (least + most) / 2 of the firing coordinates; the last output's coordinate is 0.

    Args:
        outputs: 0 or 1, shape (n,).
        bias: the filter's bias, used again for the gate that closes when nothing fires.
    """
    places = np.arange(len(outputs) - 1, -1, -1)
    gate = int(outputs.sum() + bias > 0)
    most = int((outputs * places).max())
    least = int(((999 * (1 - outputs) + outputs * places) * gate).min())
    return (least + most) / 2


def unit_value(board: Array, unit: Unit) -> float:
    """Return a unit's value for its board of shape (rows, columns), without its weight."""
    board = np.asarray(board, np.int64)
    entries = np.array(unit.filter)
    if unit.shape != "square":
        sums = board @ entries if unit.shape == "row" else entries @ board
        outputs = (sums + unit.bias > 0).astype(np.int64)
        return middle(outputs, unit.bias) if unit.middle else float(outputs.sum())
    padded = np.pad(board, ((0, 0), (1, 1)), constant_values=unit.sides)
    padded = np.pad(padded, ((1, 1), (0, 0)), constant_values=unit.ends)
    windows = sliding_window_view(padded, (3, 3))
    square = entries.reshape(3, 3)
    fired = (windows * square).sum((2, 3)) + unit.bias > 0
    if unit.flip is not None:
        mirrored = np.flip(square, 1 if unit.flip == "vertical" else 0)
        other = (windows * mirrored).sum((2, 3)) + unit.bias > 0
        return float(fired.sum() + other.sum())
    if unit.loop is not None:
        return float(walk(board, fired, unit.loop, unit.count))
    return float(fired.sum())


def value(boards: Array, network: UnitNetwork) -> float:
    """Return the weighted sum of all units; boards of shape (planes, rows, columns)."""
    return sum(unit.weight * unit_value(boards[unit.plane], unit) for unit in network.units)
