"""Members of spaces, and values that never make ``contains`` raise."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.conform.values import tensors_of_every_kind
from dovetail.protocol import codec
from dovetail.protocol import spaces as s
from dovetail_generate import examples


def test_what_a_space_contains() -> None:
    """The answer that every language must give, of a value as it is and as it comes over a wire."""
    for space, value, member in examples.members():
        assert space.contains(value) is member, (space, value)
        received = codec.decode(codec.encode(value))
        assert space.contains(received) is member, (space, received)
        sent: Any = msgspec.convert(codec.decode(codec.encode(space)), s.Space)
        assert sent.contains(received) is member, (sent, received)


def test_what_only_python_has_counts_as_it_travels() -> None:
    assert s.Discrete(3).contains(np.int64(1))
    assert not s.Discrete(3).contains(2**70)
    assert not s.Discrete(3).contains(np.bool_(True))
    assert s.Box([], 0, 0.1).contains(np.float64(0.1))
    assert s.Box([2], 0, 1).contains((np.float64(0.5), np.int8(1)))
    assert not s.Box([2], 0, 1).contains([np.bool_(True), 0.5])
    assert s.Box([], 0, 10**400).contains(10**399)  # no float of 64 bits holds either
    assert not s.Box([], 0, 1).contains(10**400)
    assert not s.MultiDiscrete([2]).contains([2**70])
    assert not s.Dict({"1": s.Discrete(2)}).contains({1: 1})
    with pytest.raises(ValueError, match="low of Box must be a number"):
        s.Box([2], False, True, "bool")


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
    | st.sampled_from([value for _, value in tensors_of_every_kind()]),
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


@pytest.mark.parametrize("shape", [[0] * 65, [0, 2**63], [0, 2**62, 2**62], [0] * 80_000])
def test_a_shape_that_numpy_cannot_have_is_one_of_nested_arrays(shape: list[int]) -> None:
    for space in (s.Box(shape), s.Box(shape, low=[]), s.MultiBinary(shape)):
        assert space.contains([])
        assert not space.contains([0])
        assert not space.contains(np.zeros(1, np.float32))


@pytest.mark.parametrize(
    ("element", "value"),
    [
        (s.Text(1, charset="".join(map(chr, range(0x10000, 0x40000)))), "\U0003ffff"),
        (s.Box([], [0.0] * 50_000), 0.5),
        (s.Box([50_000], [0.0] * 50_000), [0.5]),
        (s.Box([0] + [1] * 50_000), []),
    ],
)
def test_a_large_space_is_not_read_again_for_every_element(element: Any, value: Any) -> None:
    """Reading it once for each of 2,000 elements takes minutes, in which a broker does no more."""
    space = s.Sequence(element, max_length=10_000)
    began = time.process_time()
    space.contains([value] * 2_000)
    assert time.process_time() - began < 5
