"""Router and Dealer over real sockets: what a bad peer costs, and that no other peer waits for
it."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zmq
from tests.transport.packed import pack, ready

from dovetail import transport
from dovetail.protocol.errors import DovetailError
from dovetail.transport import dealer as dealer_module
from dovetail.transport import router as router_module
from dovetail.transport import zmtp
from dovetail.transport.dealer import Dealer
from dovetail.transport.endpoint import Listener
from dovetail.transport.lines import KNOWN
from dovetail.transport.router import Router

MOST = 1 << 20
GREETED = zmtp.GREETING + ready(b"DEALER")
SOON = 30.0
"""Seconds for what must happen, on a busy machine."""
HEARTBEAT = 2000
"""Milliseconds without an answer after which libzmq gives a connection up; a busy machine takes
less."""


class Pumped:
    """A router, what came over it, and what answers each frame."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self.heard: dict[bytes, list[bytes]] = {}
        self.ended: list[bytes] = []

    def pump(self, timeout: float = 0.01) -> None:
        for connection, frames in self.router.receive(timeout):
            if frames is None:
                self.ended.append(connection)
                continue
            self.heard.setdefault(connection, []).extend(frames)
            for frame in frames:
                if frame.startswith(b"echo"):
                    self.router.send(connection, [frame])

    def until(self, true: Callable[[], Any]) -> None:
        end = time.monotonic() + SOON
        while not true():
            assert time.monotonic() < end
            self.pump()

    @property
    def frames(self) -> list[bytes]:
        return [frame for frames in self.heard.values() for frame in frames]


@pytest.fixture(params=["tcp", "ipc"])
def bind(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "tcp://127.0.0.1:*" if request.param == "tcp" else f"ipc://{tmp_path}/broker"


@pytest.fixture
def router(bind: str) -> Iterator[Pumped]:
    made = Router(bind, MOST)
    yield Pumped(made)
    made.close(0.1)


def connect(address: str) -> socket.socket:
    """Return a plain socket that is connected to a router."""
    if address.startswith("ipc://"):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.connect(address.removeprefix("ipc://"))
    else:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        made = socket.create_connection((host, int(port)))
    made.settimeout(0.0)
    return made


class Good:
    """A peer that has done nothing wrong, and must not wait."""

    def __init__(self, there: Pumped) -> None:
        self.there = there
        self.socket = connect(there.router.address)
        self.wire = zmtp.Wire(b"DEALER", MOST)
        self.socket.send(GREETED)
        self.count = 0
        self.echo()

    def echo(self) -> None:
        """Say something and wait for the answer."""
        self.count += 1
        wanted = b"echo %d" % self.count
        self.socket.send(pack([wanted]))
        heard: list[bytes] = []

        def answered() -> bool:
            with contextlib.suppress(BlockingIOError):
                heard.extend(self.wire.feed(self.socket.recv(1 << 16)))
            return wanted in heard

        self.there.until(answered)

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def good(router: Pumped) -> Iterator[Good]:
    made = Good(router)
    yield made
    made.close()


def read_to_the_end(there: Pumped, made: socket.socket) -> bytes:
    """Return all that a router sends until it closes the connection."""
    data = bytearray()

    def ended() -> bool:
        try:
            got = made.recv(1 << 16)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True
        data.extend(got)
        return not got

    there.until(ended)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "line", "told"),
    [
        (b"GET / HTTP/1.1\r\n\r\n" + bytes(1000), "not a ZeroMQ peer", False),
        (zmtp.GREETING[:20] + b"rubbish" * 100, "security mechanism", False),
        (zmtp.GREETING + b"rubbish" * 100, "the flags 0x72", True),
        (GREETED + b"\xff" * 100, "the flags 0xff", True),
        (
            GREETED + b"\x02" + (1 << 63).to_bytes(8, "big"),
            "a frame of 9,223,372,036,854,775,808",
            True,
        ),
    ],
)
def test_a_peer_that_breaks_the_protocol_is_told_and_closed(
    router: Pumped, good: Good, caplog: pytest.LogCaptureFixture, data: bytes, line: str, told: bool
) -> None:
    with connect(router.router.address) as bad:
        bad.send(data)
        said = read_to_the_end(router, bad)
    assert (line.encode() in said) is told
    [record] = [each.getMessage() for each in caplog.records]
    assert line in record
    assert "\n" not in record
    good.echo()
    assert len(router.ended) == 1


