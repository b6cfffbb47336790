"""The random choices of ``sampling``, compiled; ``vector_random`` gives the same as
``random.Random``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer import vector_random as twister
from dovetail.peer.kernels import njit

Array = NDArray[Any]


@njit(cache=True)
def nth(marked: Array, place: int) -> int:
    """Return the column of the marked entry with number ``place``, counting from 0."""
    for column in range(marked.shape[0]):
        if marked[column]:
            if place == 0:
                return column
            place -= 1
    return -1


@njit(cache=True)
def best(values: Array, legal: Array, state: Array) -> int:
    """Return the legal column with the largest value, with ties broken at random.

    Args:
        values: the value of each column.
        legal: bool, by column.
        state: a generator.
    """
    first, equal = -1, 0
    for column in range(legal.shape[0]):
        if not legal[column]:
            continue
        if first < 0 or values[column] > values[first]:
            first, equal = column, 1
        elif values[column] == values[first]:
            equal += 1
    if equal < 2:
        return first
    return nth(legal & (values == values[first]), twister.below(state, equal))


@njit(cache=True)
def best_of_rows(which: Array, values: Array, legal: Array, states: Array, out: Array) -> None:
    """Write the best legal column of each row.

    Args:
        which: the generator of each row.
        values: shape (rows, columns).
        legal: bool, the same shape.
        states: generators by number.
        out: int64, shape (rows,).
    """
    for k in range(len(which)):
        out[k] = best(values[k], legal[k], states[which[k]])


@njit(cache=True)
def explore_rows(
    which: Array,
    counts: Array,
    values: Array,
    epsilon: float,
    states: Array,
    greedy: Array,
    chosen: Array,
    explored: Array,
) -> None:
    """Choose the best value in each row or, with probability ``epsilon``, any.

    Args:
        which: the generator of each row.
        counts: the number of values of each row; rows are adjacent in ``values``.
        values: the values of all rows.
        epsilon: the probability; below 0, random numbers are drawn for ties only.
        states: generators by number.
        greedy, chosen: int64, shape (rows,): written, the index of the best value and of the
            choice.
        explored: bool, shape (rows,): written, whether the choice was random.
    """
    every = np.ones(counts.max(), np.bool_)
    first = 0
    for k in range(len(which)):
        state, count = states[which[k]], counts[k]
        explored[k] = epsilon >= 0 and twister.fraction(state) < epsilon
        greedy[k] = first + best(values[first : first + count], every[:count], state)
        chosen[k] = first + twister.below(state, count) if explored[k] else greedy[k]
        first += count
