"""Evaluations of positions at a horizon, for the option ``evaluation`` of searchers."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from dovetail_agents.general.search.tree import Node


def open_fours(node: Node, seat: int) -> float:
    """Evaluate a position of Connect Four by lines of four with discs of one side only, from -0.5
    to 0.5.

    A line with k own discs counts k * k, and one of the opponent's -k * k.

    Args:
        node: the position; its observation has shape (2, rows, columns), with the discs of the seat
            to act first.
        seat: the seat that the value is for.
    """
    planes = np.asarray(node.observation)
    own, other = planes.reshape(2, -1)[:, lines(*planes.shape[1:])].sum(axis=2, dtype=int)
    total = int((own * own)[other == 0].sum() - (other * other)[own == 0].sum())
    worth = 0.5 * float(np.tanh(total / 40))
    return worth if node.seat == seat else -worth


@functools.cache
def lines(rows: int, columns: int) -> NDArray[np.int64]:
    """Return the squares of each line of four: shape (lines, 4).

    >>> lines(6, 7).shape
    (69, 4)
    """
    found = [
        [(row + i * down) * columns + column + i * right for i in range(4)]
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
        for row in range(rows)
        for column in range(columns)
        if 0 <= row + 3 * down < rows and 0 <= column + 3 * right < columns
    ]
    return np.array(found, np.int64).reshape(-1, 4)


EVALUATIONS = {"open_fours": open_fours}
"""Functions by the name that ``evaluation`` takes."""
