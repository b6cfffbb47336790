"""A network with one hidden layer over few active inputs, compiled: the RLGame study's."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from dovetail.peer.kernels import njit

Array = NDArray[Any]
BIAS = 0.5
"""Output of the bias units of both layers; their weights are learned."""


@njit(cache=True, nogil=True)
def value(first: Array, second: Array, active: Array, count: int, hidden: Array) -> float:
    """Return the network's value, a logistic function of logistic units; write the units' outputs.

    Args:
        first: weights, shape (inputs + 1, units); the last row is the bias unit's.
        second: weights, shape (units + 1,); the last one is the bias unit's.
        active: the numbers of the inputs that are 1; entries beyond ``count`` are ignored.
        count: the number of inputs that are 1.
        hidden: written, shape (units,).
    """
    inputs, units = first.shape[0] - 1, first.shape[1]
    for unit in range(units):
        hidden[unit] = BIAS * first[inputs, unit]
    for place in range(count):
        row = active[place]
        for unit in range(units):
            hidden[unit] += first[row, unit]
    total = BIAS * second[units]
    for unit in range(units):
        hidden[unit] = 1.0 / (1.0 + math.exp(-hidden[unit]))
        total += hidden[unit] * second[unit]
    return 1.0 / (1.0 + math.exp(-total))
