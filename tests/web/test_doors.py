"""Slow, silent and many connections: a visitor is answered all the same, and the log stays
short."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import MagicMock

import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp

from dovetail_bridges import connection_limits as doors
from dovetail_bridges.connection_limits import Doors, Sparing, listening, protocols
from dovetail_bridges.mcp.server import application as mcp_application
from dovetail_bridges.openenv.server import OpenEnvServer, Seats
from dovetail_web.app import application
from dovetail_web.hub import Hub

MOST = 40


@contextmanager
def served(counted: Doors, page: ASGIApp | None = None) -> Iterator[tuple[str, int]]:
    """Serve a page, or one whose hub is never started, behind doors; yield where."""
    http, live = protocols(counted)
    page = page or application(Hub("tcp://127.0.0.1:1"))
    settings = uvicorn.Config(
        page, http=http, ws=live, log_level="warning", lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(settings)
    with listening("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join(20)


def closed(connection: socket.socket, seconds: float = 20.0) -> bool:
    """Return whether the other end closes a connection, or has."""
    connection.settimeout(seconds)
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def opened(stack: ExitStack, where: tuple[str, int], said: bytes = b"") -> socket.socket:
    found = stack.enter_context(socket.create_connection(where, 20))
    found.sendall(said)
    return found


def test_half_requests_keep_no_visitor_out(caplog: pytest.LogCaptureFixture) -> None:
    counted = Doors(MOST)
    with served(counted) as where, ExitStack() as stack:
        half = [opened(stack, where, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n") for _ in range(150)]
        for _ in range(3):
            assert httpx.get(f"http://127.0.0.1:{where[1]}/", timeout=20).status_code == 200
        assert closed(half[0])
        assert not closed(half[-1], 0.05)
        assert len(counted) <= MOST // 2
    lines = [each.getMessage() for each in caplog.records]
    assert any("too many connections wait" in each for each in lines)


@pytest.mark.parametrize(
    ("said", "trickle"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"X: y\r\n"),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n\r\n", b"a"),
    ],
    ids=["silent", "head", "body"],
)
def test_a_request_that_does_not_come_to_its_end_is_closed(
    monkeypatch: pytest.MonkeyPatch, said: bytes, trickle: bytes
) -> None:
    monkeypatch.setattr(doors, "HEAD_SECONDS", 0.6)
    monkeypatch.setattr(doors, "BODY_SECONDS", 0.6)
    counted = Doors(MOST)
    with served(counted) as where, ExitStack() as stack:
        slow = opened(stack, where, said)
        began = time.monotonic()
        try:
            while trickle and time.monotonic() - began < 20:
                slow.sendall(trickle)  # each byte is in time; the whole is not
                if closed(slow, 0.1):
                    break
        except OSError:
            pass
        assert closed(slow)
        assert time.monotonic() - began < 15
        assert httpx.get(f"http://127.0.0.1:{where[1]}/", timeout=20).status_code == 200


def test_a_second_head_on_a_connection_has_its_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "HEAD_SECONDS", 0.6)
    with served(Doors(MOST)) as where, ExitStack() as stack:
        slow = opened(stack, where, b"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        slow.settimeout(20)
        assert slow.recv(4096).startswith(b"HTTP/1.1 404")
        slow.sendall(b"GET / HT")
        assert closed(slow)


def test_sockets_count_until_they_are_closed() -> None:
    counted = Doors(MOST)
    head = (
        b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
        b"AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with served(counted) as where, ExitStack() as stack:
        live = [opened(stack, where, head) for _ in range(MOST // 2)]
        for each in live:
            each.settimeout(20)
            assert each.recv(4096).startswith(b"HTTP/1.1 101")
        assert len(counted) == MOST // 2
        assert closed(opened(stack, where, head))  # the most for one address
        for each in live[:2]:
            each.close()
        until = time.monotonic() + 20
        while len(counted) == MOST // 2 and time.monotonic() < until:
            time.sleep(0.01)
        again = opened(stack, where, head)
        again.settimeout(20)
        assert again.recv(4096).startswith(b"HTTP/1.1 101")


UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def test_a_socket_that_is_not_read_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "READ_SECONDS", 0.6)
    counted = Doors(MOST)

    async def talks(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        with suppress(OSError):
            while True:
                await send({"type": "websocket.send", "bytes": bytes(1 << 20)})

    with served(counted, talks) as where, ExitStack() as stack:
        opened(stack, where, UPGRADE)
        assert waits(lambda: len(counted) == 1)
        assert waits(lambda: not len(counted))


def test_sockets_that_the_server_has_closed_make_room() -> None:
    async def refuses(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": 1000})

    with served(Doors(MOST), refuses) as where, ExitStack() as stack:
        for _ in range(MOST // 2):
            assert opened(stack, where, UPGRADE).recv(4096)
        time.sleep(0.2)
        assert httpx.get(f"http://127.0.0.1:{where[1]}/", timeout=20).status_code == 204


PAGES: dict[str, Callable[[], ASGIApp | None]] = {
    "page": lambda: None,
    "openenv": lambda: OpenEnvServer(Seats(MagicMock(), [0]), "", "", {}).application(),
    "mcp": lambda: mcp_application(MagicMock(seats=[0], game=""), "127.0.0.1"),
}


@pytest.mark.parametrize(
    ("page", "line", "header", "status"),
    [
        ("page", "POST /none", "Host: 127.0.0.1", b"404"),
        ("page", "POST /arena/submit", "Host: 127.0.0.1", b"404"),
        ("page", "POST /play/2048", "Host: 127.0.0.1\r\nOrigin: http://other.example.org", b"403"),
        ("openenv", "POST /reset", "Host: 127.0.0.1", b"409"),
        ("openenv", "POST /reset", "Host: other.example.org", b"403"),
        ("mcp", "POST /none", "Host: 127.0.0.1", b"404"),
        ("mcp", "GET /seat-0/mcp", "Host: 127.0.0.1", b"405"),
    ],
)
def test_an_answer_to_a_request_that_is_not_read_arrives(
    page: str, line: str, header: str, status: bytes
) -> None:
    form = bytes(1 << 20)
    head = f"{line} HTTP/1.0\r\n{header}\r\nContent-Length: {len(form)}\r\n\r\n"
    with served(Doors(MOST), PAGES[page]()) as where, ExitStack() as stack:
        for _ in range(5):
            made = opened(stack, where, head.encode())
            for at in range(0, len(form), 1 << 16):
                made.sendall(form[at : at + (1 << 16)])
                time.sleep(0.001)  # as a network takes some
            assert made.recv(4096).split()[1] == status


def waits(done: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while not done() and time.monotonic() < until:
        time.sleep(0.01)
    return done()


class Held:
    """A connection of a test."""

    def __init__(self, waiting: bool) -> None:
        self.waiting = waiting
        self.gone = False

    def hang_up(self) -> None:
        self.gone = True


def test_an_address_has_its_share_and_those_that_wait_make_room() -> None:
    counted = Doors(16)
    mine = [Held(waiting=False) for _ in range(4)]
    assert all(counted.enter(each, "10.0.0.1") for each in mine)
    assert not counted.enter(Held(waiting=False), "10.0.0.1")
    mine[2].waiting = True
    late = Held(waiting=True)
    assert counted.enter(late, "10.0.0.1")
    assert [each.gone for each in mine] == [False, False, True, False]
    for address in ("10.0.0.2", "10.0.0.3", "10.0.0.4"):
        for _ in range(4):
            assert counted.enter(Held(waiting=False), address)
    assert counted.enter(Held(waiting=False), "10.0.0.5")  # the one that waits makes room
    assert late.gone
    assert not counted.enter(Held(waiting=False), "10.0.0.6")
    assert len(counted) == 16
    for each in mine:
        counted.leave(each)
        counted.leave(each)
    assert len(counted) == 13


def test_one_line_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    sparing = Sparing(10.0)

    def line(text: str, *args: Any) -> str | None:
        record = logging.LogRecord("x", logging.WARNING, "", 0, text, args, None)
        return record.getMessage() if sparing.filter(record) else None

    assert line("%s is late", 1) == "1 is late"
    assert [line("%s is late", n) for n in range(5)] == [None] * 5
    assert line("another") == "another"
    now[0] = 10.0
    assert line("%s is late", 9) == "9 is late (5 more such lines were left out)"


def test_there_are_files_left_for_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((1024, 624), (1 << 20, doors.MOST), (-1, doors.MOST), (100, 8)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert doors.room() == most
    # As many are accepted before the first of them is counted.
    assert 2 * doors.BACKLOG < doors.SPARE
