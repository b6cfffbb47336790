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

INTEGERS = 1 << 63
"""An integer of a space is below, and at least minus that: what 64 bits hold."""

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


def _fits(array: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether an array that was made of plain numbers holds what ``dtype`` can hold."""
    if dtype.kind == "f":
        return True
    if dtype.kind == "b":
        return array.dtype.kind == "b" or array.size == 0
    if array.dtype.kind not in "iu":
        return array.size == 0
    limit = np.iinfo(dtype)
    return bool(np.all(array >= limit.min) and np.all(array <= limit.max))


def _lengths(values: Any, what: str, least: int = 0) -> None:
    """Raise ValueError if ``values`` are not lengths; spaces made in Python are not checked by types."""
    if isinstance(values, str) or not isinstance(values, list | tuple):
        raise ValueError(f"{what} must be a list of integers, not {values!r}")
    for each in values:
        if not _is_int(each) or each < least:
            raise ValueError(f"{what} must have integers of at least {least}, not {each!r}")


def _whole(value: Any, what: str, least: int) -> None:
    if not _is_int(value) or value < least:
        raise ValueError(f"{what} must be an integer of at least {least}, not {value!r}")


class Discrete(_Space, frozen=True):
    """The integers ``start`` .. ``start + n - 1``."""

    n: Annotated[int, Meta(ge=1)]
    """How many integers."""
    start: int = 0
    """The lowest one."""

    def __post_init__(self) -> None:
        _whole(self.n, "n of Discrete", 1)
        if not _is_int(self.start):
            raise ValueError(f"start of Discrete must be an integer, not {self.start!r}")
        if not -INTEGERS <= int(self.start) <= INTEGERS - int(self.n):
            raise ValueError(
                f"Discrete(n={self.n}, start={self.start}) has integers that are not -2^63 to 2^63 - 1"
            )

    def contains(self, value: Any) -> bool:
        return _is_int(value) and self.start <= value < self.start + self.n


class Box(_Space, frozen=True):
    """Arrays of a shape and dtype, with bounds for all elements or one each."""

    shape: Shape
    """The length of each dimension; empty for one number."""
    low: Bound = -math.inf
    """The least value of every element, or nested arrays with one of each."""
    high: Bound = math.inf
    """The greatest value of every element, or nested arrays with one of each."""
    dtype: str = "float32"
    """A dtype of the section Tensors."""

    def __post_init__(self) -> None:
        _lengths(self.shape, "shape of Box")
        if not isinstance(self.dtype, str) or self.dtype not in DTYPES:
            raise ValueError(
                f"dtype of Box must be one of {', '.join(DTYPES)}, not {self.dtype!r}; "
                "the order is Box(shape, low, high, dtype)"
            )
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, int | float | list | np.integer | np.floating):
                raise ValueError(
                    f"{name} of Box must be a number or nested lists, not {bound!r}; "
                    "the order is Box(shape, low, high, dtype)"
                )

    def contains(self, value: Any) -> bool:
        array = _array(value, self.shape)
        dtype = DTYPES.get(self.dtype)
        if array is None or dtype is None:
            return False
        if isinstance(value, np.ndarray | np.generic):
            if array.dtype.name != self.dtype:
                return False
        elif not _fits(array, dtype):
            return False
        try:
            low, high = np.asarray(self.low), np.asarray(self.high)
            if not {low.shape, high.shape} <= {
                (),
                array.shape,
            }:  # else it might be spread over a huge one
                return False
            return bool(np.all(array >= low) and np.all(array <= high))
        except (TypeError, ValueError):  # bounds of another shape, or that are no numbers
            return False


class MultiDiscrete(_Space, frozen=True):
    """Vectors of integers, element i in 0 .. ``nvec[i] - 1``."""

    nvec: list[Annotated[int, Meta(ge=1)]]
    """For each element, how many values it has, from 0."""

    def __post_init__(self) -> None:
        _lengths(self.nvec, "nvec of MultiDiscrete", 1)

    def contains(self, value: Any) -> bool:
        array = _array(value, [len(self.nvec)])
        if array is None or array.dtype.kind not in "iu":
            return False
        return bool(np.all(array >= 0) and np.all(array < np.asarray(self.nvec)))


class MultiBinary(_Space, frozen=True):
    """Arrays of zeros and ones of a shape."""

    shape: Shape
    """The length of each dimension."""

    def __post_init__(self) -> None:
        _lengths(self.shape, "shape of MultiBinary")

    def contains(self, value: Any) -> bool:
        array = _array(value, self.shape)
        return array is not None and bool(np.all((array == 0) | (array == 1)))


class Text(_Space, frozen=True):
    """Strings by length in characters, of the characters of ``charset`` if it is given."""

    max_length: Annotated[int, Meta(ge=0)]
    """The most characters (Unicode code points)."""
    min_length: Annotated[int, Meta(ge=0)] = 0
    """The fewest."""
    charset: str | None = None
    """The characters that may occur; nil: any."""

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, str)
            and self.min_length <= len(value) <= self.max_length
            and (self.charset is None or set(value) <= set(self.charset))
        )


class Tuple(_Space, frozen=True):
    """Sequences with one value of each space."""

    spaces: list[Space]
    """One space per element, in order."""

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, list | tuple)
            and len(value) == len(self.spaces)
            and all(space.contains(part) for space, part in zip(self.spaces, value, strict=True))
        )


class Dict(_Space, frozen=True):
    """Maps with one value of each space by its key."""

    spaces: dict[str, Space]
    """The space of each key."""

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and value.keys() == self.spaces.keys()
            and all(space.contains(value[key]) for key, space in self.spaces.items())
        )


class Sequence(_Space, frozen=True):
    """Sequences of any length up to a greatest one, every value of one space."""

    element: Space
    """The space of every element."""
    max_length: Annotated[int, Meta(ge=0)]
    """The most elements."""
    min_length: Annotated[int, Meta(ge=0)] = 0
    """The fewest."""

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, list | tuple)
            and self.min_length <= len(value) <= self.max_length
            and all(self.element.contains(part) for part in value)
        )


Space = Discrete | Box | MultiDiscrete | MultiBinary | Text | Tuple | Dict | Sequence
