"""The page as a program: a socket, uvicorn and the hub."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from dovetail.peer.link import START
from dovetail.peer.quoting import command, origin
from dovetail.protocol.errors import DovetailError
from dovetail_web.app import application
from dovetail_web.connection_limits import BACKLOG, Doors, protocols, room, sparing
from dovetail_web.guard import LOCAL
from dovetail_web.hub import Hub
from dovetail_web.showcase import Showcase

LONGEST = 1 << 16
"""Bytes of what a browser says at once, which is a choice or what it looks at."""


def listening(host: str = "127.0.0.1", port: int = 8757) -> socket.socket:
    """Return a socket at which a page can be served.

    Args:
        host: where to listen.
        port: where to listen; 0 picks a free one.

    Raises:
        DovetailError: the port cannot be had.
    """
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        raise DovetailError(
            f"cannot listen on {host}, port {port}: {error.strerror}; choose another --port"
        ) from None


def serve(
    listener: socket.socket,
    address: str,
    token: str | None = None,
    *,
    host: str = "127.0.0.1",
    journal: Path | None = None,
    stores: Sequence[str] = (),
    arena: Path | None = None,
    peers: str = "",
    password: str | None = None,
    names: Sequence[str] = (),
    showcase: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page until SIGINT or SIGTERM.

    Args:
        listener: where; it is closed at the end.
        address: the broker's.
        token: its access token, if it has one.
        host: what the page's URL calls this machine.
        journal: whose episodes can be replayed.
        stores: whose results are shown: folders of experiments, SQLite files, or URLs of databases.
        arena: the description of the arena that is shown.
        peers: where the broker listens to programs in a browser, if visitors may write agents.
        password: that visitors must give.
        names: under which a proxy serves the page, such as ``play.example.org``.
        showcase: whether games are played while a visitor looks at those that are.
        ready: called with the page's URL once it can be asked for.
    """
    hub = Hub(address, token, START if arena is None else f"`{command('arena', arena.name)}`")
    hub.start()
    # Behind a password the page may be asked for under any name that leads here.
    hosts = (*LOCAL, *names) if password is None else ()
    app = application(
        hub,
        journal=journal,
        stores=stores,
        arena=arena,
        peers=peers,
        hosts=hosts,
        password=password,
    )
    sparing()
    http, socket = protocols(Doors(room()))
    settings = uvicorn.Config(
        app,
        http=http,
        backlog=BACKLOG,
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=1,
        ws=socket,
        ws_max_size=LONGEST,
    )
    server = _Server(settings, hub)
    if ready is not None:
        ready(f"{origin(host, listener.getsockname()[1])}/")
    shown = Showcase(address, token, lambda: hub.watched) if showcase else None
    try:
        asyncio.run(server.serve([listener]))
    finally:
        if shown is not None:
            shown.close()
        hub.close()
        listener.close()


class _Server(uvicorn.Server):
    """Leaves the broker before it waits for open requests: those that wait for the hub end then."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.close()
        await super().shutdown(sockets)
