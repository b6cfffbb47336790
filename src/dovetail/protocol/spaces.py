"""Spaces of observations and actions, after Gymnasium's; each says what it contains.

A space travels as a map whose ``space`` names its kind (SPEC.md, Spaces).  ``contains`` never
raises: a value of any type is simply in the space or not.  Both are a peer's, and the broker checks
the one against the other: what that takes must be in proportion to their sizes together, also where
a space stands for each element of a sequence.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cached_property
from types import UnionType
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.protocol.tensors import DTYPES

INTEGERS = 1 << 63
"""Integers of a space are at least ``-INTEGERS`` and less than ``INTEGERS``, to fit 64 bits."""

Shape = list[Annotated[int, Meta(ge=0)]]
Bound = int | float | list[Any]


class _Space(Struct, tag_field="space", tag=True, omit_defaults=True, frozen=True, dict=True):
    def contains(self, value: Any) -> bool:
        """Return whether ``value`` is in the space."""
        raise NotImplementedError


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _numbers(value: Any, shape: Shape, out: list[Any], axis: int = 0) -> bool:
    """Flatten nested lists into ``out``; return whether ``value`` has the shape from an axis on,
    and holds only numbers."""
    if axis == len(shape):
        if isinstance(value, np.generic):
            value = value.item()  # as it travels
        out.append(value)
        return isinstance(value, int | float)
    if not isinstance(value, list | tuple) or len(value) != shape[axis]:
        return False
    return all(_numbers(each, shape, out, axis + 1) for each in value)


def _listed(value: Any, shape: Shape, kinds: type | UnionType) -> NDArray[Any] | None:
    """Return nested lists of a shape as a flat array of objects; None if an element has another
    type.

    A boolean is not an integer here.  The array is flat, since numpy does not have every shape.
    """
    numbers: list[Any] = []
    if not _numbers(value, shape, numbers):
        return None
    for kind in set(map(type, numbers)):
        if not issubclass(kind, kinds) or (kind is bool and kinds is not bool):
            return None
    array = np.empty(len(numbers), object)
    array[:] = numbers
    return array


def _flat(value: NDArray[Any], shape: Shape) -> NDArray[Any] | None:
    """Return an array's elements; None if it has another shape, which may be a long one."""
    same = value.ndim == len(shape) and value.shape == tuple(shape)
    return value.ravel() if same else None


