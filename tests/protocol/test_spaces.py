"""Members of spaces, values that never make ``contains`` raise, and masks of legal actions."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.conform.values import tensors_of_every_kind
from dovetail.protocol import codec, columns, legal
from dovetail.protocol import spaces as s
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.spaces import Box, Discrete
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


FRAME = 16 * 1024 * 1024
PIECE = legal._PIECE
LITTLE = 300_000
"""Bytes that a question about a mask of 16 MB may take."""


@given(st.sets(st.integers(0, 300)), st.integers(0, 5))
def test_a_mask_says_what_the_list_says(actions: set[int], zeros: int) -> None:
    mask, found = legal.mask(actions, 301) + bytes(zeros), sorted(actions)
    assert legal.unmask(mask) == found
    assert legal.count(mask) == len(found)
    assert legal.empty(mask) == (not found)
    assert [legal.nth(mask, place) for place in range(len(found))] == found
    assert [each for each in range(-10, 400) if legal.in_mask(mask, each)] == found
    assert legal.shown(mask) == legal.shown(found)
    with pytest.raises(IndexError):
        legal.nth(mask, len(found))


@given(st.sets(st.integers(0, 5 * 8 * PIECE - 1), min_size=1, max_size=20))
def test_of_more_than_one_piece(actions: set[int]) -> None:
    mask, found = legal.mask(actions, 5 * 8 * PIECE), sorted(actions)
    assert legal.unmask(mask) == found
    assert legal.count(mask) == len(found)
    assert [legal.nth(mask, place) for place in range(len(found))] == found
    assert legal.shown(mask) == legal.shown(found)


def test_ten_actions_are_shown() -> None:
    assert legal.shown(list(range(10))) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert legal.shown(list(range(20, 31))).endswith("28, 29, ... (11 in all)")
    assert legal.shown(bytes([255] * 1000)).endswith("8, 9, ... (8,000 in all)")
    assert legal.shown([]) == legal.shown(bytes(3)) == ""


@pytest.fixture(params=["all", "only the last", "none"])
def frame(request: pytest.FixtureRequest) -> bytes:
    """A mask as large as a frame."""
    return {
        "all": b"\xff" * FRAME,
        "only the last": bytes(FRAME - 1) + b"\x80",
        "none": bytes(FRAME),
    }[request.param]


@pytest.mark.parametrize(
    "ask",
    [
        legal.count,
        legal.empty,
        legal.shown,
        lambda mask: legal.nth(mask, legal.count(mask) - 1) if any(mask[-1:]) else None,
        lambda mask: legal.problem(mask, Discrete(8 * FRAME)),
        lambda mask: legal.problem(mask, Discrete(2)),
        lambda mask: legal.problem(mask, Box([1])),
    ],
)
def test_a_question_about_a_frame_full_of_actions_is_cheap(
    ask: Callable[[bytes], Any], frame: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = []
    build = legal._actions

    def counted(part: bytes) -> list[int]:
        lists.append(len(part))
        return build(part)

    monkeypatch.setattr(legal, "_actions", counted)
    tracemalloc.start()
    try:
        ask(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LITTLE + 40 * 8 * PIECE  # the actions of one piece, as a list
    assert sum(lists) <= PIECE


def test_a_mask_beyond_the_contract_is_not_expanded() -> None:
    assert legal.unmask(bytes(legal.LARGEST - 1) + b"\x80") == [8 * legal.LARGEST - 1]
    for mask in (bytes(legal.LARGEST + 1), b"\xff" * FRAME):
        tracemalloc.start()
        try:
            with pytest.raises(ProtocolError, match="bytes long; at most 131,072 are allowed"):
                legal.unmask(mask)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < LITTLE


@pytest.mark.parametrize(
    ("mask", "space", "wrong"),
    [
        (b"\x01", Discrete(1), None),
        (b"\x01\x01", Discrete(9), None),
        (b"\x01\x01", Discrete(8), "is 2 bytes long; its action space needs at most 1"),
        (b"\x02\x01", Discrete(8, 1), None),
        (b"\x01", Discrete(3, -1), None),
        (b"\x01", Discrete(3, -3), "is 1 bytes long; its action space needs at most 0"),
        (b"\x01" * legal.LARGEST, Discrete(2**20), None),
        (b"\x01" * legal.LARGEST, Discrete(2**60), None),
        (
            b"\x01" * (legal.LARGEST + 1),
            Discrete(2**60),
            "is 131,073 bytes long; at most 131,072 are allowed, so send a list instead",
        ),
        (b"\x01" * (legal.LARGEST + 1), Box([1]), "is 131,073 bytes long; at most 131,072"),
        (b"", Discrete(8), "allows no action"),
        (bytes(9), Discrete(100), "allows no action"),
    ],
)
def test_what_is_wrong_with_a_mask(mask: bytes, space: Any, wrong: str | None) -> None:
    found = legal.problem(mask, space)
    assert found is None if wrong is None else str(found).startswith(wrong)


MANY = st.integers(0, 23) | st.sampled_from([-1, 24, 1 << 62, -(1 << 63), (1 << 63) - 1])


@given(st.lists(st.tuples(st.binary(min_size=3, max_size=3), MANY)))
def test_many_masks_allow_what_each_allows(rows: list[tuple[bytes, int]]) -> None:
    masks = np.array([list(mask) for mask, _ in rows], np.uint8).reshape(-1, 3)
    found = columns.allows(masks, np.array([action for _, action in rows], np.int64))
    assert found.tolist() == [legal.in_mask(mask, action) for mask, action in rows]
