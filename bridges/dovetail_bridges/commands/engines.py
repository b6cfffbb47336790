"""``dovetail uci`` and ``dovetail gtp``: an agent as an engine, on standard input and output."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli import common
from dovetail.cli.common import Register, Set, UsageError, log_to_stderr, made, register, settings
from dovetail.cli.standard_streams import conversation
from dovetail.protocol import outside

if TYPE_CHECKING:
    from dovetail.peer.agents.agent import Agent

Seed = Annotated[int, common.seed("Seed of the agent's random choices.")]
State = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Load a state that the agent saved.")
]
Name = Annotated[
    str,
    typer.Option(
        "--agent", metavar="AGENT", help="A built-in name, module:Class or path/to/file.py:Class."
    ),
]


def add(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(uci)
    app.command()(gtp)


def uci(
    agent: Name, set_: Set = None, state: State = None, seed: Seed = 0, register_: Register = None
) -> None:
    """Run an agent as a UCI chess engine, for GUIs and tournament managers.

    Example: dovetail uci --agent random
    """
    from dovetail_bridges.uci.server import Front

    log_to_stderr()
    lock = threading.Lock()
    with conversation() as (lines, out):

        def say(line: str) -> None:
            with lock:
                print(line, file=out, flush=True)

        register(register_)

        def make(changed: dict[str, Any], seed: int) -> Agent:
            return loaded(agent, {**settings(set_), **changed}, state, seed)

        front = Front(make({}, seed), say, seed, make)
        try:
            for line in lines:
                if not front.handle(line):
                    break
        finally:
            front.close()


def gtp(
    agent: Name,
    set_: Set = None,
    state: State = None,
    seed: Seed = 0,
    size: Annotated[int, typer.Option(min=2, max=19)] = 19,
    komi: float = 7.5,
    register_: Register = None,
) -> None:
    """Run an agent as a GTP Go engine, for GUIs and tournament managers.

    Example: dovetail gtp --agent random

    Args:
        size: The board's size at first.
        komi: The komi at first.
    """
    from dovetail_bridges.gtp.server import Front

    log_to_stderr()
    with conversation() as (lines, out):
        register(register_)
        front = Front(loaded(agent, settings(set_), state, seed), size, komi, seed)
        try:
            for line in lines:
                answer = front.handle(line)
                if answer is None:
                    continue
                out.write(answer)
                out.flush()
                if front.over:
                    break
        finally:
            front.close()


def loaded(name: str, given: dict[str, Any], state: Path | None, seed: int) -> Agent:
    """Return an agent with options that the local user has set, and a state that it saved."""
    one = made(name, given, seed)
    if state is not None:
        try:
            one.load(outside.data(state, outside.STATE))
        except OSError as error:
            raise UsageError(f"--state: cannot read {state}: {error.strerror}") from None
    return one
