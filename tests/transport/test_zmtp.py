"""ZMTP without sockets: the vectors of the specification, and anything that a stranger may send."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transport.packed import pack, ready

from dovetail.transport import zmtp
from dovetail.transport.zmtp import Wire, WireError

pytestmark = pytest.mark.fast

# Figures 2 and 3 of https://rfc.zeromq.org/spec/23/: a greeting and a READY, byte by byte.
GREETING = bytes.fromhex("ff00000000000000017f03004e554c4c") + bytes(16) + bytes(1 + 31)
READY = bytes.fromhex(
    "0429" "055245414459" "0b536f636b65742d54797065" "00000006" "4445414c4552" "084964656e74697479"
    "00000000"
)  # fmt: skip
MOST = 1000


def met(kind: bytes = b"ROUTER", most: int = MOST) -> Wire:
    """Return a wire that is ready for messages."""
    wire = Wire(kind, most)
    wire.out.clear()
    other = b"DEALER" if kind == b"ROUTER" else b"ROUTER"
    assert wire.feed(GREETING + ready(other)) == []
    assert wire.ready
    wire.out.clear()
    return wire


def test_the_greeting_has_the_specified_form() -> None:
    assert len(zmtp.GREETING) == 64
    assert GREETING[:11] + b"\x01" + GREETING[12:] == zmtp.GREETING


def test_ready_has_the_specified_form() -> None:
    assert ready(b"DEALER") == READY


def test_ready_follows_the_peers_greeting() -> None:
    wire = Wire(b"ROUTER", MOST)
    assert bytes(wire.out) == zmtp.GREETING
    wire.out.clear()
    assert wire.feed(GREETING[:63]) == []
    assert not wire.out
    wire.feed(GREETING[63:])
    assert bytes(wire.out) == ready(b"ROUTER")
    assert not wire.ready
    wire.feed(READY)
    assert wire.ready


@pytest.mark.parametrize(
    ("frames", "data"),
    [
        ([b""], "0000"),
        ([b"hello"], "000568656c6c6f"),
        ([b"a", b"bc"], "010161" "00026263"),
        ([bytes(255)], "00ff" + "00" * 255),
        ([bytes(256)], "020000000000000100" + "00" * 256),
        ([bytes(256), b"z"], "030000000000000100" + "00" * 256 + "00017a"),
    ],
)  # fmt: skip
def test_messages_have_the_specified_form(frames: list[bytes], data: str) -> None:
    assert pack(frames) == bytes.fromhex(data)
    assert met().feed(bytes.fromhex(data)) == frames


def test_a_ping_is_answered_with_its_context() -> None:
    wire = met()
    assert wire.feed(bytes.fromhex("04070450494e470064")) == []
    assert bytes(wire.out) == bytes.fromhex("040504504f4e47")
    wire.out.clear()
    # libzmq sends one between the parts of a message, too.
    ping = zmtp.command(b"PING", b"\x00\x64abc")
    assert wire.feed(b"\x01\x01a" + ping + b"\x00\x01b") == [b"a", b"b"]
    assert bytes(wire.out) == zmtp.command(b"PONG", b"abc")


def test_an_unknown_command_means_nothing() -> None:
    wire = met()
    for name in (b"PONG", b"SUBSCRIBE", b"FUTURE"):
        assert wire.feed(zmtp.command(name, bytes(300))) == []
    assert not wire.out


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "not a ZeroMQ peer"),
        (b"\xff" + bytes(9), "not a ZeroMQ peer"),
        (GREETING[:10] + b"\x01\x00", "version 1 of ZMTP"),
        (GREETING[:12] + b"CURVE".ljust(20, b"\0"), "mechanism 'CURVE'"),
        (GREETING + pack([b"early"]), "before READY"),
        (GREETING + zmtp.command(b"PING", b"\0\0"), "PING came before READY"),
        (GREETING + ready(b"SUB"), "type SUB cannot talk to ROUTER; use DEALER"),
        (GREETING + zmtp.command(b"READY"), "type unknown"),
        (GREETING + zmtp.command(b"READY", b"\x0bSocket-Type\xff\xff\xff\xff"), "longer than"),
        (GREETING + zmtp.command(b"READY", b"\x0b"), "longer than"),
        (GREETING + zmtp.error("no entry"), "the other side says: no entry"),
        (GREETING + zmtp.error("no\n12:00 \x1b[2Jentry"), "the other side says: no 12:00 entry"),
        (GREETING + zmtp.command(b"NO\nSUCH"), "NO SUCH"),
        (GREETING + READY + b"\x08\x00", "flags 0x08"),
        (GREETING + READY + b"\x05\x01a", "flags 0x05"),
        (GREETING + READY + b"\x04\x00", "without a name"),
        (GREETING + READY + b"\x04\x02\x09a", "without a name"),
        (GREETING + READY + zmtp.command(b"PING", b"\0"), "time to live"),
        (GREETING + READY + b"\x02" + (MOST + 1).to_bytes(8, "big"), "at most 1,000"),
        (GREETING + READY + b"\x02" + (1 << 63).to_bytes(8, "big"), "at most 1,000"),
        (GREETING + READY + b"\x06" + (1 << 63).to_bytes(8, "big"), "a command of"),
    ],
)
def test_what_is_wrong_is_said_at_once(data: bytes, text: str) -> None:
    whole, pieces = Wire(b"ROUTER", MOST), Wire(b"ROUTER", MOST)
    with pytest.raises(WireError, match=text):
        whole.feed(data)

    def feed_bytes() -> None:
        for index in range(len(data)):
            pieces.feed(data[index : index + 1])

    with pytest.raises(WireError, match=text):
        feed_bytes()


FRAMES = st.lists(
    st.binary(max_size=20) | st.integers(250, 1000).map(lambda size: bytes(size)), max_size=8
)


@given(st.lists(FRAMES.filter(bool), max_size=6), st.lists(st.integers(1, 600), min_size=1))
def test_frames_arrive_whole_however_they_are_cut(
    messages: list[list[bytes]], cuts: list[int]
) -> None:
    sent = GREETING + ready(b"DEALER") + b"".join(map(pack, messages))
    wire = Wire(b"ROUTER", MOST)
    found: list[bytes] = []
    sizes = itertools.cycle(cuts)
    while sent:
        size = next(sizes)
        found += wire.feed(sent[:size])
        sent = sent[size:]
    assert found == [frame for message in messages for frame in message]


PARTS = st.one_of(
    st.binary(max_size=70),
    FRAMES.filter(bool).map(pack),
    st.sampled_from([GREETING, READY, zmtp.error("x"), zmtp.command(b"PING", b"\0\x01ab")]),
    st.tuples(st.integers(0, 255), st.integers(0, (1 << 64) - 1)).map(
        lambda pair: pair[0].to_bytes() + pair[1].to_bytes(8, "big")
    ),
    st.tuples(st.binary(max_size=12), st.binary(max_size=30)).map(lambda pair: zmtp.command(*pair)),
)


@given(st.booleans(), st.lists(PARTS, max_size=12))
def test_anything_gives_frames_or_one_kind_of_error(begun: bool, parts: list[bytes]) -> None:
    wire = met() if begun else Wire(b"ROUTER", MOST)
    with contextlib.suppress(WireError):
        for part in parts:
            for frame in wire.feed(part):
                assert len(frame) <= MOST


def test_a_large_frame_in_small_pieces_takes_time_in_proportion() -> None:
    wire = met(most=1 << 26)
    data = pack([bytes(1 << 24)])
    found: list[bytes] = []
    for start in range(0, len(data), 1 << 12):
        found += wire.feed(data[start : start + (1 << 12)])
    assert found == [bytes(1 << 24)]
