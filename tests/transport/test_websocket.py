"""Peers over WebSocket: what the router makes of them, and that no other peer waits for a bad
one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.uri import parse_uri

from dovetail.broker.core.core import Settings
from dovetail.broker.peers.access import digest
from dovetail.broker.peers.access_file import AccessFile
from dovetail.broker.shell.serve import in_thread
from dovetail.broker.shell.server import Server
from dovetail.client.client import Experiment
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys, listen
from dovetail.transport import router as router_module
from dovetail.transport.dealer import Dealer
from dovetail.transport.endpoint import Web
from dovetail.transport.router import Router
from dovetail.transport.websocket import SUBPROTOCOL, WebWire
from dovetail.transport.zmtp import WireError

PAGE = "http://127.0.0.1:8000"
WEB = Web("127.0.0.1:0", (PAGE,))
MOST = 1 << 20
SOON = 30.0


@contextmanager
def echoing(most: int = MOST, first: int | None = None) -> Iterator[Router]:
    """Run a router in a thread that sends back what it hears; frames of over 100 bytes ten
    times."""
    router, over = Router("tcp://127.0.0.1:*", most, first=first, web=WEB), threading.Event()

    def work() -> None:
        while not over.is_set():
            for name, frames in router.receive(0.02):
                for frame in frames or ():
                    router.send(name, [frame] * (10 if len(frame) > 100 else 1))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield router
    finally:
        over.set()
        thread.join()
        router.close(0.1)


def page(router: Router, subprotocol: str | None = SUBPROTOCOL, **options: Any) -> ClientConnection:
    wanted: Any = None if subprotocol is None else [subprotocol]
    made: ClientConnection = connect(router.web_address, subprotocols=wanted, proxy=None, **options)
    return made


def heard_until_closed(made: ClientConnection) -> tuple[list[bytes], Any]:
    """Return the messages that come until the other side closes, and its close frame."""
    heard = []
    try:
        while True:
            heard.append(bytes(made.recv(SOON)))  # type: ignore[arg-type]
    except ConnectionClosed as closed:
        return heard, closed.rcvd


def say(router: Router, data: bytes) -> bytes:
    """Send bytes to the port for pages; return all that comes until it is closed."""
    host, port = router.web_address.removeprefix("ws://").split(":")
    with socket.create_connection((host, int(port)), SOON) as made:
        made.sendall(data)
        heard = b""
        while more := made.recv(1 << 16):
            heard += more
        return heard


@pytest.mark.rule("S3.10")
def test_a_message_is_a_frame_and_both_transports_share_a_router() -> None:
    with echoing() as router, page(router, origin=PAGE) as one, page(router) as two:
        assert one.subprotocol == SUBPROTOCOL
        assert not one.protocol.extensions  # it offered to compress
        dealer = Dealer(router.address, lambda: b"hello")
        for made in (one, two):
            made.send(b"")
            assert made.recv(SOON) == b""
            made.send([b"in ", b"pieces"])
            assert made.recv(SOON) == b"in pieces"
        long = bytes(70_000)
        one.send(long)
        assert [one.recv(SOON) for _ in range(10)] == [long] * 10
        assert dealer.receive(SOON) == [b"hello"]
        dealer.close(0.0)


@pytest.mark.rule("S3.10")
@pytest.mark.parametrize(
    ("options", "status", "text"),
    [
        ({"origin": "http://evil.example"}, 403, "start the broker with --web-origin http://evil"),
        ({"origin": "null"}, 403, "pages of null may not connect"),
        ({"subprotocol": None}, 400, "missing subprotocol"),
        ({"subprotocol": "mqtt"}, 400, "expected one of dovetail.1"),
        ({"additional_headers": {"Origin": "http://a.b"}, "origin": PAGE}, 403, "http://a.b"),
    ],
)
def test_a_handshake_that_is_refused_says_why(
    options: dict[str, Any], status: int, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with echoing() as router:
        with pytest.raises(InvalidStatus) as refused, page(router, **options):
            pass
        assert refused.value.response.status_code == status
        assert text in bytes(refused.value.response.body or b"").decode()
        with page(router) as good:
            good.send(b"x")
            assert good.recv(SOON) == b"x"
    assert text in caplog.text


def test_what_is_no_websocket_is_told_what_to_do() -> None:
    with echoing() as router:
        visitor = say(router, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert visitor.startswith(b"HTTP/1.1 426 ")
        assert say(router, b"\0\1\2\3\r\n\r\n") == b""
        other = b"GET / HTTP/1.1\r\nHost: rebound.example:80\r\nUpgrade: websocket\r\n\r\n"
        assert b"let the proxy send `Host: 127.0.0.1`" in say(router, other)
        dealer = Dealer(router.web_address.replace("ws:", "tcp:"), lambda: b"hello")
        dealer.receive(0.3)
        assert f"connect to {router.address}" in dealer.trouble
        dealer.close(0.0)


@pytest.mark.rule("S3.10")
@pytest.mark.parametrize(
    ("message", "code", "reason"),
    [
        ("words", 1003, "send each frame as a binary message"),
        (bytes(2 << 20), 1009, "at most 65,536 are read"),
        ([bytes(60_000), bytes(60_000)], 1009, "at most 65,536 are read"),
    ],
    ids=["text", "long", "fragments"],
)
def test_a_bad_message_costs_its_connection_alone(message: Any, code: int, reason: str) -> None:
    with echoing(first=1 << 16) as router, page(router) as good, page(router) as bad:
        bad.send(message)
        heard, closed = heard_until_closed(bad)
        assert (closed.code, reason in closed.reason) == (code, True)
        if code == 1009:
            assert msgpack.unpackb(heard[-1])["code"] == "limit"
        good.send(b"x")
        assert good.recv(SOON) == b"x"
        good.send(bytes(200_000))  # not the first any more
        assert good.recv(SOON) == bytes(200_000)


def test_a_page_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router_module, "LOST", 1 << 20)
    monkeypatch.setattr(router_module, "FULL", 64 << 20)
    with echoing() as router, page(router) as good, page(router, max_queue=1) as lazy:
        with suppress(ConnectionClosed):
            while True:
                lazy.send(bytes(MOST - 1))
        good.send(b"x")
        assert good.recv(SOON) == b"x"


def test_a_thousand_connections_that_never_greet_stop_no_one() -> None:
    with echoing() as router, ExitStack() as stack:
        host, port = router.web_address.removeprefix("ws://").split(":")
        dealer = Dealer(router.address, lambda: b"hello")
        assert dealer.receive(SOON) == [b"hello"]
        for number in range(1000):
            made = stack.enter_context(socket.create_connection((host, int(port))))
            made.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            if number % 100 == 0:
                dealer.send([b"%d" % number])
                assert dealer.receive(SOON) == [b"%d" % number]
        dealer.close(0.0)


def test_a_closing_handshake_is_answered() -> None:
    with echoing() as router:
        with page(router) as made:
            made.send(b"last")
            assert made.recv(SOON) == b"last"
        assert made.protocol.close_rcvd is not None
        assert made.protocol.close_rcvd.code == 1000


def conversation() -> bytes:
    """Return what a browser sends: the request, messages of several sizes in fragments, pings."""
    client = ClientProtocol(parse_uri("ws://localhost/"), subprotocols=[SUBPROTOCOL])  # type: ignore[list-item]
    client.send_request(client.connect())
    request = b"".join(client.data_to_send())
    client.state = client.state.OPEN
    client.send_binary(b"one")
    client.send_ping(b"?")
    client.send_binary(b"tw", fin=False)
    client.send_ping(b"!")
    client.send_continuation(b"o", fin=True)
    client.send_binary(bytes(300))
    return request + b"".join(client.data_to_send())


SAID = conversation()


@given(st.lists(st.integers(0, len(SAID)), max_size=12))
def test_pieces_make_no_difference(cuts: list[int]) -> None:
    wire, frames = WebWire(MOST, WEB, ("localhost",), "tcp://"), []
    places = [0, *sorted(cuts), len(SAID)]
    for begin, end in pairwise(places):
        frames += wire.feed(SAID[begin:end])
    assert frames == [b"one", b"two", bytes(300)]
    assert wire.out.startswith(b"HTTP/1.1 101 ")
    assert wire.out.endswith(b"\x8a\x01?\x8a\x01!")  # pongs


@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_frames_or_an_error(data: bytes, begun: bool) -> None:
    wire = WebWire(1000, WEB, (), "tcp://")
    if begun:
        wire.feed(SAID[: SAID.index(b"\r\n\r\n") + 4])
    text = "nothing was wrong"
    try:
        wire.feed(data)
    except WireError as error:
        text = str(error)
    assert "\n" not in text
    assert len(wire.farewell(text)) < 2000


@pytest.mark.parametrize("control", [b"\x89\x80abcd", b"\x8a\x80abcd", b"\x00\x81abcd."])
def test_control_frames_and_tiny_fragments_are_counted(control: bytes) -> None:
    begun = SAID[: SAID.index(b"\r\n\r\n") + 4] + b"\x02\x80abcd"
    wire = WebWire(MOST, WEB, ("localhost",), "tcp://")
    wire.feed(begun)
    wire.feed(control * 900)
    assert wire.controls == 900
    with pytest.raises(WireError, match="more than 1,000 control frames at once"):
        wire.feed(control * 1_001)


# -- who may connect -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin",
    [
        *(
            "null",
            "*",
            "play.example.org",
            "http://play.example.org/",
            "ftp://a.b",
            "http://a.b:80",
        ),
        *("http://u@a.b", "http://A.b", "http://a.b:x"),
    ],
)
def test_an_origin_is_scheme_host_and_port(origin: str) -> None:
    with pytest.raises(DovetailError, match="is not the origin of a page"):
        Web("127.0.0.1:0", (origin,))


def test_a_port_that_is_taken_and_libzmq_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        web = Web(f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(DovetailError, match="choose another with --web"):
            Router("tcp://127.0.0.1:*", MOST, web=web)
    monkeypatch.setenv("DOVETAIL_TRANSPORT", "libzmq")
    with pytest.raises(DovetailError, match="unset DOVETAIL_TRANSPORT"):
        listen("tcp://127.0.0.1:*", MOST, web=WEB)


def greeted(address: str, **hello: Any) -> Any:
    """Return what the broker answers to a ``hello``."""
    said = {"type": "hello", "version": 1, "role": "agent", **hello}
    with connect(address, subprotocols=[SUBPROTOCOL], proxy=None) as made:  # type: ignore[list-item]
        made.send(msgpack.packb(said))
        return msgpack.unpackb(made.recv(SOON))


@pytest.mark.rule("S3.10")
def test_a_broker_with_keys_admits_pages_by_a_token(tmp_path: Path) -> None:
    server = keys.make()
    keys.write(tmp_path / "access.key", server, "of the broker")
    mine = keys.make(server.public)
    own = f'[keys.own]\npublic = "{mine.public}"\n'
    visitors = (
        f'[keys.visitors]\ntoken = "{digest("let me in")}"\n'
        'roles = ["agent"]\noffers = ["guest-*"]\nlimits = { peers = 1 }\n'
    )
    file, found = tmp_path / "access.toml", []
    ready: Callable[[Server], None] = lambda server: found.append(server.web_address)  # noqa: E731

    def serving() -> Any:
        return in_thread(
            "tcp://127.0.0.1:*",
            settings=Settings(token="for all others"),
            journal=lambda: None,
            access=AccessFile(file),
            web=WEB,
            ready=ready,
        )

    file.write_text(own)
    with pytest.raises(DovetailError, match="no entry of the access file has a token"), serving():
        pass
    file.write_text(own + visitors)
    with serving() as address:
        [web] = found
        guest: dict[str, Any] = {"offers": [{"name": "guest-1"}], "token": "let me in"}
        cases: list[tuple[dict[str, Any], str]] = [
            ({}, "the token is missing or wrong"),
            ({**guest, "token": "let me out"}, "the token is missing or wrong"),
            ({"token": "let me in", "role": "experiment"}, "may not be an experiment"),
            ({"token": "let me in", "offers": [{"name": "td"}]}, "may not offer 'td'"),
        ]
        for hello, text in cases:
            answer = greeted(web, **hello)
            assert (answer["type"], answer["code"]) == ("error", "access")
            assert text in answer["message"]
        with connect(web, subprotocols=[SUBPROTOCOL], proxy=None) as made:  # type: ignore[list-item]
            said = {"type": "hello", "version": 1, "role": "agent", **guest}
            made.send(msgpack.packb(said))
            assert msgpack.unpackb(made.recv(SOON))["type"] == "welcome"
            assert greeted(web, **guest)["code"] == "limit"
            with Experiment.connect(address, key=mine, token="for all others") as experiment:
                experiment.expect(agents=["guest-1"])
                file.write_text(own + visitors + "revoked = true\n")
                heard = [msgpack.unpackb(each) for each in heard_until_closed(made)[0]]
        assert [each["message"] for each in heard if each["type"] == "error"] == [
            "the key 'visitors' was revoked"
        ]
