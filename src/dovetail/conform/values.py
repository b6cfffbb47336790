"""Values of every kind that may stand where the contract says *any*, and spaces of every kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from dovetail.conform.program import same
from dovetail.protocol import codec, spaces, tensors

BOARD = np.array([[0, 1, 2], [0, 0, 1]], np.int8)
AFTER = np.array([[0.5, 1.0], [0.25, -1.0]], np.float32)
"""Tensors, also used in the examples of messages."""

SPACES: list[Any] = [
    spaces.Discrete(7),
    spaces.Discrete(3, -1),
    spaces.Box([2, 3], 0.0, 2.0, "int8"),
    spaces.Box([2], [0.0, -1.0], [1.0, 1.0]),
    spaces.Box([]),
    spaces.MultiDiscrete([3, 2]),
    spaces.MultiBinary([2, 2]),
    spaces.Text(8, 1, "abc"),
    spaces.Tuple([spaces.Discrete(2), spaces.Text(4)]),
    spaces.Sequence(spaces.Discrete(3), 4, 1),
    spaces.Dict({"board": spaces.Box([2, 3], 0.0, 2.0, "int8"), "phase": spaces.Discrete(2)}),
]
"""Spaces of every kind."""

LEGAL: list[tuple[str, Any, int]] = [
    ("a list", [0, 3, 4], 4),
    ("a list of one", [2], 2),
    ("a long list of large numbers", list(range(100_000, 103_000)), 102_999),
    ("a mask of one byte", b"\x05", 2),
    ("a mask of two bytes", b"\x01\x02", 9),
    ("a mask that ends with zeros", b"\x80\x00\x00", 7),
    ("a long mask", b"\x00" * 1000 + b"\x10", 8004),
]
"""A description, encoded legal actions, and the highest of them."""


def _nested(depth: int) -> Any:
    value: Any = 7
    for level in range(depth):
        value = [value] if level % 2 else {"deeper": value}
    return value


def values() -> Iterator[tuple[str, Any]]:
    """Yield names and values."""
    yield "nil", None
    yield "false", False
    yield "true", True
    for number in (0, -1, 127, 128, -32, -33, 255, 256, 65535, 65536, -32769, 2**31, -(2**31) - 1):
        yield f"integer {number}", number
    for number in (2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1):
        yield f"integer {number}", number
    for real in (0.5, -1.25, 1e300, 5e-324, math.inf, -math.inf, math.nan, 3.0):
        yield f"float {real}", real
    yield "text, empty", ""
    yield "text beyond ASCII", "Größe 漢字 🎲 \u0000 \u200d"
    for length in (31, 32, 255, 256, 65536):
        yield f"text of {length} bytes", "x" * length
    yield "binary, empty", b""
    for length in (255, 256, 65536):
        yield (
            f"binary of {length} bytes",
            bytes(range(256)) * (length // 256) + b"\xff" * (length % 256),
        )
    yield "array, empty", []
    yield "array of 15 and 16", [list(range(15)), list(range(16))]
    yield "array of 65,536", [1] * 65536
    yield "map, empty", {}
    yield "map of 16", {f"key {i}": i for i in range(16)}
    yield "map with keys beyond ASCII", {"": 1, "ключ": 2, "type": "x", "__proto__": 3}
    yield "nested 24 deep", _nested(24)
    yield "arrays and maps", {"a": [1, {"b": [None, True, "c", b"d", 1.5]}], "e": {}}
    yield from tensors_of_every_kind()
    yield "tensors in a map", {"board": BOARD, "more": [AFTER, 1]}


def tensors_of_every_kind() -> Iterator[tuple[str, Any]]:
    """Yield tensors of every dtype and shape, and an unknown extension."""
    for name, dtype in tensors.DTYPES.items():
        if dtype.kind == "f":
            data = np.array([0.0, -1.5, math.inf], dtype)
        elif dtype.kind == "b":
            data = np.array([False, True, True], dtype)
        else:
            limit = np.iinfo(dtype)
            data = np.array([limit.min, 1, limit.max], dtype)
        yield f"tensor {name}", data
    yield "tensor without dimensions", np.array(2.5, np.float64)
    yield "tensor without elements", np.zeros((0, 3), np.uint8)
    yield "tensor of three dimensions", np.arange(8, dtype=np.int16).reshape(2, 2, 2)
    yield "extension that is not Dovetail's", msgspec.msgpack.Ext(7, b"\x01\x02")


def encodings() -> Iterator[tuple[str, bytes, Any]]:
    """Yield a name, bytes that are not the shortest for a value, and the value."""
    yield "an integer in 8 bytes", b"\xd3" + (5).to_bytes(8, "big"), 5
    yield "an unsigned integer in 8 bytes", b"\xcf" + (5).to_bytes(8, "big"), 5
    yield "a float of 32 bits", b"\xca\x3f\x00\x00\x00", 0.5
    yield "a text with a long header", b"\xdb\x00\x00\x00\x02ok", "ok"
    yield "binary with a long header", b"\xc6\x00\x00\x00\x01\x07", b"\x07"
    yield "an array with a long header", b"\xdd\x00\x00\x00\x01\x07", [7]
    yield "a map with a long header", b"\xdf\x00\x00\x00\x01\xa1a\x07", {"a": 7}
    tensor = codec.encode(np.array([1, 2], np.int8))
    ext = msgspec.msgpack.decode(tensor)
    long = b"\xc9" + len(ext.data).to_bytes(4, "big") + b"\x01" + bytes(ext.data)
    yield "a tensor with a long header", long, np.array([1, 2], np.int8)


SENT_SPACES: list[dict[str, Any]] = msgspec.to_builtins(SPACES)
"""The same, encoded."""


def covers(wanted: Any, got: Any) -> bool:
    """Return whether a space survived the round trip; fields with defaults may be left out."""
    if not isinstance(wanted, dict) or not isinstance(got, dict):
        return same(wanted, got)
    if "element" in wanted:
        rest = {key: each for key, each in wanted.items() if key != "element"}
        return covers(wanted["element"], got.get("element")) and covers(rest, got)
    if "spaces" in wanted:
        inner = wanted["spaces"]
        other = got.get("spaces")
        if isinstance(inner, dict):
            return isinstance(other, dict) and all(
                covers(inner[key], other.get(key)) for key in inner
            )
        return isinstance(other, list) and all(map(covers, inner, other))
    return all(same(got.get(key, wanted[key]), wanted[key]) for key in wanted) and (
        got.get("space") == wanted["space"]
    )


# -- columns, for the cases about groups -----------------------------------------------------------


def i4(*values: int) -> Any:
    """Return a column of slots, seats, turns or rows."""
    return np.array(values, np.int32)


def i8(*values: int) -> Any:
    """Return a column of actions or episodes."""
    return np.array(values, np.int64)


def u8(*values: int) -> Any:
    """Return a column of seeds."""
    return np.array(values, np.uint64)


def bits(*masks: int) -> Any:
    """Return a column of bit masks of one byte."""
    return np.array(masks, np.uint8).reshape(-1, 1)


def f8(values: Sequence[Any]) -> Any:
    """Return a column of rewards or scores."""
    return np.array(values, np.float64)
