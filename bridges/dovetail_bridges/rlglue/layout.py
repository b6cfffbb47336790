"""Conversion between values of Dovetail's spaces and RL-Glue's three flat arrays.

``native`` lays out a Dovetail game's space for a legacy program; ``legacy`` makes the space that
a legacy program declares.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.tensors import DTYPES
from dovetail_bridges.rlglue.taskspec import Arrays, Range
from dovetail_bridges.rlglue.wire import INT_RANGE, Adt


class Layout(Protocol):
    """The layout of one space's values."""

    space: spaces.Space
    arrays: Arrays

    def pack(self, value: Any) -> Adt:
        """Return a value as flat arrays.

        Raises:
            DovetailError: the value does not have the form of the space.
        """
        ...

    def unpack(self, adt: Adt) -> Any:
        """Return the value in flat arrays; it may lie outside the bounds of the space.

        Raises:
            DovetailError: the counts are not those of ``arrays``.
        """
        ...


# -- native -------------------------------------------------------------------------------------


class _Numbers:
    """One number of ``Discrete``, from 0: tabular legacy agents size their tables by the
    maximum."""

    def __init__(self, space: spaces.Discrete) -> None:
        if space.n - 1 > INT_RANGE[1]:
            raise DovetailError(f"Discrete({space.n}) has more values than RL-Glue's integers")
        self.space: spaces.Space = space
        self._start = space.start
        self.arrays = Arrays([Range(0, space.n - 1)])

    def pack(self, value: Any) -> Adt:
        return Adt((int(value) - self._start,))

    def unpack(self, adt: Adt) -> int:
        _counts(adt, 1, 0, "Discrete")
        return adt.ints[0] + self._start


class _Array:
    """An array, row by row."""

    def __init__(self, space: spaces.Space, shape: Sequence[int], dtype: str, ranges: list[Range]):
        self.space = space
        self._shape = tuple(shape)
        self._count = math.prod(shape)
        self._dtype = DTYPES[dtype]
        self._integral = self._dtype.kind != "f" and all(each.finite for each in ranges)
        self.arrays = Arrays(ranges) if self._integral else Arrays((), ranges)

    def pack(self, value: Any) -> Adt:
        array = np.asarray(value)
        if array.size != self._count:
            raise DovetailError(f"an array of {array.size} elements; the space has {self._count}")
        flat = array.ravel()
        if self._integral:
            return Adt(flat.astype(np.int64).tolist())
        return Adt((), flat.astype(np.float64).tolist())

    def unpack(self, adt: Adt) -> NDArray[Any]:
        kind = type(self.space).__name__
        if self._integral:
            _counts(adt, self._count, 0, kind)
            return np.array(adt.ints, np.int64).astype(self._dtype).reshape(self._shape)
        _counts(adt, 0, self._count, kind)
        return np.array(adt.doubles, np.float64).astype(self._dtype).reshape(self._shape)


class _Text:
    """A text in UTF-8."""

    def __init__(self, space: spaces.Text) -> None:
        self.space: spaces.Space = space
        self.arrays = Arrays(chars=space.max_length)

    def pack(self, value: Any) -> Adt:
        return Adt(chars=str(value).encode())

    def unpack(self, adt: Adt) -> str:
        _counts(adt, 0, 0, "Text")
        return adt.chars.decode(errors="replace")


class _Parts:
    """Several values in order; each kind of number goes into its own array."""

    def __init__(self, space: spaces.Tuple | spaces.Dict) -> None:
        self.space: spaces.Space = space
        self._keys = sorted(space.spaces) if isinstance(space, spaces.Dict) else None
        inner = (
            [space.spaces[key] for key in self._keys]
            if isinstance(space, spaces.Dict) and self._keys is not None
            else list(space.spaces)
        )
        self._layouts = [native(each) for each in inner]  # type: ignore[arg-type]
        self._texts = sum(layout.arrays.chars > 0 for layout in self._layouts)
        self.arrays = Arrays(
            [each for layout in self._layouts for each in layout.arrays.ints],
            [each for layout in self._layouts for each in layout.arrays.doubles],
            sum(layout.arrays.chars for layout in self._layouts),
        )

    def pack(self, value: Any) -> Adt:
        values = value if self._keys is None else [value[key] for key in self._keys]
        packed = [layout.pack(each) for layout, each in zip(self._layouts, values, strict=True)]
        return Adt(
            [number for adt in packed for number in adt.ints],
            [number for adt in packed for number in adt.doubles],
            b"".join(adt.chars for adt in packed),
        )

    def unpack(self, adt: Adt) -> Any:
        if self._texts > 1:
            raise DovetailError("RL-Glue cannot tell several texts of one value apart")
        _counts(adt, len(self.arrays.ints), len(self.arrays.doubles), type(self.space).__name__)
        values, ints, doubles = [], 0, 0
        for layout in self._layouts:
            arrays = layout.arrays
            part = Adt(
                adt.ints[ints : ints + len(arrays.ints)],
                adt.doubles[doubles : doubles + len(arrays.doubles)],
                adt.chars if arrays.chars else b"",
            )
            ints, doubles = ints + len(arrays.ints), doubles + len(arrays.doubles)
            values.append(layout.unpack(part))
        return values if self._keys is None else dict(zip(self._keys, values, strict=True))


