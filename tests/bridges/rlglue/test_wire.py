"""Bytes of the protocol's description, and bytes that are not the protocol's."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_bridges.rlglue import wire
from dovetail_bridges.rlglue.wire import Adt, Code, Frames, WireError

pytestmark = pytest.mark.fast

GOLDEN = [
    (Code.AGENT, b"", "00000002 00000000"),
    (Code.ENVIRONMENT, b"", "00000003 00000000"),
    (Code.EXPERIMENT, b"", "00000001 00000000"),
    (
        Code.ENV_INIT,
        wire.text("sample task spec"),
        "0000000b 00000014 00000010 73616d706c65207461736b2073706563",
    ),
    (
        Code.ENV_START,
        wire.packed(Adt([7, 8])),
        "0000000c 00000014 00000002 00000000 00000000 00000007 00000008",
    ),
    (
        Code.AGENT_STEP,
        wire.REWARD.pack(1.0) + wire.packed(Adt([3])),
        "00000006 00000018 3ff0000000000000 00000001 00000000 00000000 00000003",
    ),
    (
        Code.ENV_STEP,
        wire.OUTCOME.pack(0, 1.0) + wire.packed(Adt([3])),
        "0000000d 0000001c 00000000 3ff0000000000000 00000001 00000000 00000000 00000003",
    ),
    (
        Code.RL_STEP,
        wire.OUTCOME.pack(1, 1.0) + wire.packed(Adt([4])) + wire.packed(Adt([3])),
        "00000016 0000002c 00000001 3ff0000000000000 00000001 00000000 00000000 00000004"
        "00000001 00000000 00000000 00000003",
    ),
    (Code.RL_EPISODE, wire.LENGTH.pack(100), "0000001b 00000004 00000064"),
    (Code.RL_EPISODE, wire.INTEGER.pack(1), "0000001b 00000004 00000001"),
    (Code.RL_AGENT_MESSAGE, wire.text("one"), "00000021 00000007 00000003 6f6e65"),
    (Code.TERM, b"", "00000023 00000000"),
]


@pytest.mark.parametrize(("code", "payload", "expected"), GOLDEN)
def test_golden_vectors(code: Code, payload: bytes, expected: str) -> None:
    data = bytes.fromhex(expected)
    assert wire.frame(code, payload) == data
    frames = Frames()
    frames.feed(data)
    assert frames.take() == (code, payload)
    assert frames.take() is None


ADTS = st.builds(
    Adt,
    st.lists(st.integers(-(2**31), 2**31 - 1)).map(tuple),
    st.lists(st.floats(allow_nan=False)).map(tuple),
    st.binary(max_size=40),
)


@given(ADTS)
def test_what_is_packed_is_unpacked(adt: Adt) -> None:
    data = wire.packed(adt)
    assert wire.unpacked(data) == adt
    assert wire.unpacked(b"12345678" + data, 8) == adt
    counts = struct.pack(">III", len(adt.ints), len(adt.doubles), len(adt.chars))
    assert data[:12] == counts


@given(st.lists(st.tuples(st.integers(1, 40), st.binary(max_size=50))), st.data())
def test_frames_arrive_in_any_pieces(sent: list[tuple[int, bytes]], data: st.DataObject) -> None:
    stream = b"".join(wire.frame(code, payload) for code, payload in sent)
    frames, got = Frames(), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        frames.feed(stream[:cut])
        stream = stream[cut:]
        while (found := frames.take()) is not None:
            got.append(found)
    assert got == sent


@given(st.binary(max_size=60))
def test_rubbish_is_refused_and_allocates_nothing(data: bytes) -> None:
    for check in (wire.unpacked, wire.check_text, wire.check_outcome):
        with contextlib.suppress(WireError):
            check(data)


@pytest.mark.parametrize(
    "counts", [(1000, 0, 0), (0xFFFFFFFF,) * 3, (0, 2, 0), (0, 0, 1), (2_000_000, 0, 0)]
)
def test_counts_beyond_the_payload_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(WireError, match="announces"):
        wire.unpacked(struct.pack(">IIIi", *counts, 5))


def test_a_frame_beyond_the_limit_is_refused_at_its_header() -> None:
    frames = Frames()
    frames.feed(struct.pack(">iI", 5, 0x70000000))
    with pytest.raises(WireError, match="1,879,048,192 bytes; at most 67,108,864"):
        frames.take()


def test_an_integer_of_more_than_32_bits_cannot_be_sent() -> None:
    with pytest.raises(WireError, match="32 bits"):
        wire.packed(Adt([2**31]))


def test_texts_are_utf8_or_latin1() -> None:
    assert wire.text_of(wire.text("grün")) == "grün"
    assert wire.text_of(wire.text(b"gr\xfcn")) == "grün"
    assert wire.text("") == bytes(4)
