"""Q-learning for many rows, compiled: rows are handled one after the other, as in ``learner``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer import vector_random as twister
from dovetail.peer.kernels import njit
from dovetail_agents.learning.draws import best, nth

Array = NDArray[Any]


@njit(cache=True)
def step(
    which: Array,
    rows: Array,
    legal: Array,
    rewards: Array,
    states: Array,
    last_rows: Array,
    last_columns: Array,
    values: Array,
    visits: Array,
    first: float,
    power: float,
    floor: float,
    discount: float,
    epsilon: float,
    min_visits: int,
    out: Array,
) -> None:
    """Update the last action of each seat, then choose and count the next one.

    Args:
        which: the seat of each row, by number; its generator and its last entry.
        rows: the state of each row, as a row of the table.
        legal: bool, shape (rows, columns).
        rewards: float64, the reward since each seat's last decision.
        states: generators; see ``twister``.
        last_rows, last_columns: by seat, the entry of its last decision; row -1 for none.
        values, visits: the table.
        first, power, floor: the step size; see ``StepSize``.
        discount, epsilon, min_visits: see ``LearnerParameters``.
        out: int64, shape (rows,): written, the columns chosen.
    """
    for k in range(len(which)):
        seat, row, may = which[k], rows[k], legal[k]
        if last_rows[seat] >= 0:
            most = -np.inf
            for column in range(may.shape[0]):
                if may[column]:
                    most = max(most, values[row, column])
            target = rewards[k] + discount * most
            old_row, old_column = last_rows[seat], last_columns[seat]
            rate = first
            if power > 0:
                rate = max(floor, rate / float(visits[old_row, old_column]) ** power)
            error = target - values[old_row, old_column]
            values[old_row, old_column] += rate * error
        rare = may & (visits[row] < min_visits)
        count = rare.sum()
        if count:
            chosen = nth(rare, twister.below(states[seat], count))
        elif twister.fraction(states[seat]) < epsilon:
            chosen = nth(may, twister.below(states[seat], may.sum()))
        else:
            chosen = best(values[row], may, states[seat])
        visits[row, chosen] += 1
        last_rows[seat], last_columns[seat] = row, chosen
        out[k] = chosen
