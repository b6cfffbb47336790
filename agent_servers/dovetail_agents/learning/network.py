"""A network with one hidden layer and one output, designed for learning row by row, and a linear
one.

All weights are in one vector, so that an update or a trace of all layers is one operation.
"""

from __future__ import annotations

import random
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dovetail_agents.learning.memory import room

Activation = Literal["sigmoid", "tanh", "relu"]
Output = Literal["tanh", "linear"]
Array = NDArray[np.floating[Any]]
_COMPILED = find_spec("numba") is not None
DRAWN = 48
"""Bytes for a weight while the first ones are drawn, as numbers of Python."""


def size(inputs: int, hidden: int) -> int:
    """Return the number of weights: each hidden unit and the output have a bias.

    >>> size(2, 3), size(2, 0)
    (13, 3)
    """
    if not hidden:
        return inputs + 1
    return (inputs + 1) * hidden + hidden + 1


def _room(inputs: int, hidden: int, each: int) -> None:
    units = f"{hidden:,} units of {inputs:,} inputs" if hidden else f"{inputs:,} inputs"
    room(size(inputs, hidden) * each, f"a network of {units}")


class Network:
    """Values of rows, and their gradients by the weights.

    Initial weights are uniform, within one over the square root of a unit's number of inputs for
    the hidden layer and 0.3 times that for the output, so that initial values are near zero.

    Args:
        inputs: the length of a row.
        hidden: the number of hidden units.
        activation: the activation function of the hidden units.
        output: ``tanh`` for values between -1 and 1, or ``linear``.
        rng: the source of the initial weights.
        dtype: the type of all computation.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        activation: Activation,
        output: Output,
        rng: random.Random,
        dtype: DTypeLike = np.float32,
    ) -> None:
        self.inputs = inputs
        self.hidden = hidden
        self.activation: Activation = activation
        self.output: Output = output
        self.dtype = np.dtype(dtype)
        _room(inputs, hidden, DRAWN)
        self.weights: Array = np.zeros(size(inputs, hidden), self.dtype)
        self._first, self._second = self.layers(self.weights)
        bound = (inputs + 1) ** -0.5
        drawn = [rng.uniform(-bound, bound) for _ in range(self._first.size)]
        self._first[...] = np.reshape(drawn, self._first.shape)
        bound = 0.3 * hidden**-0.5
        self._second[:-1] = [rng.uniform(-bound, bound) for _ in range(hidden)]
        self._slope: Array = np.empty(hidden, self.dtype)
        self._scratch: Array = np.empty_like(self.weights)
        self._reserve(8)

    def layers(self, vector: Array) -> tuple[Array, Array]:
        """Return views of a vector like ``weights``: inputs + 1 by hidden, and hidden + 1."""
        split = (self.inputs + 1) * self.hidden
        return vector[:split].reshape(self.inputs + 1, self.hidden), vector[split:]

    def values(self, rows: NDArray[Any], extra: Array | None = None) -> list[float]:
        """Return the value of each row, followed by that of ``extra`` if given."""
        values: list[float] = self.run(rows, extra).tolist()
        return values

    def run(self, rows: NDArray[Any], extra: Array | None = None) -> Array:
        """Return the same values as an array, which the next call overwrites.

        Args:
            rows: rows along the first axis, of any shape with ``inputs`` elements each.
            extra: one more row.
        """
        n = len(rows)
        total = n if extra is None else n + 1
        buffers = self._views.get(total)
        if buffers is None:
            buffers = self._view(total)
        inputs, whole, hidden, augmented, out = buffers
        if extra is None:
            inputs[...] = rows.reshape(n, -1)
        else:
            inputs[:n] = rows.reshape(n, -1)
            inputs[n] = extra
        np.matmul(whole, self._first, out=hidden)
        self._activate(hidden)
        np.matmul(augmented, self._second, out=out)
        if self.output == "tanh":
            np.tanh(out, out=out)
        return out

    def _activate(self, hidden: Array) -> None:
        if self.activation == "tanh":
            np.tanh(hidden, out=hidden)
        elif self.activation == "relu":
            np.maximum(hidden, 0, out=hidden)
        else:  # the logistic function, in a form that cannot overflow
            np.multiply(hidden, 0.5, out=hidden)
            np.tanh(hidden, out=hidden)
            np.multiply(hidden, 0.5, out=hidden)
            np.add(hidden, 0.5, out=hidden)

    def each(self, rows: NDArray[Any]) -> Array:
        """Return the value of each row, independent of the other rows; shape (rows,).

        The last bits of ``values`` may vary with the number of rows.
        """
        hidden = _sums(rows, self._first)
        self._activate(hidden)
        out = _sums(hidden, self._second[:, None])[:, 0]
        return np.tanh(out) if self.output == "tanh" else out

    def row(self, index: int) -> Array:
        """Return a copy of a row of the last ``values``."""
        return self._whole[index, :-1].copy()

    def gradient(self, index: int) -> Array:
        """Return the gradient of the value of a row of the last ``values``.

        The weights must not have changed since.  The next ``gradient`` or ``apply`` overwrites it.
        """
        first, second = self._scratch_layers
        augmented = self._augmented[index]
        hidden = augmented[:-1]
        slope = self._slope
        if self.activation == "tanh":
            np.multiply(hidden, hidden, out=slope)
            np.subtract(1, slope, out=slope)
            np.multiply(slope, self._out_weights, out=slope)
        elif self.activation == "relu":
            np.multiply(hidden > 0, self._out_weights, out=slope)
        else:
            np.subtract(1, hidden, out=slope)
            np.multiply(slope, hidden, out=slope)
            np.multiply(slope, self._out_weights, out=slope)
        if self.output == "tanh":
            value = float(self._out[index])
            outer = 1 - value * value
            np.multiply(slope, outer, out=slope)
            np.multiply(augmented, outer, out=second)
        else:
            second[...] = augmented
        np.multiply(self._columns[index], slope, out=first)
        return self._scratch

    def apply(self, direction: Array, step: float) -> None:
        """Add ``step`` times ``direction`` to the weights."""
        np.multiply(direction, step, out=self._scratch)
        np.add(self.weights, self._scratch, out=self.weights)

    def _reserve(self, rows: int) -> None:
        self._whole: Array = np.ones((rows, self.inputs + 1), self.dtype)
        self._augmented: Array = np.ones((rows, self.hidden + 1), self.dtype)
        self._out: Array = np.empty(rows, self.dtype)
        self._columns: Array = self._whole[:, :, None]
        self._out_weights: Array = self._second[:-1]
        self._scratch_layers = self.layers(self._scratch)
        self._views: dict[int, tuple[Array, Array, Array, Array, Array]] = {}

    def _view(self, rows: int) -> tuple[Array, Array, Array, Array, Array]:
        if rows > len(self._whole):
            self._reserve(2 * rows)
        views = (
            self._whole[:rows, :-1],
            self._whole[:rows],
            self._augmented[:rows, :-1],
            self._augmented[:rows],
            self._out[:rows],
        )
        self._views[rows] = views
        return views


class Linear:
    """A linear function of a row with the interface of ``Network``: a network without a hidden
    layer.

    Initial weights are zero.

    Args:
        inputs: the length of a row.
        output: ``tanh`` for values between -1 and 1, or ``linear``.
        dtype: the type of all computation.
    """

    hidden = 0

    def __init__(self, inputs: int, output: Output, dtype: DTypeLike = np.float32) -> None:
        self.inputs = inputs
        self.output: Output = output
        self.dtype = np.dtype(dtype)
        _room(inputs, 0, self.dtype.itemsize)
        self.weights: Array = np.zeros(size(inputs, 0), self.dtype)
        self._whole: Array = np.ones((0, inputs + 1), self.dtype)
        self._out: Array = np.empty(0, self.dtype)

    def values(self, rows: NDArray[Any], extra: Array | None = None) -> list[float]:
        """Return the value of each row, followed by that of ``extra`` if given."""
        values: list[float] = self.run(rows, extra).tolist()
        return values

    def run(self, rows: NDArray[Any], extra: Array | None = None) -> Array:
        """Return the same values as an array."""
        n = len(rows)
        self._whole = np.ones((n + (extra is not None), self.inputs + 1), self.dtype)
        self._whole[:n, :-1] = rows.reshape(n, -1)
        if extra is not None:
            self._whole[n, :-1] = extra
        self._out = self._whole @ self.weights
        if self.output == "tanh":
            self._out = np.tanh(self._out)
        return self._out

    def each(self, rows: NDArray[Any]) -> Array:
        """Return the value of each row, independent of the other rows; shape (rows,)."""
        out = _sums(rows, self.weights[:, None])[:, 0]
        return np.tanh(out) if self.output == "tanh" else out

    def row(self, index: int) -> Array:
        """Return a copy of a row of the last ``values``."""
        return self._whole[index, :-1].copy()

    def gradient(self, index: int) -> Array:
        """Return the gradient of the value of a row of the last ``values``."""
        slope = 1 - float(self._out[index]) ** 2 if self.output == "tanh" else 1.0
        gradient: Array = self._whole[index] * slope
        return gradient

    def apply(self, direction: Array, step: float) -> None:
        """Add ``step`` times ``direction`` to the weights."""
        np.add(self.weights, direction * step, out=self.weights, casting="same_kind")


def _sums(rows: NDArray[Any], weights: Array) -> Array:
    """Return the sums of a layer, each row computed separately; weights have shape (inputs + 1,
    units)."""
    flat = np.ascontiguousarray(rows.reshape(len(rows), -1), weights.dtype)
    out: Array = np.empty((len(flat), weights.shape[1]), weights.dtype)
    if not _COMPILED:
        for row, sums in zip(flat, out, strict=True):
            sums[...] = (row[:, None] * weights[:-1]).sum(axis=0) + weights[-1]
        return out
    from dovetail_agents.learning.forward import layer

    layer(flat, weights, out)
    return out
