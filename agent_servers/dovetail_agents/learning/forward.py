"""Sums of a network's layers, compiled; each row's result is independent of the other rows.

A BLAS matrix product orders its additions by the number of rows, so its last bits vary.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dovetail.peer.kernels import njit

Array = NDArray[Any]


@njit(cache=True)
def layer(rows: Array, weights: Array, out: Array) -> None:
    """Write the sums of a layer; inputs of 0, like most flags of a board, cost nothing.

    Args:
        rows: shape (rows, inputs).
        weights: shape (inputs + 1, units); the last row is the bias.
        out: shape (rows, units).
    """
    inputs, units = rows.shape[1], weights.shape[1]
    for number in range(rows.shape[0]):
        for unit in range(units):
            out[number, unit] = weights[inputs, unit]
        for place in range(inputs):
            given = rows[number, place]
            if given != 0:
                for unit in range(units):
                    out[number, unit] += given * weights[place, unit]
