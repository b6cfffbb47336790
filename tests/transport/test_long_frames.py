"""Long frames: one buffer for each, whatever is announced, kept or broken off."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transport.packed import pack
from tests.transport.test_sockets import GREETED, Good, Pumped, connect
from tests.transport.test_websocket import WEB
from tests.transport.test_zmtp import met

from dovetail.protocol import codec
from dovetail.transport import websocket
from dovetail.transport.dealer import Dealer
from dovetail.transport.router import Router
from dovetail.transport.unsent import LARGE, Unsent
from dovetail.transport.websocket import WebWire
from dovetail.transport.zmtp import Wire, WireError

MOST = 1 << 24
M_MMAP_THRESHOLD = -3
"""Of mallopt(3)."""
LONG = 4_000_000
SIZES = st.lists(st.sampled_from([0, 3, 300, LARGE - 1, LARGE, LARGE + 1, 70_000]), max_size=5)


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Pumped]:
    made = Router(f"ipc://{tmp_path}/broker", MOST)
    yield Pumped(made)
    made.close(0.1)


@pytest.fixture
def good(router: Pumped) -> Iterator[Good]:
    made = Good(router)
    yield made
    made.close()


def growth(work: Callable[[], object]) -> int:
    """Return the most memory that Python held at once while it worked, beyond what it held."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def numbered(sizes: list[int]) -> list[bytes]:
    return [bytes([number + 1]) * size for number, size in enumerate(sizes)]


@given(SIZES)
@pytest.mark.fast
def test_parts_are_the_bytes_of_a_message_with_long_frames_as_they_are(sizes: list[int]) -> None:
    frames = numbered(sizes)
    for wire in (Wire(b"ROUTER", MOST), WebWire(MOST, WEB, (), "tcp://127.0.0.1:1")):
        parts = wire.parts(frames)
        web = b"".join(websocket._header(2, len(each)) + each for each in frames)
        assert b"".join(parts) == (pack(frames) if type(wire) is Wire else web)
        long = [frame for frame in frames if len(frame) >= LARGE]
        assert [part for part in parts if any(part is each for each in long)] == long


PIECES = st.lists(st.tuples(st.integers(1, 80_000), st.booleans()), max_size=12)


@given(SIZES, PIECES)
@pytest.mark.fast
def test_pieces_and_ways_to_hand_them_over_make_no_difference(
    sizes: list[int], pieces: list[tuple[int, bool]]
) -> None:
    wire, frames = met(most=MOST), numbered(sizes)
    stream, got = pack(frames), list[bytes]()
    for size, into_room in (*pieces, (len(stream), True), (len(stream), False)):
        if wire.room is not None and into_room:
            count = min(size, len(wire.room), len(stream))
            wire.room[:count] = stream[:count]
            got += wire.took(count)
        else:
            count = size
            got += wire.feed(stream[:size])
        stream = stream[count:]
    assert got == frames
    assert all(type(frame) is bytes for frame in got)


@pytest.mark.fast
def test_a_frame_for_which_there_is_no_memory_ends_its_connection() -> None:
    wire = met(most=1 << 62)
    with pytest.raises(WireError, match="for which there is no memory"):
        wire.feed(b"\x02" + (1 << 61).to_bytes(8, "big"))


def test_a_long_frame_is_received_in_little_more_than_its_size(router: Pumped) -> None:
    peer = Dealer(router.router.address, lambda: b"hello")
    while not router.frames:
        peer.receive(0.01)
        router.pump()
    [connection] = router.heard

    def receive() -> None:
        router.router.send(connection, [bytes(LONG)])
        while not peer.receive(0.01):
            router.pump()

    assert growth(receive) < 2.5 * LONG  # one of them is the frame that is sent
    peer.close(0.0)


def test_what_a_slow_reader_leaves_waits_as_it_is(router: Pumped, good: Good) -> None:
    with connect(router.router.address) as slow:
        slow.send(GREETED + pack([b"here"]))
        router.until(lambda: b"here" in router.frames)
        connection = next(name for name, frames in router.heard.items() if b"here" in frames)
        frame = bytes(LONG)
        assert growth(lambda: router.router.send(connection, [frame])) < LONG / 2
        assert router.router.waiting(connection) > LONG / 4
        good.echo()


def test_a_view_that_is_kept_keeps_its_frame_alone(router: Pumped) -> None:
    peer = Dealer(router.router.address, lambda: b"hello")
    while not router.frames:
        peer.receive(0.01)
        router.pump()
    [connection] = router.heard
    kept = []

    def play() -> None:
        for number in range(24):
            array = np.full(1_000_000, number, np.uint8)
            router.router.send(connection, [codec.encode(array)])
            while not (frames := peer.receive(0.01)):
                router.pump()
            seen = codec.decode(frames[0])
            assert not seen.flags.writeable
            if number % 12 == 0:
                kept.append(seen[:5])

    assert growth(play) < 10_000_000
    assert [view.tolist() for view in kept] == [[0] * 5, [12] * 5]
    peer.close(0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_frames_that_are_announced_and_come_by_the_byte_take_no_memory(
    router: Pumped, good: Good
) -> None:
    """A thousand at once announced 16 GB."""
    # A process reuses the memory that it has freed; this memory must come from the system.
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 20)
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connect(router.router.address)) for _ in range(60)]
        for each in slow:
            each.send(GREETED + pack([b"here"]))
        router.until(lambda: router.frames.count(b"here") == len(slow))
        before = resident()
        for each in slow:
            each.send(b"\x02" + MOST.to_bytes(8, "big") + b"x")
        for _ in range(5):
            for each in slow:
                each.send(b"x")
            good.echo()
        rooms = [connection.wire.room for connection in router.router._open.values()]
        assert sum(room is not None for room in rooms) == len(slow)
        assert resident() - before < 2 * MOST
    router.until(lambda: len(router.ended) == len(slow))  # each died in the middle of its frame
    good.echo()
    assert not {frame for frame in router.frames if len(frame) > 100}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_what_is_queued_leaves_in_order(tmp_path: Path) -> None:
    frames = numbered([3, LARGE, 10, 20, 300_000, 300_000, 5])
    sent: list[bytes] = []

    class Taking:
        """A socket that takes 100,001 bytes at a time."""

        def sendmsg(self, parts: list[memoryview], _: object, flags: int) -> int:
            data = b"".join(parts)[:100_001]
            sent.append(data)
            return len(data)

        def send(self, part: memoryview, flags: int) -> int:
            return self.sendmsg([part], (), flags)

    unsent = Unsent()
    unsent.add([b"gone", bytes(LARGE)], 4 + LARGE - 1)
    assert unsent.size == 1
    for frame in frames:
        unsent.add([frame])
    while unsent.size:
        unsent.send(Taking())  # type: ignore[arg-type]
    assert b"".join(sent) == b"\0" + b"".join(frames)
    unsent.send(Taking())  # type: ignore[arg-type]
    assert len(sent) == -(-(1 + sum(map(len, frames))) // 100_001)
