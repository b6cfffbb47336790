"""Dovetail's own figures, with a process per role or all in one process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bench.measure import BenchError, steady
from bench.references import Transport
from dovetail import Experiment, InProcess

MANY = 10_000_000
"""More episodes than any measurement plays."""
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Game:
    """A game and the peers that play it."""

    environment: str
    """Arguments for ``dovetail env``."""
    offered: str
    """Fields of a run."""
    agent: str
    player: str
    programs: tuple[tuple[str, ...], ...] = ()
    """Commands of the peers, instead of ``dovetail env`` and ``dovetail agent``; they find the
    broker in DOVETAIL_BROKER."""
    configuration: dict[str, Any] = field(default_factory=dict)


STACKED_TRIVIAL = Game(
    "bench.stacked_peers:Trivial", "trivial", "bench.stacked_peers:First", "first"
)
"""The trivial game as arrays."""
STACKED_FRAMES = Game("bench.stacked_peers:Frames", "frames", "bench.stacked_peers:First", "first")
TRIVIAL = Game("bench.peers:Trivial", "trivial", "bench.peers:First", "first")
FRAMES = Game("bench.peers:Frames", "frames", "bench.peers:First", "first")
GAMES = {
    "trivial": TRIVIAL,
    "connect_four": Game("connect_four", "connect_four", "random", "random"),
}


@dataclass(frozen=True)
class Running:
    """A broker with peers, and this process as the experiment."""

    experiment: Experiment
    address: str


@contextlib.contextmanager
def running(
    game: Game,
    transport: Transport,
    options: Sequence[str] = (),
    *,
    hosted: bool = False,
    keys: bool = False,
) -> Iterator[Running]:
    """Start broker, environment and agent as processes, and stop them afterwards.

    A ``hosted`` environment runs in the broker's process; ``keys`` encrypts all connections. The
    broker writes its journal, with checks and clocks on, and takes additional ``options``.

    Raises:
        BenchError: a process does not start.
    """
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dovetail-bench-")))
        log = stack.enter_context((directory / "log").open("w+"))

        def run(*command: str, **variables: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                env={**os.environ, **variables},
            )
            stack.callback(process.communicate)
            stack.callback(process.kill)
            return process

        key = directory / "key" if keys else None
        variables = {"DOVETAIL_KEY": str(key)} if keys else {}

        def start(*arguments: str) -> subprocess.Popen[str]:
            return run(sys.executable, "-m", "dovetail", *arguments, **variables)

        if keys:
            access = ("--access", str(directory / "access.toml"))
            start("keys", "make", "bench", *access, "--out", str(key)).communicate()
            options = (*access, *options)

        bind = "tcp://127.0.0.1:*" if transport == "tcp" else f"ipc://{directory}/broker"
        journal = ("--journal", str(directory / "bench.journal"))
        inside = ("--env", game.environment) if hosted else ()
        broker = start("broker", "--bind", bind, *journal, *inside, *options)
        assert broker.stdout is not None
        ready = broker.stdout.readline()
        if "://" not in ready:
            raise BenchError(f"the broker does not start: {_last(log)}")
        address = ready.split()[-1]
        others = [run(*each, DOVETAIL_BROKER=address) for each in game.programs] or [
            *([] if hosted else [start("env", game.environment, "--connect", address)]),
            start("agent", game.agent, "--connect", address),
        ]
        experiment = stack.enter_context(Experiment.connect(address, key=key))
        try:
            experiment.expect([game.offered], [game.player])
        except Exception as error:
            ended = any(other.poll() is not None for other in others)
            raise BenchError(_last(log) if ended else str(error)) from error
        yield Running(experiment, address)


def _last(log: IO[str]) -> str:
    log.seek(0)
    lines = log.read().strip().splitlines()
    return lines[-1] if lines else "it says nothing"


@contextlib.contextmanager
def playing(
    experiment: Experiment,
    game: Game,
    concurrency: int,
    *,
    stacked: bool = False,
) -> Iterator[Iterator[int]]:
    """Start a run; yield the turns of each finished episode; cancel the run afterwards."""
    players = [experiment.create(game.player, seed=seat) for seat in range(2)]
    run = experiment.run(
        game.offered,
        players,
        episodes=MANY,
        concurrency=concurrency,
        seed=1,
        clock={"decision": 60.0},
        configuration=game.configuration,
        stacked=stacked,
    )

    def turns() -> Iterator[int]:
        for episode in run:
            if episode.reason != "terminated":
                raise BenchError(f"an episode ended as {episode.reason}: {episode.message}")
            yield episode.turns

    yield turns()
    run.cancel()


def play_here(game: Game, seconds: float) -> float:
    """Return the turns per second with everything in this process."""
    with (
        InProcess([game.environment], [game.agent]) as experiment,
        playing(experiment, game, 1) as turns,
    ):
        return steady(turns, seconds)
