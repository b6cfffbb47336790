"""``dovetail mcp``: seats for programs that speak the Model Context Protocol."""

from __future__ import annotations

import secrets
import sys
from contextlib import ExitStack, nullcontext
from typing import Annotated

import typer

from dovetail.cli.common import (
    KeyFile,
    MaybeConnect,
    Register,
    Set,
    Token,
    UsageError,
    complete_agent,
    complete_environment,
    log_to_stderr,
    register,
    settings,
    warn,
)
from dovetail.cli.standard_streams import conversation
from dovetail.protocol import messages as m

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mcp")(mcp)


def mcp(
    game: Annotated[
        str,
        typer.Option(
            help="A built-in name, module:Class or path/to/file.py:Class.",
            autocompletion=complete_environment,
        ),
    ] = "connect_four",
    seat: Annotated[
        list[int] | None,
        typer.Option(min=0, help="An open seat; default 0; may be repeated with --http."),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT",
            help="Agent for the other seats; default: random; repeat it to name one for each.",
            autocompletion=complete_agent,
        ),
    ] = None,
    set_: Set = None,
    set_agent: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Set a parameter of the agents; may be repeated."),
    ] = None,
    games: Annotated[int, typer.Option(min=1, help="Maximum number of games.")] = 100,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed; the same seed gives the same games.")
    ] = None,
    clock: Annotated[
        float | None,
        typer.Option(min=1.0, metavar="SECONDS", help="Time for each decision; see --on-timeout."),
    ] = None,
    on_timeout: Annotated[
        m.Breach,
        typer.Option(
            help="The cost of a late answer: the game, a random action, or a game without a result."
        ),
    ] = "forfeit",
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, not over stdio.")] = False,
    host: Annotated[
        str, typer.Option(help="With --http: loopback address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="With --http: port to listen on; 0 picks a free one."),
    ] = 8765,
    register_: Register = None,
    connect: MaybeConnect = None,
    token: Token = None,
    key: KeyFile = None,
) -> None:
    """Offer seats in a game to language models and other programs that speak MCP.

    Example: dovetail mcp --game connect_four --seat 0 --against td

    Example: dovetail mcp --game dots --http --seat 0 --seat 1
    """
    seats = seat or [0]
    if len(seats) > 1 and not http:
        raise UsageError("stdio serves one seat; add --http for several")
    if host not in LOOPBACK:
        raise UsageError(
            f"--host {host}: there is no access control, so only loopback addresses are served; "
            "put a proxy that authenticates in front"
        )
    if register_ and connect is not None:
        raise UsageError("--register works only within this program; remove --connect")
    log_to_stderr()
    with ExitStack() as stack:
        lines, out = stack.enter_context(
            nullcontext((sys.stdin, sys.stdout)) if http else conversation()
        )
        register(register_)
        from dovetail_bridges.mcp.server import serve_http, serve_stdio
        from dovetail_bridges.table import OpenTable

        table = stack.enter_context(
            OpenTable(
                game,
                seats,
                against if against is not None else ["random"],
                parameters=settings(set_agent, "--set-agent"),
                configuration=settings(set_),
                seed=secrets.randbelow(1 << 53) if seed is None else seed,
                games=games,
                clock=clock,
                on_timeout=on_timeout,
                connect=connect,
                token=token,
            )
        )
        if not http:
            warn(f"{game}: seat {seats[0]} is open on stdin and stdout")
            serve_stdio(table, lines, out)
            return

        def ready(urls: dict[int, str]) -> None:
            for number, url in urls.items():
                print(f"{game}: seat {number} is open at {url}", flush=True)

        serve_http(table, host, port, ready)
