"""The OpenEnv server: routes and WebSockets for each base URL, over tables of open seats.

With one open seat, each session has its own table; with several, sessions share tables.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from dovetail._version import __version__
from dovetail.protocol.errors import DovetailError
from dovetail_bridges import connection_limits
from dovetail_bridges.connection_limits import WholeRequests
from dovetail_bridges.openenv import wire
from dovetail_bridges.openenv.session import Rules, Session
from dovetail_bridges.openenv.wire import WireError
from dovetail_bridges.table import CallRefused, OpenTable

log = logging.getLogger("dovetail.openenv")
NO_SESSION = "there are no sessions over HTTP here; open a WebSocket at /ws"


class Full(DovetailError):
    """All seats for a client's request are taken."""


class Seats:
    """The tables and their open seats.

    Args:
        make: returns a new table.
        seats: the numbers of the open seats.
        tables: the number of tables with several open seats.
        sessions: the maximum number of sessions with one open seat.
        back: seconds for which a lost client's seat stays reserved.
        rules: the rules of the sessions.
    """

    def __init__(
        self,
        make: Callable[[], OpenTable],
        seats: Sequence[int],
        *,
        tables: int = 1,
        sessions: int = 8,
        back: float = 10.0,
        rules: Rules | None = None,
    ) -> None:
        self.seats, self.rules, self.back = list(seats), rules or Rules(), back
        self._make = make
        self._alone = len(seats) == 1
        self._most = sessions if self._alone else tables
        self._tables: dict[int, OpenTable] = {}
        self._taken: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    @property
    def most(self) -> int:
        """The maximum number of sessions at a time."""
        return self._most * len(self.seats)

    @contextmanager
    def take(self, seat: int, table: int | None) -> Iterator[Session]:
        """Give a session a seat for the duration of the context.

        Args:
            table: the number of the table, from 0; None for the first where the seat is free.

        Raises:
            Full: the seat is taken, or there is no such table.
            DovetailError: the table cannot be created.
        """
        with self._lock:
            free = [
                each
                for each in (range(self._most) if table is None else [table])
                if each < self._most and (each, seat) not in self._taken
            ]
            if not free:
                raise Full(f"{len(self._taken)} of {self.most} sessions are in use")
            place = free[0]
            self._taken.add((place, seat))
        try:
            with self._lock:
                at = self._tables.get(place)
                if at is None or at.failed:  # as when the broker has left
                    at = self._tables[place] = self._make()
            yield Session(at, seat, self.rules)
        finally:
            if self._alone:
                with self._lock:
                    mine = self._tables.pop(place, None)
                if mine is not None:
                    mine.close()
            with self._lock:
                self._taken.discard((place, seat))

    def holds(self, session: Session) -> bool:
        """Return whether a client has a session's seat."""
        with self._lock:
            tables = [place for place, table in self._tables.items() if table is session.table]
            return any((place, session.seat) in self._taken for place in tables)

    def close(self) -> None:
        """End all games."""
        with self._lock:
            tables = list(self._tables.values())
            self._tables.clear()
        for each in tables:
            each.close()


