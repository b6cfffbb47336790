"""Open seats of a table as tools of the Model Context Protocol, over stdio or streamable HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Any, TextIO, TypeVar

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from pydantic import Field, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from dovetail._version import __version__
from dovetail_bridges.connection_limits import WholeRequests, serve
from dovetail_bridges.table import CallRefused, OpenTable

LONGEST = 50.0
"""Maximum seconds of a call; clients give up after 30 to 60."""
WAITING = 20
"""Maximum calls of ``observe`` that wait at a seat at a time; others wait for these."""
INSTRUCTIONS = (
    "You have a seat in a game. Call rules once. Then repeat: call observe, which waits until it "
    "is your turn; choose one of its legal_actions; call act with that action and the turn. When "
    "observe says that the game is over, stop, or call new_game if games are left."
)

T = TypeVar("T")


class _Server(MCPServer[Any]):
    """A server whose refusals of arguments are one line."""

    async def call_tool(self, name: str, *more: Any, **most: Any) -> Any:
        try:
            return await super().call_tool(name, *more, **most)
        except ToolError as refused:
            if not isinstance(refused.__cause__, ValidationError):
                raise
            wrong = "; ".join(
                f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}"
                for each in refused.__cause__.errors(include_url=False, include_input=False)
            )
            raise ToolError(f"{name}: {wrong}; see the tool's input schema") from None


class _Posts:
    """Refuses all but POST: without sessions, a GET would wait for messages that never come."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            refused = PlainTextResponse("Send a POST.\n", 405, {"Allow": "POST"})
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def server(table: OpenTable, seat: int) -> MCPServer[Any]:
    """Return the server of one seat."""
    made = _Server(
        f"dovetail-seat-{seat}",
        title=f"Dovetail: {table.game}, seat {seat}",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
    )

    places = {table.observe: anyio.CapacityLimiter(WAITING), table.again: anyio.CapacityLimiter(1)}
    """Calls that wait have threads of their own, so that they keep no other call waiting."""

    async def call(function: Callable[..., T], *arguments: Any) -> T:
        """Call the table in a thread, since it can wait; its refusals go to the model."""
        try:
            return await anyio.to_thread.run_sync(
                lambda: function(seat, *arguments),
                abandon_on_cancel=True,
                limiter=places.get(function),
            )
        except CallRefused as refused:
            raise ToolError(str(refused)) from None

    @made.tool()
    async def rules() -> dict[str, Any]:
        """Return which game it is, which seat is yours, and what you should know before you
        play."""
        return await call(table.rules)

    @made.tool()
    async def observe(
        wait_seconds: Annotated[
            float, Field(ge=0, le=LONGEST, description="How long to wait for your turn.")
        ] = 25.0,
    ) -> dict[str, Any]:
        """Wait for your turn, then return the position as you see it and your legal actions.

        Returns earlier if the game is over. If your_turn is false after the wait, call it again.
        """
        return await call(table.observe, wait_seconds)

    @made.tool()
    async def act(
        action: Annotated[
            Any, Field(description="The action of one of legal_actions, or its name.")
        ],
        turn: Annotated[int, Field(description="The turn that observe returned.")],
    ) -> dict[str, Any]:
        """Take an action. A stale turn or an illegal action is refused and changes nothing."""
        await call(table.act, action, turn)
        return {"accepted": True, "next": "call observe"}

    @made.tool()
    async def resign() -> dict[str, Any]:
        """Give the game up: you lose it, now or as soon as it is your turn."""
        await call(table.resign)
        return {"accepted": True, "next": "call observe"}

    @made.tool()
    async def new_game() -> dict[str, Any]:
        """Begin the next game, if games are left and this one is over."""
        await call(table.again)
        return {"accepted": True, "next": "call observe"}

    return made


def paths(table: OpenTable) -> dict[int, str]:
    """Return the path of each open seat over HTTP."""
    return {seat: f"/seat-{seat}/mcp" for seat in table.seats}


def application(table: OpenTable, host: str) -> Starlette:
    """Return an application with a path for each open seat."""
    seats = {
        seat: server(table, seat).streamable_http_app(host=host, stateless_http=True)
        for seat in table.seats
    }  # nothing is kept of a client, so none can fill the memory
    for app in seats.values():
        app.add_middleware(_Posts)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for each in seats.values():
                await stack.enter_async_context(each.router.lifespan_context(each))
            yield

    mounts = [Mount(f"/seat-{seat}", app) for seat, app in seats.items()]
    return Starlette(routes=mounts, lifespan=lifespan, middleware=[Middleware(WholeRequests)])


def serve_stdio(table: OpenTable, lines: TextIO, out: TextIO) -> None:
    """Serve the only open seat over standard input and output, until the input ends."""
    (seat,) = table.seats
    made = server(table, seat)._lowlevel_server  # `run` takes no streams

    async def serve() -> None:
        async with stdio_server(anyio.wrap_file(lines), anyio.wrap_file(out)) as (reads, writes):
            await made.run(reads, writes, made.create_initialization_options())

    anyio.run(serve)


def serve_http(
    table: OpenTable, host: str, port: int, ready: Callable[[dict[int, str]], None]
) -> None:
    """Serve every open seat over HTTP, as ``connection_limits.serve`` does.

    Args:
        ready: called with the URL of each seat.
    """

    def listening(at: str) -> None:
        ready({seat: f"{at}{path}" for seat, path in paths(table).items()})

    serve(application(table, host), host, port, listening, lifespan="on")
