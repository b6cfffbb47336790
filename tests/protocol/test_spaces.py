"""What is in a space, and what never makes ``contains`` raise."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol import codec, examples
from dovetail.protocol import spaces as s

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("space", "inside", "outside"),
    [
        (s.Discrete(3), [0, 2, np.int64(1)], [-1, 3, 1.0, True, "1", None, [1], 2**70, b"\x01"]),
        (s.Discrete(2, -1), [-1, 0], [1, -2]),
        (
            s.Box([2], 0.0, 1.0),
            [[0, 1], [0.5, 0.5], np.array([0, 1], np.float32)],
            [
                [0, 2],
                [0],
                [0, 0, 0],
                [[0, 0]],
                [NAN, 0],
                0,
                "ab",
                None,
                {},
                ["a", "b"],
                [None, None],
                np.array([0, 1], np.float64),
                np.array([0, 1], np.int8),
            ],
        ),
        (s.Box([2], [0.0, -1.0], [1.0, 0.0]), [[1, 0], [0, -1]], [[0, 1], [-1, 0]]),
        (s.Box([]), [0, 1.5, -INF, np.array(2, np.float32)], [NAN, [0], "0"]),
        (
            s.Box([2], dtype="uint8"),
            [[0, 255], np.array([0, 255], np.uint8)],
            [[0, 256], [-1, 0], [0.0, 0.5], [True, False], np.array([0, 1], np.int8)],
        ),
        (s.Box([2], dtype="bool"), [[True, False]], [[0, 1], [0.5, 1.0]]),
        (s.Box([0], dtype="int8"), [[], np.zeros(0, np.int8)], [[1]]),
        (s.MultiDiscrete([2, 3]), [[1, 2], np.array([0, 0])], [[2, 0], [0, -1], [0], [0.0, 1.0]]),
        (s.MultiBinary([2, 2]), [[[0, 1], [1, 0]], np.eye(2)], [[0, 1], [[0, 2], [0, 0]]]),
        (s.Text(3, 1, "abc"), ["a", "cab"], ["", "abca", "d", b"a", 1, None]),
        (s.Text(2), ["", "éé"], ["ééé"]),
        (
            s.Tuple([s.Discrete(2), s.Text(1)]),
            [[1, "a"], (0, "")],
            [[1], [1, "a", 0], ["a", 1], {}, "1a"],
        ),
        (
            s.Dict({"a": s.Discrete(2), "b": s.Text(1)}),
            [{"a": 1, "b": ""}, {"b": "x", "a": 0}],
            [{"a": 1}, {"a": 1, "b": "", "c": 0}, [], {"a": 2, "b": ""}, {1: 1, "b": ""}],
        ),
    ],
)
def test_what_a_space_contains(space: Any, inside: list[Any], outside: list[Any]) -> None:
    for value in inside:
        assert space.contains(value), value
    for value in outside:
        assert not space.contains(value), value


@pytest.mark.parametrize(
    "space",
    [
        s.Box([2], [0.0, 0.0, 0.0], 1.0),
        s.Box([2], 0.0, [[1.0], [1.0, 2.0]]),
        s.Box([2], ["low", "low"], 1.0),
        s.Box([2], [None, None], 1.0),
        s.Box([2], [0.0], 1.0),
        s.Box([2], 0.0, [[1.0], [1.0]]),
    ],
)
def test_a_box_whose_bounds_make_no_sense_contains_nothing(space: Any) -> None:
    assert not space.contains([0.5, 0.5])


@pytest.mark.parametrize(
    ("n", "start"), [(1, 2**63), (2**63, 2**63 - 1), (2**64 - 1, 0), (3, -(2**63) - 1)]
)
def test_a_discrete_space_has_integers_of_64_bits(n: int, start: int) -> None:
    with pytest.raises(ValueError, match="has integers that are not -2"):
        s.Discrete(n, start)
    whole: Any = np.int64(4)
    assert s.Discrete(whole, whole).contains(7)
    assert s.Discrete(2**63).contains(2**63 - 1)
    assert s.Discrete(2**63, -(2**63)).contains(-(2**63))


SPACES = st.recursive(
    st.builds(s.Discrete, st.integers(1, 9), st.integers(-(2**40), 2**40))
    | st.builds(
        s.Box,
        st.lists(st.integers(0, 3), max_size=3),
        st.floats(allow_nan=False, max_value=0) | st.lists(st.floats(), max_size=3),
        st.floats(allow_nan=False, min_value=1),
        st.sampled_from(["float32", "float64", "int8", "uint64", "bool"]),
    )
    | st.builds(s.MultiDiscrete, st.lists(st.integers(1, 9), max_size=3))
    | st.builds(s.MultiBinary, st.lists(st.integers(0, 3), max_size=3))
    | st.builds(s.Text, st.integers(0, 9), st.integers(0, 3), st.none() | st.text(max_size=5)),
    lambda inner: (
        st.builds(s.Tuple, st.lists(inner, max_size=3))
        | st.builds(s.Dict, st.dictionaries(st.text(max_size=3), inner, max_size=3))
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.just(msgspec.msgpack.Ext(7, b"a"))
    | st.sampled_from([value for _, value in examples.values()]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@given(SPACES, VALUES)
def test_contains_never_raises(space: Any, value: Any) -> None:
    assert space.contains(value) in (True, False)


@given(SPACES)
def test_spaces_travel(space: Any) -> None:
    frame = codec.encode(space)
    assert codec.decode(frame)["space"] == type(space).__name__
    assert codec.encode(msgspec.msgpack.decode(frame, type=s.Space)) == frame
    read = msgspec.msgpack.decode(frame, type=s.Space)
    assert repr(read) == repr(space)


def test_a_value_that_goes_deeper_than_arrays_can_is_not_in_a_box() -> None:
    value: Any = 0
    for _ in range(100):
        value = [value]
    assert not s.Box([1]).contains(value)
