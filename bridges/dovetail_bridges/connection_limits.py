"""Limits on a web server's connections and on the time that each may take.

When there are too many connections, the oldest without a complete request is closed, so that a
visitor gets in whatever the number of half requests.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import Any, Protocol, cast

import h11
import uvicorn
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.quoting import origin

log = logging.getLogger("dovetail.web")

MOST = 4000
"""Maximum connections, if the process may open as many files."""
SPARE = 400
"""Open files reserved for everything else."""
SHARE = 4
"""One address may have the SHARE-th part of all connections, and loopback, from where a proxy
connects, twice as many."""
HEAD_SECONDS, BODY_SECONDS, READ_SECONDS = 10.0, 20.0, 30.0
"""Maximum seconds for a request's head, for its body, and without a visitor reading the answer."""
BACKLOG = 100
"""Connections that may be accepted before they are counted; fewer than ``SPARE``."""
LONGEST = 4 << 20
"""Maximum bytes of a request's body, as of MCP's library."""
DROPPING = 10.0
"""Seconds for the rest of a request that is answered."""
LOGGED = 10.0
"""Minimum seconds between two log lines of one kind."""


def room() -> int:
    """Return the maximum number of connections of this process."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(8, min(MOST, soft - SPARE))


def network(address: str) -> str:
    """Return the network that counts as one visitor: an IPv4 address, or the /64 of an IPv6
    address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return str(IPv6Address(int(found) >> 64 << 64))
    return str(found)


