"""Spaces of observations and actions, after Gymnasium's; each says what it contains.

A space travels as a map whose ``space`` names its kind (SPEC.md, Spaces).  ``contains`` never
raises: a value of any type is simply in the space or not.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.protocol.tensors import DTYPES

Shape = list[Annotated[int, Meta(ge=0)]]
Bound = float | list[Any]


class _Space(Struct, tag_field="space", tag=True, omit_defaults=True, frozen=True):
    def contains(self, value: Any) -> bool:
        """Return whether ``value`` is in the space."""
        raise NotImplementedError


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _array(value: Any, shape: Shape) -> NDArray[Any] | None:
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.shape == tuple(shape) and array.dtype.kind in "biuf" else None


class Discrete(_Space, frozen=True):
    """The integers ``start`` .. ``start + n - 1``."""

    n: Annotated[int, Meta(ge=1)]
    start: int = 0

    def contains(self, value: Any) -> bool:
        return _is_int(value) and self.start <= value < self.start + self.n


class Box(_Space, frozen=True):
    """Arrays of a shape and dtype, with bounds for all elements or one each."""

    shape: Shape
    low: Bound = -math.inf
    high: Bound = math.inf
    dtype: str = "float32"

    def contains(self, value: Any) -> bool:
        array = _array(value, self.shape)
        if array is None or self.dtype not in DTYPES:
            return False
        if isinstance(value, np.ndarray | np.generic) and array.dtype.name != self.dtype:
            return False
        return bool(
            np.all(array >= np.asarray(self.low)) and np.all(array <= np.asarray(self.high))
        )


class MultiDiscrete(_Space, frozen=True):
    """Vectors of integers, element i in 0 .. ``nvec[i] - 1``."""

    nvec: list[Annotated[int, Meta(ge=1)]]

    def contains(self, value: Any) -> bool:
        array = _array(value, [len(self.nvec)])
        if array is None or array.dtype.kind not in "iu":
            return False
        return bool(np.all(array >= 0) and np.all(array < np.asarray(self.nvec)))


class MultiBinary(_Space, frozen=True):
    """Arrays of zeros and ones of a shape."""

    shape: Shape

    def contains(self, value: Any) -> bool:
        array = _array(value, self.shape)
        return array is not None and bool(np.all((array == 0) | (array == 1)))


class Text(_Space, frozen=True):
    """Strings by length in characters, of the characters of ``charset`` if it is given."""

    max_length: Annotated[int, Meta(ge=0)]
    min_length: Annotated[int, Meta(ge=0)] = 0
    charset: str | None = None

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, str)
            and self.min_length <= len(value) <= self.max_length
            and (self.charset is None or set(value) <= set(self.charset))
        )


class Tuple(_Space, frozen=True):
    """Sequences with one value of each space."""

    spaces: list[Space]

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, list | tuple)
            and len(value) == len(self.spaces)
            and all(space.contains(part) for space, part in zip(self.spaces, value, strict=True))
        )


class Dict(_Space, frozen=True):
    """Maps with one value of each space by its key."""

    spaces: dict[str, Space]

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and value.keys() == self.spaces.keys()
            and all(space.contains(value[key]) for key, space in self.spaces.items())
        )


Space = Discrete | Box | MultiDiscrete | MultiBinary | Text | Tuple | Dict
