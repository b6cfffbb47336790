"""``dovetail ggp``: players and matches of the General Game Playing protocol."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Literal

import typer

from dovetail.cli import common
from dovetail.cli.group import group
from dovetail_bridges.commands.engines import State, loaded

app = group(name="ggp", help="Play games of the General Game Playing protocol.")


def add(to: typer.Typer) -> None:
    """Add the commands."""
    to.add_typer(app)


@app.command("player")
def player(
    name: Annotated[str, typer.Argument(autocompletion=common.complete_agent)],
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 9147,
    set_: common.Set = None,
    seed: Annotated[int, common.seed("Seed of the agent's random choices.")] = 0,
    state: State = None,
    learn: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False)] = None,
    register_: common.Register = None,
) -> None:
    """Serve an agent to a game manager over HTTP; stop with Ctrl-C.

    Example: dovetail ggp player mcts --port 9147

    Args:
        name: An agent's name, or file.py:Class.
        host: Address to listen on.
        port: Port to listen on; 0 picks a free one.
        learn: Let the agent learn, and save it here at the end.
    """
    from dovetail_bridges.gdl.http import Server
    from dovetail_bridges.gdl.protocol import Protocol

    common.register(register_)
    common.log_to_stderr()
    one = loaded(name, common.settings(set_), state, seed)
    with ThreadPoolExecutor(1) as pool:
        protocol = Protocol(one, seed, "evaluate" if learn is None else "learn", pool=pool)
        with Server(protocol, host, port) as server:
            print(f"agent {name} ready at {server.address}", flush=True)
            try:
                server.serve_forever(poll_interval=0.1)
            finally:
                with server.turn:
                    protocol.close()
                    if learn is not None:
                        learn.write_bytes(one.save())


@app.command("match")
def match(
    rules: str,
    players: Annotated[list[str], typer.Argument(metavar="URL...")],
    start_clock: Annotated[int, typer.Option(min=1)] = 10,
    play_clock: Annotated[int, typer.Option(min=1)] = 10,
    games: Annotated[int, typer.Option(min=1)] = 1,
    seed: Annotated[int, common.seed("Seed of chance; one higher for each match.")] = 0,
    on_fault: Literal["random", "forfeit"] = "random",
) -> int:
    """Play matches between players that answer over HTTP.

    Example: dovetail ggp match connect_four http://127.0.0.1:9147 http://127.0.0.1:9148

    Args:
        rules: A file with the rules, or the name of a bundled game.
        players: A player for each role, in order.
        start_clock: Seconds before the first move.
        play_clock: Seconds for each move.
        games: Number of matches.
        on_fault: The cost of a late or illegal answer: a random move, or the match.
    """
    from dovetail_bridges.gdl.environment import bundled, read_file, rules_of
    from dovetail_bridges.gdl.kif import show
    from dovetail_bridges.gdl.manager import play

    text = rules_of(rules) if rules in bundled() else read_file(rules)
    faults = 0
    for number in range(games):
        result = play(
            text,
            players,
            start_clock=start_clock,
            play_clock=play_clock,
            seed=seed + number,
            fault=on_fault,
        )
        for error in result.errors:
            print(f"match {number}: {error}")
        faults += len(result.errors)
        goals = ", ".join(f"{show(role)} {goal}" for role, goal in result.goals.items())
        print(f"match {number}: {len(result.moves)} steps; {goals}", flush=True)
    return common.FAILED if faults else common.OK
