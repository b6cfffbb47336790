"""The page as a program: a socket, uvicorn and the hub."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from dovetail.peer.gc_tuning import patient
from dovetail.peer.link import START
from dovetail.peer.quoting import command
from dovetail_bridges.connection_limits import guarded, room
from dovetail_experiments.quoting import origin
from dovetail_web.app import application
from dovetail_web.guard import LOCAL
from dovetail_web.hub import Hub
from dovetail_web.showcase import Showcase

LONGEST = 1 << 16
"""Maximum bytes of a browser's message."""


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
        listener: the listening socket, which is closed at the end.
        address: the broker's address.
        token: its access token, if it has one.
        host: this machine's name in the page's URL.
        journal, stores, arena, peers, password: as for ``application``.
        names: host names under which a proxy serves the page, such as ``play.example.org``.
        showcase: whether agents play games while a visitor looks at games in progress.
        ready: called with the page's URL once it is served.
    """
    hub = Hub(address, token, START if arena is None else f"`{command('arena', arena.name)}`")
    hub.showcase = showcase
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
    settings = uvicorn.Config(
        app,
        lifespan="off",
        timeout_graceful_shutdown=1,
        ws_max_size=LONGEST,
        ws_per_message_deflate=False,  # a message to many is compressed once
        ws_ping_interval=None,  # the page has heartbeats of its own
        **guarded(room()),
    )
    server = _Server(settings, hub)
    if ready is not None:
        ready(f"{origin(host, listener.getsockname()[1])}/")
    shown = Showcase(address, token, lambda: hub.watched) if showcase else None
    try:
        # On uvloop where there is one, which takes two thirds of asyncio's time for a message.
        with patient(), asyncio.Runner(loop_factory=settings.get_loop_factory()) as runner:
            runner.run(server.serve([listener]))
    finally:
        if shown is not None:
            shown.close()
        hub.close()
        listener.close()


class _Server(uvicorn.Server):
    """A server that leaves the broker first when it stops, which ends requests to the hub."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.close()
        await super().shutdown(sockets)