class Sparing(logging.Filter):
    """A filter that passes a log line of each kind once in a while, with the number it dropped."""

    def __init__(self, every: float = LOGGED) -> None:
        super().__init__()
        self._every = every
        self._last: dict[str, float] = {}
        self._omitted: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a record."""
        kind, now = str(record.msg)[:200], time.monotonic()
        if now - self._last.get(kind, -self._every) < self._every:
            self._omitted[kind] += 1
            return False
        if len(self._last) > 1000:
            self._last.clear()
        self._last[kind] = now
        omitted = self._omitted.pop(kind, 0)
        if omitted:
            text = f"{record.getMessage()} ({omitted} more such lines were left out)"
            record.msg, record.args = text, None
        return True


class Connection(Protocol):
    """The interface of a connection for ``Doors``."""

    @property
    def waiting(self) -> bool:
        """True while it has no whole request that is being answered."""

    def hang_up(self) -> None:
        """Close it at once."""


class Doors:
    """A count of connections, in all and by address.

    Args:
        most: the maximum in all.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: dict[Connection, str] = {}
        """The address of each connection, oldest first."""
        self._count: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, connection: Connection, address: str) -> bool:
        """Count a new connection, perhaps closing an older one; return whether it may stay."""
        mine = network(address)
        each = max(1, self.most * (2 if loopback(mine) else 1) // SHARE)
        if self._count[mine] >= each and not self._make_room(mine):
            log.warning(
                "%s has %d connections, the most for one address; others are refused", mine, each
            )
            return False
        if len(self._open) >= self.most and not self._make_room(None):
            log.warning("there are %d connections, the most in all; others are refused", self.most)
            return False
        self._open[connection] = mine
        self._count[mine] += 1
        return True

    def _make_room(self, address: str | None) -> bool:
        for each, its in self._open.items():
            if each.waiting and address in (None, its):
                log.warning("too many connections wait without a request; the oldest are closed")
                self.leave(each)
                each.hang_up()
                return True
        return False

    def leave(self, connection: Connection) -> None:
        """Stop counting a connection."""
        address = self._open.pop(connection, None)
        if address is not None:
            self._count[address] -= 1
            if not self._count[address]:
                del self._count[address]

    def replace(self, transport: Any, by: Connection) -> None:
        """Count a WebSocket in place of the HTTP connection that it was."""
        for each in self._open:
            if getattr(each, "transport", None) is transport:
                address = self._open.pop(each)
                self._open[by] = address
                return


def loopback(address: str) -> bool:
    """Return whether an address is this machine's, such as a proxy's."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return True  # a socket of this machine


class _Limited(asyncio.Protocol):
    """A connection behind doors, with time limits; uvicorn's protocol follows it as a base."""

    reads = "read an answer"
    transport: Any
    loop: Any

    def __init__(self, doors: Doors, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._doors = doors
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def hang_up(self) -> None:
        """Close it at once."""
        self._stop(*self._timers)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop(*self._timers)
        self._doors.leave(self)  # type: ignore[arg-type]
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the time limit for a visitor that is not reading."""
        super().pause_writing()
        self._start("reading", self.reads, READ_SECONDS)

    def resume_writing(self) -> None:
        """Stop that time limit."""
        super().resume_writing()
        self._stop("reading")

    def _start(self, timer: str, what: str, seconds: float) -> None:
        self._timers[timer] = self.loop.call_later(seconds, self._late, what, seconds)

    def _stop(self, *timers: str) -> None:
        for each in timers:
            if (timer := self._timers.pop(each, None)) is not None:
                timer.cancel()

    def _late(self, what: str, seconds: float) -> None:
        log.warning("a visitor did not %s within %g s; such connections are closed", what, seconds)
        self.hang_up()


class Http(_Limited, H11Protocol):
    """An HTTP connection with time limits for its requests."""

    def __init__(self, doors: Doors, *args: Any, **options: Any) -> None:
        super().__init__(doors, *args, **options)
        self._phase = ""
        self._refused = False

    @property
    def waiting(self) -> bool:
        """True while it has no whole request that is being answered."""
        return self._phase != "answer"

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it, or refuse it."""
        super().connection_made(transport)
        address = get_remote_addr(transport)
        if not self._doors.enter(self, address[0] if address else ""):
            self._refused = True
            transport.abort()
            return
        self._enter("head")

    def data_received(self, data: bytes) -> None:
        """Process data, and restart the time limit for what is missing."""
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        self._look(idle="head")

    def on_response_complete(self) -> None:
        """Wait for the next request; until it starts, uvicorn's own time limit applies."""
        super().on_response_complete()
        self._look(idle="idle")

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Become a WebSocket."""
        self._stop(*self._timers)
        self._phase = "answer"
        super().handle_websocket_upgrade(event)

    def _look(self, idle: str) -> None:
        if isinstance(self.transport.get_protocol(), Http) and not self.transport.is_closing():
            state = self.conn.their_state
            whole = state not in (h11.IDLE, h11.SEND_BODY)
            self._enter("answer" if whole else "body" if state is h11.SEND_BODY else idle)

    def _enter(self, phase: str) -> None:
        if phase == self._phase:
            return
        self._phase = phase
        self._stop("request")
        seconds = {"head": HEAD_SECONDS, "body": BODY_SECONDS}.get(phase)
        if seconds is not None:
            self._start("request", f"send a request's {phase}", seconds)


class Socket(_Limited, WebSocketsSansIOProtocol):
    """A WebSocket that replaces the HTTP connection it was requested on."""

    reads = "read a message"

    @property
    def waiting(self) -> bool:
        """True once the server has closed it, while the visitor does not."""
        return self.close_sent

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it."""
        super().connection_made(transport)
        self._doors.replace(transport, self)


def protocols(doors: Doors) -> tuple[type[asyncio.Protocol], type[asyncio.Protocol]]:
    """Return uvicorn's protocols, HTTP and WebSocket, behind doors."""
    http, socket = partial(Http, doors), partial(Socket, doors)
    return cast("type[asyncio.Protocol]", http), cast("type[asyncio.Protocol]", socket)


class WholeRequests:
    """Middleware that reads each request to its end, up to a maximum, before its answer is sent.

    A connection that is closed before all has been read is reset, and its answer lost.

    Args:
        app: the application.
        most: returns the maximum bytes of a request's body.
    """

    def __init__(self, app: ASGIApp, most: Callable[[Scope], int] = lambda scope: LONGEST) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        size, over, most = 0, False, self._most(scope)

        async def read() -> Message:
            nonlocal size, over
            message = await receive()
            over = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > most:
                raise HTTPException(413, f"A request may have at most {most} bytes.")
            return message

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                with suppress(HTTPException, TimeoutError):
                    async with asyncio.timeout(DROPPING):
                        while not over:
                            await read()
            await send(message)

        await self._app(scope, read, answer)


def guarded(most: int) -> dict[str, Any]:
    """Return uvicorn's settings for a server of at most ``most`` connections behind doors."""
    sparing()
    http, socket = protocols(Doors(most))
    return {"http": http, "ws": socket, "backlog": BACKLOG, "log_level": "warning"}


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket of IPv4 or, by the address, of IPv6.

    Args:
        host: the host to listen at.
        port: the port; 0 picks a free one.

    Raises:
        DovetailError: the port cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise DovetailError(
            f"cannot listen on {host}, port {port}: {error.strerror}; choose another --port"
        ) from None


def serve(
    app: ASGIApp, host: str, port: int, ready: Callable[[str], None], **settings: Any
) -> None:
    """Serve an application behind doors until SIGINT or SIGTERM, with uvicorn's settings.

    Args:
        host: a loopback address.
        port: the port; 0 for any free one.
        ready: called with the URL.

    Raises:
        DovetailError: the port cannot be bound.
    """
    with listening(host, port) as listener:
        ready(origin(host, listener.getsockname()[1]))
        uvicorn.Server(uvicorn.Config(app, **settings, **guarded(room()))).run(sockets=[listener])


def sparing() -> None:
    """Apply ``Sparing`` to the server's logs, so that visitors cannot fill them."""
    for name in ("uvicorn.error", "asyncio", "dovetail", "dovetail.web"):
        found = logging.getLogger(name)
        if not any(isinstance(each, Sparing) for each in found.filters):
            found.addFilter(Sparing())