def test_a_peer_that_sends_a_byte_at_a_time_is_given_up_and_keeps_nobody_waiting(
    router: Pumped, good: Good, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "HANDSHAKE", 0.3)
    with connect(router.router.address) as slow:
        sent = 0
        began = time.monotonic()
        while not router.ended:
            if sent < 60 and time.monotonic() - began > sent * 0.02:
                slow.send(zmtp.GREETING[sent : sent + 1])
                sent += 1
            good.echo()
        assert time.monotonic() - began < SOON
    assert "did not greet within 0.3 s" in caplog.text


def test_a_peer_that_says_nothing_is_given_up(
    router: Pumped, good: Good, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "FIRST", 0.2)
    with connect(router.router.address) as mute:
        mute.send(GREETED)
        router.until(lambda: router.ended)
    assert "did not say anything" in caplog.text
    good.echo()


def test_a_frame_of_any_length_comes_in_any_pieces(router: Pumped) -> None:
    data = GREETED + pack([b"a" * MOST, b"b"])
    with connect(router.router.address) as made:
        while data:
            try:
                data = data[made.send(data[:50_000]) :]
            except BlockingIOError:
                router.pump()
        router.until(lambda: len(router.frames) == 2)
    assert router.frames == [b"a" * MOST, b"b"]


def test_frames_that_are_not_complete_have_so_many_bytes_in_all(
    router: Pumped, good: Good, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "INCOMPLETE", 200_000)
    beginning = GREETED + pack([b"x" * 90_000])[:-1]
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(connect(router.router.address)) for _ in range(3)]
        for each in made:
            left = beginning
            while left:
                with contextlib.suppress(BlockingIOError):
                    left = left[each.send(left) :]
                router.pump()
            good.echo()
            router.until(lambda: sum(router.router._began.values()) >= 80_000)
        router.until(lambda: router.ended)
        assert "bytes of a frame that is not complete" in caplog.text
        for each in made[1:]:
            each.send(b"x")
        router.until(lambda: len([frame for frame in router.frames if len(frame) == 90_000]) == 2)
        assert len(router.ended) == 1
        router.until(lambda: not router.router._incomplete)
    good.echo()


