"""``dovetail broker``."""

from __future__ import annotations

import ipaddress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli.common import ADDRESS, Token, log_to_stderr, warn


class Sync(StrEnum):
    """How the journal is forced to the device."""

    none = "none"
    batch = "batch"
    always = "always"


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(broker)


def broker(
    bind: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; * as the port picks a free one."
        ),
    ] = ADDRESS,
    journal: Annotated[
        str,
        typer.Option(metavar="PATH", help="File to record episodes in; `none` for no journal."),
    ] = "dovetail.journal",
    sync: Annotated[
        Sync,
        typer.Option(
            help="When to force the journal to the device, against a power failure: none leaves it to "
            "the system, batch loses a second at most, always loses nothing and is slow."
        ),
    ] = Sync.none,
    durable: Annotated[
        bool,
        typer.Option(
            help="Continue the runs in progress if the broker is killed and started again with the same "
            "journal."
        ),
    ] = True,
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
        typer.Option(min=0.0, metavar="SECONDS", help="How long to keep a lost peer's seats."),
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

    The first Ctrl-C stops it gracefully, the second immediately.

    Example: dovetail broker --journal games.journal
    """
    from dovetail.broker.core import Settings
    from dovetail.broker.journal import Journal
    from dovetail.broker.serve import serve
    from dovetail.broker.server import Server

    log_to_stderr()
    if token is None and not loopback(bind):
        warn(
            f"{bind} is reachable from other machines and no --token is set; set one to restrict access"
        )

    def ready(server: Server) -> None:
        print(f"broker ready at {server.address}", flush=True)

    serve(
        bind,
        settings=Settings(token=token, heartbeat=heartbeat, peer_timeout=peer_timeout, grace=grace),
        journal=None if journal == "none" else Journal(Path(journal), sync=sync.value),
        durable=durable,
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
