"""Limits are exact at the border, and are found without decoding."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dovetail.protocol import codec, limits
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.messages import Limits

WIDE = Limits(frame=1 << 20, depth=1 << 20, elements=1 << 20)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text()
    | st.binary() | st.builds(msgpack.ExtType, st.integers(2, 127), st.binary(max_size=40)),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=60,
)  # fmt: skip


def refused(frame: bytes, allowed: Limits) -> str | None:
    try:
        limits.check(frame, allowed)
    except ProtocolError as error:
        return error.code
    return None


def walked(frame: bytes, allowed: Limits = WIDE) -> str | None:
    try:
        limits.walk(frame, allowed)
    except ProtocolError as error:
        return error.code
    return None


def is_one_value(frame: bytes) -> bool:
    """Return whether ``msgpack`` finds exactly one value in a frame."""
    unpacker = msgpack.Unpacker(raw=True, strict_map_key=False)
    unpacker.feed(frame)
    try:
        unpacker.skip()
    except (msgpack.OutOfData, msgpack.FormatError, ValueError):
        return False
    return bool(unpacker.tell() == len(frame))


def size(tree: Any) -> int:
    """Return the number of values in a tree, keys included."""
    if isinstance(tree, list):
        return 1 + sum(map(size, tree))
    if isinstance(tree, dict):
        return 1 + sum(1 + size(each) for each in tree.values())
    return 1


def depth(tree: Any) -> int:
    """Return how many arrays and maps are open at once."""
    if isinstance(tree, list | dict):
        inner = tree.values() if isinstance(tree, dict) else tree
        return 1 + max(map(depth, inner), default=0)
    return 0


@settings(max_examples=500)
@given(st.binary(max_size=64))
@example(b"")
@example(b"\xc1")
@example(b"\xd4\x01")
@example(b"\xdf\xff\xff\xff\xff")
@pytest.mark.learners
def test_the_walk_agrees_with_msgpack_on_any_bytes(frame: bytes) -> None:
    assert walked(frame) == (None if is_one_value(frame) else "malformed")


@given(TREES, st.integers(0, 400), st.binary(max_size=2))
@pytest.mark.learners
def test_the_walk_agrees_with_msgpack_on_cut_and_longer_frames(
    tree: Any, cut: int, more: bytes
) -> None:
    frame = msgpack.packb(tree)
    assert walked(frame) is None
    frame = frame[: max(0, len(frame) - cut)] + more
    assert walked(frame) == (None if is_one_value(frame) else "malformed")


@pytest.mark.rule("S13.5")
@given(TREES)
@pytest.mark.learners
def test_limits_are_exact(tree: Any) -> None:
    frame = msgpack.packb(tree)
    exact = Limits(frame=len(frame), depth=max(1, depth(tree)), elements=size(tree))
    assert refused(frame, exact) is None
    assert walked(frame, exact) is None
    assert refused(frame + b"\xc0", exact) == "limit"
    if size(tree) > 1:
        assert refused(frame, Limits(len(frame), exact.depth, size(tree) - 1)) == "limit"
    if depth(tree) > 1:
        assert refused(frame, Limits(len(frame), depth(tree) - 1, size(tree))) == "limit"


@settings(max_examples=500)
@given(st.binary(max_size=64), st.integers(1, 8), st.integers(1, 64))
def test_the_fast_bound_lets_nothing_pass_that_the_walk_finds_too_large(
    frame: bytes, deep: int, many: int
) -> None:
    allowed = Limits(frame=64, depth=deep, elements=many)
    if walked(frame, allowed) == "limit":
        assert refused(frame, allowed) == "limit"
    if refused(frame, allowed) is None and is_one_value(frame):
        assert walked(frame, allowed) is None


def test_the_default_depth_is_exact() -> None:
    nested: Any = None
    for _ in range(32):
        nested = [nested]
    assert codec.decode(msgpack.packb(nested)) == nested
    with pytest.raises(ProtocolError, match="deeper than 32"):
        codec.decode(msgpack.packb([nested]))


def test_bytes_that_look_like_containers_count_for_nothing() -> None:
    text = b"\x91" * 100_000
    assert codec.decode(msgpack.packb([text] * 40)) == [text] * 40


def test_a_tensor_counts_as_one_value() -> None:
    tensor = msgpack.ExtType(1, msgpack.packb(["int8", [400], b"\x91" * 400]))
    assert refused(msgpack.packb([tensor]), Limits(depth=1, elements=2)) is None