def test_lines_about_peers_that_have_a_session_are_counted(
    router: Pumped, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(KNOWN + 20):
        with connect(router.router.address) as bad:
            bad.send(GREETED + pack([b"hello"]))
            router.until(lambda: router.heard)
            [connection] = router.heard
            router.router.authenticate(connection)
            router.heard.clear()
            bad.send(b"\xff" * 20)
            router.until(lambda: router.ended)
            router.ended.clear()
    assert len(caplog.records) == KNOWN


def test_a_flood_gives_the_others_their_turns(router: Pumped, good: Good) -> None:
    flood = pack([b"x"] * 50_000)
    with connect(router.router.address) as made:
        made.send(GREETED)
        rest = flood
        turns = 0
        while rest or len(router.frames) < 50_000:
            if rest:
                with contextlib.suppress(BlockingIOError):
                    rest = rest[made.send(rest) :]
            before = len(router.frames)
            good.echo()
            turns += 1
            assert len(router.frames) - before <= 10 * router_module.FRAMES
    assert turns >= 5


@pytest.mark.rule("S3.8")
def test_a_peer_that_never_reads_is_not_read_and_in_the_end_closed(
    router: Pumped, good: Good, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "FULL", 1 << 16)
    monkeypatch.setattr(router_module, "LOST", 1 << 22)
    with connect(router.router.address) as deaf:
        deaf.send(GREETED + pack([b"here"]))
        router.until(lambda: b"here" in router.frames)
        [connection] = [each for each, frames in router.heard.items() if b"here" in frames]
        while router.router.waiting(connection) < router_module.FULL:
            router.router.send(connection, [bytes(60_000)])
        deaf.send(pack([b"unread"]))
        for _ in range(10):
            good.echo()
        assert b"unread" not in router.frames
        while connection not in router.ended:
            router.router.send(connection, [bytes(60_000)])
            router.pump(0.0)
        good.echo()
    assert "does not read" in caplog.text


def test_a_peer_that_reads_again_is_read_again(
    router: Pumped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "FULL", 1 << 16)
    with connect(router.router.address) as made:
        made.send(GREETED + pack([b"here"]))
        router.until(lambda: router.frames)
        [connection] = router.heard
        sent = 0
        while router.router.waiting(connection) < router_module.FULL:
            router.router.send(connection, [bytes(60_000)])
            sent += 1
        made.send(pack([b"later"]))
        wire = zmtp.Wire(b"DEALER", MOST)
        got: list[bytes] = []

        def all_came() -> bool:
            with contextlib.suppress(BlockingIOError):
                got.extend(wire.feed(made.recv(1 << 16)))
            return len(got) == sent and b"later" in router.frames

        router.until(all_came)
        assert got == [bytes(60_000)] * sent


def test_what_came_before_a_pause_is_handed_over_as_soon_as_it_is_over(
    router: Pumped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "FRAMES", 1)
    with connect(router.router.address) as made:
        made.send(GREETED + pack([b"first", b"second"]))
        router.until(lambda: router.frames)
        assert router.frames == [b"first"]
        [connection] = router.heard
        router.router.pause(connection, 0.0)
        assert router.router.receive(SOON) == [(connection, [b"second"])]


@pytest.mark.parametrize("control", [zmtp.command(b"PING", b"\0\0"), zmtp.command(b"X")])
def test_control_frames_in_great_number_end_the_connection(
    router: Pumped, control: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    good = Good(router)
    with connect(router.router.address) as made:
        made.send(GREETED + control * (zmtp.CONTROLS + 1))
        router.until(lambda: router.ended)
    good.echo()
    assert "more than 1,000 control frames at once" in caplog.text


def test_a_connection_gets_little_time_for_control_frames(router: Pumped) -> None:
    """They are no messages, so that the broker cannot charge their peer for them."""
    good = Good(router)
    with connect(router.router.address) as made:
        made.send(GREETED)
        heard = bytearray()
        for count in (1, 2, 3):

            def answered(size: int = 900 * 7 * count) -> bool:
                with contextlib.suppress(BlockingIOError):
                    heard.extend(made.recv(1 << 16))
                return heard.count(b"PONG") * 7 >= size

            made.send(zmtp.command(b"PING", b"\0\0") * 900)
            router.until(answered)
        made.send(pack([b"later"]))
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            good.echo()
        assert b"later" not in router.frames
        router.until(lambda: b"later" in router.frames)


def test_a_connection_gets_little_time_for_bytes_that_complete_nothing(
    router: Pumped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "ATTENTION", 1e-6)  # whatever else the machine does
    good = Good(router)
    with connect(router.router.address) as made:
        made.send(GREETED + b"\x02" + (1 << 19).to_bytes(8, "big"))
        router.until(lambda: len(router.router._open) == 2)
        connection = list(router.router._open.values())[-1]

        def paused() -> bool:
            with contextlib.suppress(BlockingIOError):
                made.send(b"x")
            return connection in router.router._paused

        router.until(paused)
        good.echo()


def test_peers_that_ask_for_too_much_wait_longer_where_there_are_many(router: Pumped) -> None:
    peers = [Good(router) for _ in range(9)]
    waits = []
    for connection in list(router.heard):
        router.router.pause(connection, 100.0)
        [*_, until] = router.router._paused.values()
        waits.append(until - time.monotonic())
    assert all(99.0 < each <= 100.0 for each in waits[:4])
    assert 250.0 < waits[-1] < 270.0
    assert len(peers) == 9


def test_newcomers_pay_for_what_a_new_peer_owes(router: Pumped) -> None:
    """It could leave, and come again over a connection that owes nothing."""
    good = Good(router)
    [connection] = router.heard
    router.router.pause(connection, 10.0)
    assert not router.router._exhausted  # it has been here for long, or has no session
    router.router.authenticate(connection)
    router.router.pause(connection, 10.0)
    assert router.router._exhausted
    assert good.count == 1


def connected(made: socket.socket, path: str) -> bool:
    return made.connect_ex(path) == 0


def test_five_thousand_connections(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as this process may have: each costs two descriptors here, one in a broker."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 5000 if hard == resource.RLIM_INFINITY else min(5000, (hard - 300) // 2)
    limit = wanted * 4 // 5
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * wanted + 300), hard))
    monkeypatch.setattr(router_module, "HANDSHAKE", 300.0)  # nobody leaves before all are there
    there = Pumped(Router(f"ipc://{tmp_path}/broker", MOST, limit))
    there.router.relax(True)  # as a broker that plays nothing: strangers have all the time
    crowd: list[socket.socket] = []
    try:
        good = Good(there)
        for _ in range(wanted):
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.setblocking(False)
            crowd.append(made)
            there.until(partial(connected, made, f"{tmp_path}/broker"))
        good.echo()
        refused = read_to_the_end(there, crowd[limit - 1])
        assert b"accepts no more" in refused
        assert len(caplog.records) == 1
        for made in crowd:
            made.close()
        there.until(lambda: len(there.ended) == limit - 1)
        Good(there).close()
        good.echo()
        good.close()
    finally:
        for made in crowd:
            made.close()
        there.router.close(0.1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_descriptors_left_is_one_line_and_passes(
    router: Pumped, good: Good, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "PAUSE", 0.1)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with connect(router.router.address) as other:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        try:
            for _ in range(5):
                good.echo()
            router.until(lambda: caplog.records)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert "raise the limit" in caplog.text
        other.send(GREETED + pack([b"in at last"]))
        router.until(lambda: b"in at last" in router.frames)


# -- addresses -------------------------------------------------------------------------------------


def test_a_socket_file_that_a_dead_broker_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "broker"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    made = Router(f"ipc://{path}", MOST)
    connect(made.address).close()
    made.close(0.0)
    assert not path.exists()


def test_an_address_in_use_is_refused_in_one_line(bind: str) -> None:
    made = Router(bind, MOST)
    with pytest.raises(DovetailError, match="is another broker running") as caught:
        Router(made.address, MOST)
    assert "\n" not in str(caught.value)
    connect(made.address).close()  # the first one still listens
    made.close(0.0)


def test_a_file_that_is_not_a_socket_stays(tmp_path: Path) -> None:
    path = tmp_path / "broker"
    path.write_text("mine")
    with pytest.raises(DovetailError, match="cannot listen"):
        Router(f"ipc://{path}", MOST)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    "address",
    ["nonsense", "tcp://", "tcp://host", "tcp://:5", "tcp://h:99999", "tcp://h:-1", "udp://h:1",
     "ipc://", "ipc://" + "x" * 200, "tcp://h:٣", "ipc://a\0b", "tcp://127.0.0.1:*"],
)  # fmt: skip
def test_what_is_not_an_address_is_one_line(address: str) -> None:
    with pytest.raises(DovetailError) as caught:
        Dealer(address, lambda: b"")
    assert "\n" not in str(caught.value)