class OpenEnvServer:
    """The application of a game's open seats.

    Args:
        seats: the tables and seats.
        description: the game's description, for ``/metadata``.
        space: the action space of each open seat; None if the game declares none.
        origins: the origins of pages that may connect; programs have none.
        idle: seconds without a request after which a session ends.
    """

    def __init__(
        self,
        seats: Seats,
        game: str,
        description: str,
        space: dict[int, Any],
        *,
        origins: Sequence[str] = (),
        idle: float = 600.0,
    ) -> None:
        self._seats, self._game, self._description = seats, game, description
        self._space, self._origins, self._idle = space, set(origins), idle
        self._threads = ThreadPoolExecutor(seats.most + 4, thread_name_prefix="session")

    def paths(self) -> dict[str, tuple[int, int | None]]:
        """Return the seat and the table of each base path."""
        seats = self._seats.seats
        if len(seats) == 1:
            return {"": (seats[0], None)}
        found: dict[str, tuple[int, int | None]] = {f"/seat-{seat}": (seat, None) for seat in seats}
        for table in range(self._seats.most // len(seats)):
            found |= {f"/table-{table}/seat-{seat}": (seat, table) for seat in seats}
        return found

    def application(self) -> Starlette:
        """Return the application, with all routes below each base path."""
        routes: list[BaseRoute] = []
        for base, (seat, table) in self.paths().items():
            routes += self._routes(base, seat, table)
        return Starlette(routes=routes, middleware=[Middleware(WholeRequests), Middleware(_Hosts)])

    def _routes(self, base: str, seat: int, table: int | None) -> list[BaseRoute]:
        schemas = wire.schemas(self._space.get(seat))
        metadata = {
            "name": f"dovetail-{self._game}",
            "description": self._description or f"{self._game}, seat {seat}, served by Dovetail",
            "readme_content": None,
            "version": __version__,
            "author": None,
            "documentation_url": None,
        }
        listed = ("/health", "/metadata", "/schema", "/reset", "/step", "/state", "/mcp")
        methods = {"/reset": "post", "/step": "post", "/mcp": "post"}
        openapi = {
            "openapi": "3.1.0",
            "info": {"title": metadata["name"], "version": "1.0.0"},
            "paths": {
                each: {methods.get(each, "get"): {"responses": {"200": {"description": "JSON"}}}}
                for each in listed
            },
        }

        def fixed(body: dict[str, Any], status: int = 200) -> Callable[[HttpRequest], Response]:
            return lambda request: JSONResponse(body, status)

        refused = fixed({"detail": NO_SESSION}, 409)
        no_tools = {"code": -32601, "message": "no tools are offered here; use /ws"}
        rpc = fixed({"jsonrpc": "2.0", "id": None, "error": no_tools})

        async def session(websocket: WebSocket) -> None:
            await self._serve(websocket, seat, table)

        return [
            Route(f"{base}/health", fixed({"status": "healthy"})),
            Route(f"{base}/metadata", fixed(metadata)),
            Route(f"{base}/schema", fixed(schemas)),
            Route(f"{base}/openapi.json", fixed(openapi)),
            Route(f"{base}/reset", refused, methods=["POST"]),
            Route(f"{base}/step", refused, methods=["POST"]),
            Route(f"{base}/state", refused),
            Route(f"{base}/mcp", rpc, methods=["POST"]),
            WebSocketRoute(f"{base}/ws", session),
        ]

    async def _serve(self, websocket: WebSocket, seat: int, table: int | None) -> None:
        asked = websocket.headers.get("origin")
        if not local(websocket.headers.get("host", "")) or (
            asked is not None and asked not in self._origins
        ):
            await websocket.close(1008)
            return
        await websocket.accept()
        loop = asyncio.get_running_loop()
        try:
            place = self._seats.take(seat, table)
            session = await loop.run_in_executor(self._threads, place.__enter__)
        except Full as full:
            await _last(websocket, "CAPACITY_REACHED", str(full))
            return
        except DovetailError as error:
            await _last(websocket, "FACTORY_ERROR", str(error))
            return
        polite = False
        try:
            with session.attending():
                polite = await self._talk(websocket, session)
        finally:
            lost = await loop.run_in_executor(self._threads, self._left, session, place, polite)
        if lost is not None:  # a thread for each would let clients that come and go start thousands
            loop.call_later(
                self._seats.back, loop.run_in_executor, self._threads, self._give_up, session, lost
            )

    def _left(self, session: Session, place: Any, polite: bool) -> int | None:
        """Free the seat; return the number of the game that a lost client may resume."""
        if polite or len(self._seats.seats) == 1:
            with suppress(CallRefused):
                session.leave()
            place.__exit__(None, None, None)
            return None
        game = None
        with suppress(CallRefused):  # without a table, nothing is left to resume
            game, _, end = session.table.look(session.seat)
            game = game if end is None else None
        place.__exit__(None, None, None)
        return game

    def _give_up(self, session: Session, game: int) -> None:
        """Resign the game of a lost client that has not come back."""
        with suppress(CallRefused):
            now, _, end = session.table.look(session.seat)
            if now == game and end is None and not self._seats.holds(session):
                session.table.resign(session.seat)

    async def _talk(self, websocket: WebSocket, session: Session) -> bool:
        """Answer requests in order until the client leaves; return whether it closed the
        session."""
        polite, heard = False, asyncio.Queue[Any](1)

        async def hear() -> None:
            """Receive concurrently, so that a client that leaves while waiting frees its seat."""
            while True:
                said = await websocket.receive()
                if said["type"] == "websocket.disconnect":
                    raise _Gone(said.get("code"))
                await heard.put(said.get("text") or said.get("bytes") or "")
                session.replace()

        try:
            async with asyncio.TaskGroup() as group:
                hearing = group.create_task(hear())
                await self._answer(websocket, session, heard)
                polite = True
                hearing.cancel()
        except* _Gone as gone:
            polite = any(each.code == 1000 for each in gone.exceptions if isinstance(each, _Gone))
        except* (WebSocketDisconnect, RuntimeError):
            polite = False
        return polite

    async def _answer(
        self, websocket: WebSocket, session: Session, heard: asyncio.Queue[Any]
    ) -> None:
        """Answer requests in order until the session ends."""
        while True:
            try:
                async with asyncio.timeout(self._idle):
                    said = await heard.get()
            except TimeoutError:
                await _last(websocket, "SESSION_ERROR", f"no request in {self._idle:g} s")
                return
            try:
                request = wire.read(said)
                if request.kind == "close":
                    await websocket.close(1000)
                    return
                answer = await session.answer(request)
            except WireError as error:
                if error.final:
                    await _last(websocket, error.code, str(error))
                    return
                answer = wire.error(error.code, str(error))
            if answer is not None:
                await websocket.send_text(answer)


class _Gone(Exception):
    """The client has left."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


async def _last(websocket: WebSocket, code: str, text: str) -> None:
    """Send an error and close."""
    with suppress(WebSocketDisconnect, RuntimeError):
        await websocket.send_text(wire.error(code, text))
        if websocket.client_state is WebSocketState.CONNECTED:
            await websocket.close(1000)


def local(host: str) -> bool:
    """Return whether a Host header names this machine; others can be a page's (DNS rebinding)."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:  # such as "["
        return False
    return name in ("127.0.0.1", "localhost", "::1")


class _Hosts(BaseHTTPMiddleware):
    """Refuses requests for other hosts."""

    async def dispatch(self, request: HttpRequest, call_next: RequestResponseEndpoint) -> Response:
        if not local(request.headers.get("host", "")):
            return JSONResponse({"detail": "only this machine is served"}, 403)
        return await call_next(request)


def serve(server: OpenEnvServer, host: str, port: int, ready: Callable[[list[str]], None]) -> None:
    """Serve as ``connection_limits.serve`` does.

    Args:
        ready: called with the base URLs.
    """
    connection_limits.serve(
        server.application(),
        host,
        port,
        lambda at: ready([f"{at}{base}" for base in server.paths()]),
        ws_max_size=wire.LARGEST,
        ws_ping_interval=None,  # a client that generates for minutes answers no ping
        ws_per_message_deflate=False,  # it costs both ends more than loopback's bytes
    )
