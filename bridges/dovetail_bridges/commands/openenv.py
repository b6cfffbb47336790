"""``dovetail openenv``: seats for clients and trainers that speak OpenEnv."""

from __future__ import annotations

import secrets
from typing import Annotated, Literal

import typer

from dovetail.cli import common
from dovetail_bridges.commands.mcp import (
    Against,
    Clock,
    Game,
    OnTimeout,
    Seed,
    SetAgent,
    check_open_seats,
)

FOREVER = 1 << 40
"""The number of games of a table that is served until the program ends."""


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("openenv")(openenv)


def openenv(
    game: Game = "connect_four",
    seat: Annotated[list[int] | None, typer.Option(min=0)] = None,
    against: Against = None,
    set_: common.Set = None,
    set_agent: SetAgent = None,
    sessions: Annotated[int, typer.Option(min=1)] = 8,
    tables: Annotated[int, typer.Option(min=1)] = 1,
    illegal: Literal["observe", "forfeit", "error"] = "observe",
    tries: Annotated[int, typer.Option(min=0)] = 3,
    observe: Literal["text", "values", "both"] = "both",
    idle: Annotated[float, typer.Option(min=1.0)] = 600.0,
    back: Annotated[float, typer.Option("--return", min=0.0)] = 10.0,
    clock: Clock = None,
    on_timeout: OnTimeout = "forfeit",
    seed: Seed = None,
    page: Annotated[list[str] | None, typer.Option("--origin")] = None,
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    register_: common.Register = None,
    connect: common.MaybeConnect = None,
    token: common.Token = None,
    key: common.KeyFile = None,
) -> None:
    """Offer seats in a game to clients and trainers that speak OpenEnv.

    Example: dovetail openenv --game connect_four --seat 0 --against td

    Example: dovetail openenv --game dots --seat 0 --seat 1 --tables 4

    Args:
        seat: An open seat; default 0; repeat it for clients that share a game.
        sessions: With one seat: sessions at a time, each with its own game.
        tables: With several seats: games that clients share at a time.
        illegal: The effect of an illegal action.
        tries: With observe: refused actions before one costs the game.
        observe: Form of the positions.
        idle: Seconds without a request that end a session.
        back: Seconds in which a client that was lost may come back.
        page: Origin of a web page that may connect; may be repeated.
        host: Loopback address to listen on.
        port: Port to listen on; 0 picks a free one.
    """
    check_open_seats(host, connect, register_)
    common.log_to_stderr()
    common.register(register_)
    from dovetail_bridges.openenv.server import OpenEnvServer, Seats, serve
    from dovetail_bridges.openenv.session import Rules
    from dovetail_bridges.table import OpenTable

    open_ = sorted(set(seat or [0]))
    parameters, configuration = common.settings(set_agent, "--set-agent"), common.settings(set_)

    def make() -> OpenTable:
        return OpenTable(
            game,
            open_,
            against if against is not None else ["random"],
            parameters=parameters,
            configuration=configuration,
            seed=secrets.randbelow(1 << 53) if seed is None else seed,
            games=FOREVER,
            clock=clock,
            on_timeout=on_timeout,
            connect=connect,
            token=token,
            together=True,
        )

    with make() as table:  # a wrong option is told before a connection
        spaces, description = table.spaces(), table.description
    rules = Rules(illegal=illegal, tries=tries, observe=observe)
    seats = Seats(make, open_, tables=tables, sessions=sessions, back=back, rules=rules)
    server = OpenEnvServer(seats, game, description, spaces, origins=page or [], idle=idle)

    def ready(urls: list[str]) -> None:
        for url in urls:
            print(f"{game}: {url}", flush=True)

    try:
        serve(server, host, port, ready)
    finally:
        seats.close()