def test_an_unknown_host_is_one_line() -> None:
    with pytest.raises(DovetailError, match="cannot listen"):
        Router("tcp://no-such-host.invalid:5", MOST)
    with pytest.raises(DovetailError, match="cannot listen"):
        Router(f"tcp://{'x' * 70}.invalid:5", MOST)
    made = Dealer(f"tcp://{'x' * 70}.invalid:5", lambda: b"")
    assert made.receive(0.05) == []
    assert made.trouble
    made.close(0.0)


def test_the_transport_is_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(transport.VARIABLE, "carrier pigeon")
    with pytest.raises(DovetailError, match="expected zmtp or libzmq"):
        transport.connect("tcp://127.0.0.1:1", lambda: b"")


# -- the dealer ------------------------------------------------------------------------------------


def pumping(there: Pumped) -> tuple[threading.Event, threading.Thread]:
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            there.pump(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    return over, thread


def hear(made: Dealer, frames: int) -> list[bytes]:
    heard: list[bytes] = []
    end = time.monotonic() + SOON
    while len(heard) < frames:
        assert time.monotonic() < end
        heard += made.receive(0.1)
    return heard


def test_a_dealer_comes_before_its_router_and_after_the_next_one(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/broker"
    greetings: list[bytes] = []

    def greet() -> bytes:
        greetings.append(b"echo hello %d" % len(greetings))
        return greetings[-1]

    made = Dealer(address, greet)
    assert made.receive(0.1) == []
    assert made.trouble
    for turn in range(2):
        there = Pumped(Router(address, MOST))
        over, thread = pumping(there)
        assert hear(made, 1) == [b"echo hello %d" % turn]
        made.send([b"echo a", b"echo b"])
        assert hear(made, 2) == [b"echo a", b"echo b"]
        over.set()
        thread.join()
        there.router.close()
    made.close(0.1)
    assert len(greetings) == 2


@pytest.mark.rule("S3.8")
def test_both_sides_send_much_before_either_reads_and_keep_the_order(router: Pumped) -> None:
    made = Dealer(router.router.address, lambda: b"echo hello")
    over, thread = pumping(router)
    try:
        assert hear(made, 1) == [b"echo hello"]
        frames = [b"echo%02d" % number + bytes(MOST - 6) for number in range(32)]
        for frame in frames:
            made.send([frame])
        assert hear(made, 32) == frames
    finally:
        made.close(1.0)
        over.set()
        thread.join()


def test_a_broker_that_reads_nothing_is_given_up(router: Pumped) -> None:
    made = Dealer(router.router.address, lambda: b"echo hello")
    made.patience = 0.05
    over, thread = pumping(router)
    assert hear(made, 1) == [b"echo hello"]
    over.set()
    thread.join()
    made.send([bytes(MOST)] * 32)
    assert made.trouble == "the broker read nothing for 0.05 s"
    assert not made.ready
    made.close(0.0)


@pytest.mark.rule("S11.4")
def test_a_broker_that_sends_and_does_not_read_is_given_up(
    bind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealer_module, "UNREAD", 1 << 16)
    listener = Listener(bind)
    over = threading.Event()

    def flood() -> None:
        listener.socket.setblocking(True)
        there, _ = listener.socket.accept()
        with there, contextlib.suppress(OSError):
            there.settimeout(SOON)
            there.sendall(zmtp.GREETING + ready(b"ROUTER"))
            while not over.is_set():
                there.sendall(pack([b"x" * 1000] * 10))

    thread = threading.Thread(target=flood)
    thread.start()
    made = Dealer(listener.address, lambda: b"hello")
    try:
        hear(made, 1)
        made.send([bytes(MOST)] * 32)
        assert made.trouble == dealer_module.DEAF
        assert not made.ready
    finally:
        over.set()
        made.close(0.0)
        listener.close()
        thread.join()


def test_what_was_sent_before_close_arrives(router: Pumped) -> None:
    made = Dealer(router.router.address, lambda: b"echo hello")
    over, thread = pumping(router)
    assert hear(made, 1) == [b"echo hello"]
    made.send([bytes(MOST)] * 8 + [b"bye"])
    made.close(SOON)
    over.set()
    thread.join()
    router.until(lambda: router.ended)
    assert router.frames == [b"echo hello", *[bytes(MOST)] * 8, b"bye"]


def test_what_was_sent_before_the_router_closed_arrives(bind: str) -> None:
    there = Pumped(Router(bind, MOST))
    made = Dealer(there.router.address, lambda: b"echo hello")
    over, thread = pumping(there)
    assert hear(made, 1) == [b"echo hello"]
    over.set()
    thread.join()
    made.send([b"unread"])
    there.router.send(next(iter(there.heard)), [bytes(MOST)] * 8 + [b"bye"])
    closing = threading.Thread(target=there.router.close, args=(SOON,))
    closing.start()
    heard = hear(made, 9)
    assert heard[-1] == b"bye"
    closing.join()
    made.close(0.0)


def test_a_program_that_is_not_a_broker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealer_module, "HANDSHAKE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = Dealer(f"tcp://127.0.0.1:{server.getsockname()[1]}", lambda: b"hello")
        made.receive(0.15)
        assert "does not answer as a ZeroMQ socket does" in made.trouble
        made.close(0.0)


def test_the_routers_reason_reaches_the_dealer(tmp_path: Path) -> None:
    there = Pumped(Router(f"ipc://{tmp_path}/broker", MOST, connections=0))
    over, thread = pumping(there)
    made = Dealer(there.router.address, lambda: b"hello")
    made.receive(0.3)
    assert "accepts no more" in made.trouble
    made.close(0.0)
    over.set()
    thread.join()
    there.router.close(0.0)


# -- libzmq at the other end -----------------------------------------------------------------------


@pytest.mark.rule("S3.8")
def test_libzmq_dealers_and_their_heartbeats(router: Pumped) -> None:
    context = zmq.Context()
    made = context.socket(zmq.DEALER)
    made.setsockopt(zmq.HEARTBEAT_IVL, 20)
    made.setsockopt(zmq.HEARTBEAT_TIMEOUT, HEARTBEAT)
    made.setsockopt(zmq.LINGER, 0)
    try:
        made.connect(router.router.address)
        made.send_multipart([b"echo", b"echo " + bytes(300)])
        heard: list[bytes] = []

        def answered() -> bool:
            if made.poll(0):
                heard.extend(made.recv_multipart())
            return len(heard) == 2

        router.until(answered)
        end = time.monotonic() + 1.3 * HEARTBEAT / 1000
        router.until(lambda: time.monotonic() > end)
        assert not router.ended  # libzmq would have closed it
        [connection] = router.heard
        router.router.send(connection, [b"one", b"", bytes(70_000)])
        router.until(lambda: made.poll(0))
        assert made.recv_multipart() == [b"one", b"", bytes(70_000)]
    finally:
        made.close()
        context.term()


def test_a_libzmq_router_and_its_heartbeats(bind: str) -> None:
    context = zmq.Context()
    made = context.socket(zmq.ROUTER)
    made.setsockopt(zmq.HEARTBEAT_IVL, 20)
    made.setsockopt(zmq.HEARTBEAT_TIMEOUT, HEARTBEAT)
    made.setsockopt(zmq.LINGER, 0)
    try:
        made.bind(bind)
        ours = Dealer(made.getsockopt_string(zmq.LAST_ENDPOINT), lambda: b"hello")
        assert ours.receive(0.2) == []
        assert made.poll(int(SOON * 1000))
        peer, frame = made.recv_multipart()
        assert frame == b"hello"
        end = time.monotonic() + 1.3 * HEARTBEAT / 1000
        while time.monotonic() < end:
            assert ours.receive(0.05) == []
        made.send_multipart([peer, b"a", bytes(300)])
        assert hear(ours, 2) == [b"a", bytes(300)]
        ours.send([b"x", bytes(70_000)])
        assert made.poll(int(SOON * 1000))
        assert made.recv_multipart() == [peer, b"x", bytes(70_000)]
        ours.close(0.5)
    finally:
        made.close()
        context.term()


# -- strangers -----------------------------------------------------------------------------------


def test_unauthenticated_connections_wait_once_their_budget_is_spent(router: Pumped) -> None:
    good = Good(router)
    for name in list(router.heard):
        router.router.authenticate(name)
    router.router.charge(router_module.BUDGET + 1000.0)
    stranger = connect(router.router.address)
    stranger.send(GREETED + pack([b"let me in"]))
    for _ in range(20):
        good.echo()
        router.pump(0.0)
    assert b"let me in" not in router.frames
    router.router.relax(True)
    router.router.charge(-2000.0)
    router.until(lambda: b"let me in" in router.frames)
    stranger.close()
    good.close()


def test_the_budget_of_unauthenticated_connections_fills_again(router: Pumped) -> None:
    router.router.charge(router_module.BUDGET + 0.001)
    stranger = connect(router.router.address)
    stranger.send(GREETED + pack([b"let me in", b"echo"]))
    router.until(lambda: b"echo" in router.frames)
    assert router.frames == [b"let me in", b"echo"]
    stranger.settimeout(SOON)
    answer = b""
    while pack([b"echo"]) not in answer:
        more = stranger.recv(1 << 16)
        assert more
        answer += more
    stranger.close()


def test_unauthenticated_connections_are_served_in_turn(router: Pumped) -> None:
    """The first that floods does not keep the others from being heard."""
    floods = [connect(router.router.address) for _ in range(2 * router_module.UNAUTHENTICATED)]
    for each in floods:
        each.send(GREETED)
    late = connect(router.router.address)
    late.send(GREETED + pack([b"late"]))
    rubbish = pack([b"x" * 50]) * 100

    def heard() -> bool:
        for each in floods:
            with contextlib.suppress(BlockingIOError):
                each.send(rubbish)
        return b"late" in router.frames

    router.until(heard)
    assert router.frames.count(b"late") == 1
    assert router.frames.count(b"x" * 50) + 1 == len(router.frames) > 1
    for each in [*floods, late]:
        each.close()
