"""Dovetail's own figures, with a process per role or all in one process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from bench.measure import WARM_UP, BenchError, Measurement, children, hear, line, program, steady
from bench.references import Transport
from dovetail import Experiment, InProcess
from dovetail.broker.peers.limits import MATCHES
from dovetail.client.client import RunHandle
from dovetail.peer.link import Link
from dovetail.protocol import messages as m

MANY = 10_000_000
"""More episodes than any measurement plays."""
OBSERVERS = 20
WAVES = 20
"""Turns of each match in a burst at least, since many matches take theirs in waves."""
ROOT = Path(__file__).resolve().parent.parent
DOVETAIL = (sys.executable, "-m", "dovetail")


@dataclass(frozen=True)
class Game:
    """A game and the peers that play it."""

    offered: str
    """Field of a run."""
    player: str
    environment: str
    """Argument of ``dovetail env``."""
    agent: str
    programs: tuple[tuple[str, ...], ...] = ()
    """Commands of the peers, instead of ``dovetail env`` and ``dovetail agent``; they find the
    broker in DOVETAIL_BROKER."""


GAMES = {
    "trivial": Game("trivial", "first", "bench.peers:Trivial", "bench.peers:First"),
    "arrays": Game("trivial", "first", "bench.peers:Stacked", "bench.peers:StackedFirst"),
    "connect_four": Game("connect_four", "random", "connect_four", "random"),
}


@contextlib.contextmanager
def running(
    game: Game, transport: Transport, *broker: str, hosted: bool = False, keys: bool = False
) -> Iterator[tuple[Experiment, str]]:
    """Start broker, environment and agent as processes; yield a connected experiment and the
    broker's address; stop them afterwards.

    A ``hosted`` environment runs in the broker's process; ``keys`` encrypts all connections. The
    broker writes its journal, with checks and clocks on, and takes additional options. A process
    that does not start raises BenchError.
    """
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dovetail-bench-")))
        log = stack.enter_context((directory / "log").open("w+"))
        key = directory / "key" if keys else None
        variables = {"DOVETAIL_KEY": str(key)} if keys else {}

        def run(*command: str, **more: str) -> subprocess.Popen[str]:
            environment = {**os.environ, **variables, **more}
            return stack.enter_context(program(command, stderr=log, cwd=ROOT, env=environment))

        if keys:
            access = ("--access", str(directory / "access.toml"))
            run(*DOVETAIL, "keys", "make", "bench", *access, "--out", str(key)).wait()
            broker = (*access, *broker)
        bind = "tcp://127.0.0.1:*" if transport == "tcp" else f"ipc://{directory}/broker"
        journal = ("--journal", str(directory / "bench.journal"))
        inside = ("--env", game.environment) if hosted else ()
        ready = line(run(*DOVETAIL, "broker", "--bind", bind, *journal, *inside, *broker))
        if "://" not in ready:
            raise BenchError(f"the broker does not start: {_last(log)}")
        address = ready.split()[-1]
        peers = game.programs or (
            *([] if hosted else [(*DOVETAIL, "env", game.environment)]),
            (*DOVETAIL, "agent", game.agent),
        )
        others = [run(*peer, DOVETAIL_BROKER=address) for peer in peers]
        experiment = stack.enter_context(Experiment.connect(address, key=key))
        try:
            experiment.expect([game.offered], [game.player])
        except Exception as error:
            ended = any(other.poll() is not None for other in others)
            raise BenchError(_last(log) if ended else str(error)) from error
        yield experiment, address


def _last(log: IO[str]) -> str:
    log.seek(0)
    lines = log.read().strip().splitlines()
    return lines[-1] if lines else "it says nothing"


def _turns(run: Iterable[m.Episode]) -> Iterator[int]:
    for episode in run:
        if episode.reason != "terminated":
            raise BenchError(f"an episode ended as {episode.reason}: {episode.message}")
        yield episode.turns


def _begin(
    experiment: Experiment, game: Game, count: int, size: str = "", stacked: bool = False
) -> RunHandle:
    return experiment.run(
        game.offered,
        [experiment.create(game.player, seed=seat) for seat in range(2)],
        episodes=MANY,
        concurrency=count,
        seed=1,
        clock={"decision": 60.0},
        configuration={"size": int(size)} if size else {},
        stacked=stacked,
    )


def _bursts(
    experiment: Experiment, game: Game, count: int = 1, *, size: str = "", stacked: bool = False
) -> Measurement:
    """Return the measurement of a number of simultaneous matches with running peers."""

    def burst(seconds: float) -> float:
        run = _begin(experiment, game, count, size, stacked)
        rate = steady(_turns(run), seconds, count)
        run.cancel()
        return rate

    return burst


@contextlib.contextmanager
def matches(
    transport: Transport,
    count: str,
    broker: str = "",
    game: str = "trivial",
    size: str = "",
    hosted: str = "",
    keys: str = "",
    stacked: str = "",
    observed: str = "",
) -> Iterator[Measurement]:
    """Play a number of matches at once, with a process for each role.

    ``broker`` is an option of the broker, ``size`` the bytes of an observation, of a trivial game.
    "yes" runs the environment in the broker's process (``hosted``), encrypts all connections
    (``keys``), plays in batches (``stacked``), or adds observers of all turns, which use the
    remaining processor time (``observed``).
    """
    chosen = GAMES[game]
    with (
        running(chosen, transport, *broker.split(), hosted=bool(hosted), keys=bool(keys)) as there,
        children() as start,
    ):
        experiment, address = there
        if observed:
            hear(start(_observe, address))
        yield _bursts(experiment, chosen, int(count), size=size, stacked=bool(stacked))


@contextlib.contextmanager
def crowd(count: str) -> Iterator[Measurement]:
    """Play many matches, at most 4,096 for each experiment; the broker counts the turns."""
    shares = [min(MATCHES, int(count) - first) for first in range(0, int(count), MATCHES)]
    with running(GAMES["trivial"], "tcp") as (first, address), contextlib.ExitStack() as stack:
        others = [stack.enter_context(Experiment.connect(address)) for _ in shares[1:]]

        def turns(seconds: float) -> tuple[int, float]:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                for experiment in (first, *others):
                    experiment.wait(0.01)
            return first.catalogue()["counters"]["turns"], time.perf_counter()

        def burst(seconds: float) -> float:
            pairs = zip((first, *others), shares, strict=True)
            runs = [_begin(experiment, GAMES["trivial"], share) for experiment, share in pairs]
            while sum(run.progress.running for run in runs) < int(count):
                turns(0.1)
            before, begun = after, ended = turns(WARM_UP)
            while after - before < WAVES * int(count):
                after, ended = turns(seconds)
            for run in runs:
                run.cancel()
            return (after - before) / (ended - begun)

        yield burst


def _observe(address: str, pipe: Connection) -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    links = [Link(address, m.Hello(m.VERSION, "observer")) for _ in range(OBSERVERS)]
    for link in links:
        link.send([m.Watch(1)])
    pipe.send("watching")
    while True:
        for link in links:
            link.receive(0.002)


@contextlib.contextmanager
def client(language: str, size: str = "") -> Iterator[Measurement]:
    """Play one match in a language; observations of ``size`` bytes come from a Python game."""
    environment: tuple[str, ...] = (*DOVETAIL, "env", "bench.peers:Bench")
    agent: tuple[str, ...] = (*DOVETAIL, "agent", "bench.peers:BenchAgent")
    if language != "python":
        run = (str(ROOT / "clients" / "run"), language, "bench")
        environment, agent = (*run, "environment"), (*run, "agent")
    if size:
        environment = (*DOVETAIL, "env", "bench.peers:Trivial")
    game = Game("trivial" if size else "bench", "bench", "", "", (environment, agent))
    with contextlib.ExitStack() as stack:
        try:
            experiment, _ = stack.enter_context(running(game, "tcp"))
        except BenchError as error:
            raise BenchError(f"is it built, by `make clients`? {error}") from None
        burst = _bursts(experiment, game, size=size)
        burst(4.0 if language == "java" else 0.5)  # for the JVM's compiler
        yield burst


@contextlib.contextmanager
def in_process(game: str = "trivial") -> Iterator[Measurement]:
    """Play one match with everything in this process."""
    chosen = GAMES[game]
    with InProcess([chosen.environment], [chosen.agent]) as experiment:
        yield _bursts(experiment, chosen)