def native(space: spaces.Space) -> Layout:
    """Return the layout of a Dovetail game's space for a legacy program.

    Raises:
        DovetailError: RL-Glue's arrays cannot carry the values; the text names the space.
    """
    match space:
        case spaces.Discrete():
            return _Numbers(space)
        case spaces.MultiDiscrete():
            ranges = [Range(0, n - 1) for n in space.nvec]
            return _Array(space, [len(ranges)], "int64", ranges)
        case spaces.MultiBinary():
            return _Array(space, space.shape, "int8", [Range(0, 1)] * math.prod(space.shape))
        case spaces.Box():
            return _Array(space, space.shape, space.dtype, _bounds(space))
        case spaces.Text():
            return _Text(space)
        case spaces.Tuple() | spaces.Dict():
            return _Parts(space)
    raise DovetailError(
        f"RL-Glue cannot carry values of the space {type(space).__name__}, whose length varies"
    )


def _bounds(space: spaces.Box) -> list[Range]:
    """Return each element's range, left open where an integer's bound exceeds 32 bits."""
    shape = tuple(space.shape)
    low = np.broadcast_to(np.asarray(space.low, float), shape).ravel()
    high = np.broadcast_to(np.asarray(space.high, float), shape).ravel()
    dtype = DTYPES[space.dtype]
    if dtype.kind == "f":
        return [Range(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    low, high = np.maximum(low, least), np.minimum(high, most)
    if np.any(low < INT_RANGE[0]) or np.any(high > INT_RANGE[1]):
        return [Range(-math.inf, math.inf)] * low.size
    return [Range(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]


def _counts(adt: Adt, ints: int, doubles: int, kind: str) -> None:
    if (len(adt.ints), len(adt.doubles)) != (ints, doubles):
        raise DovetailError(f"{adt}; a value of {kind} here has {ints} ints and {doubles} doubles")


# -- legacy -------------------------------------------------------------------------------------


class _Declared:
    """Values as a legacy task spec declares them."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._parts: dict[str, spaces.Space] = {}
        if arrays.ints:
            self._parts["ints"] = _integers(arrays.ints)
        if arrays.doubles:
            low, high = zip(*_filled(map(_ends, arrays.doubles)), strict=True)
            self._parts["doubles"] = spaces.Box([len(low)], list(low), list(high), "float64")
        if arrays.chars:
            self._parts["chars"] = spaces.Text(arrays.chars, arrays.chars)
        if not self._parts:
            self.space: spaces.Space = spaces.Discrete(1)
        elif len(self._parts) == 1:
            (self.space,) = self._parts.values()
        else:
            self.space = spaces.Dict(self._parts)

    def pack(self, value: Any) -> Adt:
        if not self._parts:
            return Adt()
        values = {next(iter(self._parts)): value} if len(self._parts) == 1 else value
        ints: Sequence[int] = ()
        if "ints" in values:
            ints = np.asarray(values["ints"], np.int64).ravel().tolist()
        doubles: Sequence[float] = ()
        if "doubles" in values:
            doubles = np.asarray(values["doubles"], np.float64).ravel().tolist()
        return Adt(ints, doubles, values.get("chars", "").encode("latin-1", "replace"))

    def unpack(self, adt: Adt) -> Any:
        _counts(adt, len(self.arrays.ints), len(self.arrays.doubles), "this task spec")
        values: dict[str, Any] = {}
        for name, part in self._parts.items():
            if name == "chars":
                values[name] = adt.chars.decode("latin-1")
            elif name == "doubles":
                values[name] = np.array(adt.doubles, np.float64)
            elif isinstance(part, spaces.Discrete):
                values[name] = adt.ints[0]
            else:
                values[name] = np.array(adt.ints, np.int32)
        if not values:
            return 0
        return next(iter(values.values())) if len(values) == 1 else values


def _ends(each: Range) -> tuple[float, float]:
    return (
        -math.inf if each.low is None else each.low,
        math.inf if each.high is None else each.high,
    )


def _filled(bounds: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the bounds; raise if a range is empty."""
    found = list(bounds)
    for low, high in found:
        if high < low:
            raise DovetailError(f"the task spec has the empty range ({low:g} {high:g})")
    return found


def _integers(ranges: Sequence[Range]) -> spaces.Space:
    bounds = _filled(
        (max(INT_RANGE[0], low), min(INT_RANGE[1], high)) for low, high in map(_ends, ranges)
    )
    low, high = [int(low) for low, _ in bounds], [int(high) for _, high in bounds]
    finite = all(each.finite for each in ranges)
    if finite and len(ranges) == 1:
        return spaces.Discrete(high[0] - low[0] + 1, low[0])
    if finite and not any(low):
        return spaces.MultiDiscrete([most + 1 for most in high])
    return spaces.Box([len(ranges)], low, high, "int32")


def legacy(arrays: Arrays) -> Layout:
    """Return the layout of the values that a legacy task spec declares.

    Raises:
        DovetailError: a range is empty.
    """
    return _Declared(arrays)
