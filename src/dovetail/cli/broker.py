"""``dovetail broker``."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli.common import ADDRESS, Token, log_to_stderr, warn


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(broker)


def broker(
    bind: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Where to listen; port * takes any free one."),
    ] = ADDRESS,
    journal: Annotated[
        str,
        typer.Option(metavar="PATH", help="Where episodes are written down; `none` for nowhere."),
    ] = "dovetail.journal",
    sync: Annotated[
        bool, typer.Option("--sync", help="Force every record to the disk, against loss of power.")
    ] = False,
    token: Token = None,
    heartbeat: Annotated[
        float, typer.Option(min=0.05, metavar="SECONDS", help="Time between pings.")
    ] = 1.0,
    peer_timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="Disconnect an idle peer after this much silence.",
        ),
    ] = 30.0,
    grace: Annotated[
        float,
        typer.Option(min=0.0, metavar="SECONDS", help="How long a lost peer's seats are kept."),
    ] = 10.0,
    finish: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="How long to let episodes in progress finish when the broker is asked to stop.",
        ),
    ] = 3.0,
) -> None:
    """Run the broker that environments, agents and experiments connect to.

    The first Ctrl-C ends it in order, the second at once.

    Example: dovetail broker --journal games.journal
    """
    from dovetail.broker.core import Settings
    from dovetail.broker.journal import Journal
    from dovetail.broker.serve import serve
    from dovetail.broker.server import Server

    log_to_stderr()
    if token is None and not loopback(bind):
        warn(f"anybody who reaches {bind} can use this broker; give it a --token")

    def ready(server: Server) -> None:
        print(f"broker ready at {server.address}", flush=True)

    serve(
        bind,
        settings=Settings(token=token, heartbeat=heartbeat, peer_timeout=peer_timeout, grace=grace),
        journal=None if journal == "none" else Journal(Path(journal), sync=sync),
        finish=finish,
        ready=ready,
    )


def loopback(address: str) -> bool:
    """Whether only programs on this machine can reach an address."""
    transport, _, rest = address.partition("://")
    if transport != "tcp":
        return transport in ("ipc", "inproc")
    host = rest.rpartition(":")[0].strip("[]")
    if host in ("localhost", "lo"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