def _elements(value: Any, shape: Shape, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Convert a value to a flat array of a dtype; return None if it does not fit."""
    if isinstance(value, np.ndarray):
        return _flat(value, shape) if value.dtype.name == dtype.name else None
    kinds = {"b": bool, "f": int | float}.get(dtype.kind, int)
    array = _listed(value, shape, kinds)
    if array is None or dtype.kind == "b":
        return None if array is None else array.astype(dtype)
    if dtype.kind == "f":
        return _rounded(array, dtype)
    limit = np.iinfo(dtype)
    if not all(limit.min <= each <= limit.max for each in array.flat):
        return None
    return array.astype(dtype)


def _rounded(values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Round numbers to a floating-point dtype; those out of its range become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(_doubles(values)).astype(dtype)


def _doubles(values: Any) -> NDArray[Any]:
    """Convert numbers to 64-bit floats; integers beyond their range become infinite."""
    try:
        return np.asarray(values, np.float64)
    except OverflowError:
        doubles: NDArray[Any] = np.vectorize(_double, otypes=[np.float64])(values)
        return doubles


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _within(array: NDArray[Any], low: Any, high: Any) -> bool:
    """Return whether elements are within bounds, each a number or an array. Integers compare
    exactly."""
    if array.size == 0:
        return True
    if isinstance(low, np.ndarray):
        above = np.all(array.astype(object) >= low)
    else:
        above = array.min().item() >= low
    if isinstance(high, np.ndarray):
        return bool(above and np.all(array.astype(object) <= high))
    return bool(above and array.max().item() <= high)


def _lengths(values: Any, what: str, least: int = 0) -> None:
    """Raise ValueError if ``values`` are not lengths; spaces made in Python are not checked by
    types."""
    if isinstance(values, str) or not isinstance(values, list | tuple):
        raise ValueError(f"{what} must be a list of integers, not {values!r}")
    for each in values:
        if not _is_int(each) or each < least:
            raise ValueError(f"{what} must have integers of at least {least}, not {each!r}")


class Discrete(_Space, frozen=True):
    """The integers ``start`` .. ``start + n - 1``."""

    n: Annotated[int, Meta(ge=1)]
    """The number of integers."""
    start: int = 0
    """The lowest integer."""

    def __post_init__(self) -> None:
        if not _is_int(self.n) or self.n < 1:
            raise ValueError(f"n of Discrete must be an integer of at least 1, not {self.n!r}")
        if not _is_int(self.start):
            raise ValueError(f"start of Discrete must be an integer, not {self.start!r}")
        if not -INTEGERS <= int(self.start) <= INTEGERS - int(self.n):
            raise ValueError(
                f"Discrete(n={self.n}, start={self.start}) has integers that are not -2^63 to "
                "2^63 - 1"
            )

    def contains(self, value: Any) -> bool:
        return _is_int(value) and self.start <= value < self.start + self.n


class Box(_Space, frozen=True):
    """Arrays of a shape and dtype, with common bounds or bounds for each element."""

    shape: Shape
    """The length of each dimension; empty for one number."""
    low: Bound = -math.inf
    """The lower bound of every element, or a nested array with a bound for each."""
    high: Bound = math.inf
    """The upper bound of every element, or a nested array with a bound for each."""
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
            number = isinstance(bound, int | float | np.integer | np.floating)
            if isinstance(bound, bool) or not (number or isinstance(bound, list)):
                raise ValueError(
                    f"{name} of Box must be a number or nested lists, not {bound!r}; "
                    "the order is Box(shape, low, high, dtype)"
                )

    def contains(self, value: Any) -> bool:
        array = _elements(value, self.shape, DTYPES[self.dtype])
        if array is None:
            return False
        low, high = self._bounds
        return not (low is None or high is None) and _within(array, low, high)

    @cached_property
    def _bounds(self) -> tuple[Any, Any]:
        return self._bound(self.low), self._bound(self.high)

    def _bound(self, bound: Bound) -> Any:
        """Return a bound as a number or a flat array; None if it has another shape."""
        dtype = DTYPES[self.dtype]
        found = _listed(bound, self.shape if isinstance(bound, list) else [], int | float)
        if found is None:
            return None
        if dtype.kind == "f":
            found = _rounded(found, dtype).astype(object)
        return found if isinstance(bound, list) else found.item()


class MultiDiscrete(_Space, frozen=True):
    """Vectors of integers, element i in 0 .. ``nvec[i] - 1``."""

    nvec: list[Annotated[int, Meta(ge=1)]]
    """The number of values of each element, counted from 0."""

    def __post_init__(self) -> None:
        _lengths(self.nvec, "nvec of MultiDiscrete", 1)

    def contains(self, value: Any) -> bool:
        if isinstance(value, np.ndarray):
            array = value if value.dtype.kind in "iu" and value.ndim == 1 else None
        else:
            array = _listed(value, [len(self.nvec)], int)
        if array is None or len(array) != len(self.nvec):
            return False
        most = np.asarray(self.nvec, object)
        return bool(np.all(array >= 0) and np.all(array.astype(object) < most))


class MultiBinary(_Space, frozen=True):
    """Arrays of zeros and ones of a shape."""

    shape: Shape
    """The length of each dimension."""

    def __post_init__(self) -> None:
        _lengths(self.shape, "shape of MultiBinary")

    def contains(self, value: Any) -> bool:
        if isinstance(value, np.ndarray):
            array = _flat(value, self.shape) if value.dtype.kind in "biuf" else None
        else:
            array = _listed(value, self.shape, int | float)
        return array is not None and bool(np.all((array == 0) | (array == 1)))


class Text(_Space, frozen=True):
    """Strings of limited length, of the characters in ``charset`` if given."""

    max_length: Annotated[int, Meta(ge=0)]
    """The maximum number of characters (Unicode code points)."""
    min_length: Annotated[int, Meta(ge=0)] = 0
    """The fewest."""
    charset: str | None = None
    """The characters allowed; nil allows any."""

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, str)
            and self.min_length <= len(value) <= self.max_length
            and (self.charset is None or all(map(self._allows, set(value))))
        )

    @cached_property
    def _ordered(self) -> str:
        """The characters of ``charset`` in order; a set of them would take 25 times their bytes."""
        return "".join(sorted(set(self.charset or "")))

    def _allows(self, character: str) -> bool:
        at = bisect_left(self._ordered, character)
        return self._ordered[at : at + 1] == character


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
    """Maps with one value of each space, under its key."""

    spaces: dict[str, Space]
    """The space of each key."""

    def __post_init__(self) -> None:
        for key in self.spaces:
            if not isinstance(key, str):
                raise ValueError(f"keys of Dict are text, not {key!r}; write {str(key)!r}")

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and value.keys() == self.spaces.keys()
            and all(space.contains(value[key]) for key, space in self.spaces.items())
        )


class Sequence(_Space, frozen=True):
    """Sequences of limited length whose elements all belong to one space."""

    element: Space
    """The space of every element."""
    max_length: Annotated[int, Meta(ge=0)]
    """The maximum number of elements."""
    min_length: Annotated[int, Meta(ge=0)] = 0
    """The fewest."""

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, list | tuple)
            and self.min_length <= len(value) <= self.max_length
            and all(self.element.contains(part) for part in value)
        )


Space = Discrete | Box | MultiDiscrete | MultiBinary | Text | Tuple | Dict | Sequence
