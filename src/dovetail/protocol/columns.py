"""Columns of stacked messages: tensors with a row for each slot, seat or episode (SPEC.md, Stacked
turns)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dovetail.protocol import codec
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.spaces import Discrete, Space

Column = NDArray[Any]

NO_NUMBER = int(np.iinfo(np.int64).min)
"""The entry of a column of actions for an answer that is not a number, and so not legal."""
_BITS = np.array([byte.bit_count() for byte in range(256)], np.uint8)


def read(name: str, value: Any, dtype: DTypeLike, *shape: int) -> Column:
    """Return a checked column; nil stands for an empty one where that is allowed.

    Args:
        name: the field's name.
        value: the field's value.
        dtype: the expected dtype.
        shape: the expected shape; -1 for any length.

    Raises:
        ProtocolError: ``invalid``: it is something else.
    """
    if value is None and shape[0] <= 0:
        return np.zeros([max(0, length) for length in shape], dtype)
    if isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == len(shape):
        for length, asked in zip(value.shape, shape, strict=True):
            if asked not in (-1, length):
                break
        else:
            return value
    wanted = ", ".join("n" if length < 0 else str(length) for length in shape)
    found = f"{value.dtype.name} {list(value.shape)}" if isinstance(value, np.ndarray) else None
    text = f"a tensor {found}" if found else f"a {type(value).__name__}"
    raise ProtocolError("invalid", f"`{name}` is {text}, not a tensor {np.dtype(dtype)} [{wanted}]")


def values(name: str, value: Any, rows: int) -> Any:
    """Return a column of arbitrary values: a tensor or list with ``rows`` rows, or None for nil.

    Raises:
        ProtocolError: ``invalid``: it is something else; ``malformed``: it cannot be decoded.
    """
    found = codec.payload(value)
    if found is None or (isinstance(found, np.ndarray | list) and _length(found) == rows):
        return found
    what = f"{_length(found)} rows" if isinstance(found, np.ndarray | list) else "no column"
    raise ProtocolError("invalid", f"`{name}` has {what}; it must have {rows}")


def _length(found: Column | list[Any]) -> int:
    return -1 if isinstance(found, np.ndarray) and found.ndim == 0 else len(found)


def part(column: Any, rows: Column) -> Any:
    """Return some rows of a column of arbitrary values."""
    if isinstance(column, np.ndarray):
        return column[rows]
    return None if column is None else [column[row] for row in rows.tolist()]


def stacked(rows: list[Any]) -> Any:
    """Return values as one column: a tensor if all have one dtype and shape and are not empty,
    else a list."""
    first = rows[0] if rows else None
    if isinstance(first, np.ndarray | np.generic) and first.size:  # NumPy lacks some empty shapes
        kind = first.dtype, first.shape
        if all(isinstance(r, np.ndarray | np.generic) and (r.dtype, r.shape) == kind for r in rows):
            return np.stack(rows)
    return None if all(row is None for row in rows) else rows


def width(space: Space) -> int:
    """Return the bytes of a mask of a ``Discrete`` space."""
    assert isinstance(space, Discrete)
    return -(-max(0, space.start + space.n) // 8)


def every(column: Column) -> bool:
    """Return whether a column of bool or uint8 has no 0; faster than ``ndarray.all``."""
    return b"\0" not in column.tobytes()


def same(one: Column, other: Column) -> bool:
    """Return whether two columns of one dtype are equal."""
    return one.tobytes() == other.tobytes()


def counts(legal: Column) -> Column:
    """Return the number of actions that each row of bit masks allows."""
    found: Column = _BITS[legal].sum(axis=1, dtype=np.int64)
    return found


def allows(legal: Column, actions: Column) -> Column:
    """Return for each row whether its bit mask allows its action."""
    rows, width = legal.shape
    inside = actions.view(np.uint64) < 8 * width  # a negative number is a large one
    at = (actions >> 3) + np.arange(rows) * width
    bits = legal.take(at, mode="clip") >> (actions & 7)
    found: Column = (bits & inside).astype(bool)
    return found
