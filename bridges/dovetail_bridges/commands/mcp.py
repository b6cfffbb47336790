"""``dovetail mcp``: seats for programs that speak the Model Context Protocol."""

from __future__ import annotations

import secrets
import sys
from contextlib import ExitStack, nullcontext
from typing import Annotated

import typer

from dovetail.cli import common
from dovetail.cli.standard_streams import conversation
from dovetail.protocol import messages as m

LOOPBACK = ("127.0.0.1", "localhost", "::1")

# Options of the commands that offer seats.
Game = Annotated[
    str,
    typer.Option(
        help="A built-in name, module:Class or path/to/file.py:Class.",
        autocompletion=common.complete_environment,
    ),
]
Against = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AGENT",
        help="Agent for the other seats; default: random; repeat it to name one for each.",
        autocompletion=common.complete_agent,
    ),
]
SetAgent = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Set a parameter of the agents; may be repeated."),
]
Seed = Annotated[int | None, common.seed("Seed; the same seed gives the same games.")]
Clock = Annotated[
    float | None,
    typer.Option(min=1.0, metavar="SECONDS", help="Time for each decision; see --on-timeout."),
]
OnTimeout = Annotated[
    m.Breach,
    typer.Option(
        help="The cost of a late answer: the game, a random action, or a game without a result."
    ),
]


def check_open_seats(host: str, connect: str | None, registered: list[str] | None) -> None:
    """Check the address at which seats are offered, since anyone who reaches it may take one.

    Raises:
        UsageError: others may reach them, or ``--register`` has no effect.
    """
    if host not in LOOPBACK:
        raise common.UsageError(
            f"--host {host}: there is no access control, so only loopback addresses are served; "
            "put a proxy that authenticates in front"
        )
    if registered and connect is not None:
        raise common.UsageError("--register works only within this program; remove --connect")


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mcp")(mcp)


def mcp(
    game: Game = "connect_four",
    seat: Annotated[list[int] | None, typer.Option(min=0)] = None,
    against: Against = None,
    set_: common.Set = None,
    set_agent: SetAgent = None,
    games: Annotated[int, typer.Option(min=1)] = 100,
    seed: Seed = None,
    clock: Clock = None,
    on_timeout: OnTimeout = "forfeit",
    http: bool = False,
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8765,
    register_: common.Register = None,
    connect: common.MaybeConnect = None,
    token: common.Token = None,
    key: common.KeyFile = None,
) -> None:
    """Offer seats in a game to language models and other programs that speak MCP.

    Example: dovetail mcp --game connect_four --seat 0 --against td

    Example: dovetail mcp --game dots --http --seat 0 --seat 1

    Args:
        seat: An open seat; default 0; may be repeated with --http.
        games: Maximum number of games.
        http: Serve over HTTP, not over stdio.
        host: With --http: loopback address to listen on.
        port: With --http: port to listen on; 0 picks a free one.
    """
    seats = seat or [0]
    if len(seats) > 1 and not http:
        raise common.UsageError("stdio serves one seat; add --http for several")
    check_open_seats(host, connect, register_)
    common.log_to_stderr()
    with ExitStack() as stack:
        lines, out = stack.enter_context(
            nullcontext((sys.stdin, sys.stdout)) if http else conversation()
        )
        common.register(register_)
        from dovetail_bridges.mcp.server import serve_http, serve_stdio
        from dovetail_bridges.table import OpenTable

        table = stack.enter_context(
            OpenTable(
                game,
                seats,
                against if against is not None else ["random"],
                parameters=common.settings(set_agent, "--set-agent"),
                configuration=common.settings(set_),
                seed=secrets.randbelow(1 << 53) if seed is None else seed,
                games=games,
                clock=clock,
                on_timeout=on_timeout,
                connect=connect,
                token=token,
            )
        )
        if not http:
            common.warn(f"{game}: seat {seats[0]} is open on stdin and stdout")
            serve_stdio(table, lines, out)
            return

        def ready(urls: dict[int, str]) -> None:
            for number, url in urls.items():
                print(f"{game}: seat {number} is open at {url}", flush=True)

        serve_http(table, host, port, ready)
