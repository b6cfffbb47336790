"""The bench's subjects, each its own process: ``python bench/subjects.py KIND [ARGUMENT...]``.

A subject prints ``ready``. Then it reads numbers of seconds to play, one per line, and answers each
with its turns per second or an error, until its input ends.  ``matches`` also runs in a checkout of
the table's base commit, so it uses only what exists there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from pathlib import Path

from bench import dovetail_rows as rows
from bench.measure import BenchError, Measurement, children, hear, steady
from bench.references import Transport

OBSERVERS, SHARD_MATCHES = 20, 64


def _bursts(there: rows.Running, game: rows.Game, count: int, **options: bool) -> Measurement:
    """Return the measurement of a number of simultaneous matches with running peers."""
    playing = getattr(rows, "playing", None) or rows._playing  # type: ignore[attr-defined]  # the base's

    def burst(seconds: float) -> float:
        with playing(there.experiment, game, count, **options) as turns:
            return steady(turns, seconds, count)

    return burst


@contextlib.contextmanager
def matches(transport: Transport, count: str, *options: str) -> Iterator[Measurement]:
    """Play a number of single matches at once, with a process for each role.

    The option ``hosted`` runs the environment in the broker's process and ``keys`` encrypts all
    connections; options with dashes are passed to the broker.
    """
    running = functools.partial(rows.running, rows.TRIVIAL, transport)
    if options:  # unknown to the base
        ours = [each for each in options if each.startswith("--")]
        running = functools.partial(running, ours, hosted="hosted" in options)
        running = functools.partial(running, keys="keys" in options)
    with running() as there:
        yield _bursts(there, rows.TRIVIAL, int(count))


@contextlib.contextmanager
def frames(count: str, size: str, *options: str) -> Iterator[Measurement]:
    """Play single matches over ipc with observations of ``size`` bytes."""
    game = dataclasses.replace(rows.FRAMES, configuration={"size": int(size)})
    with rows.running(game, "ipc", options) as there:
        yield _bursts(there, game, int(count))


@contextlib.contextmanager
def sockets(size: str) -> Iterator[Measurement]:
    """Use raw Unix sockets with the same hops, and observations of ``size`` bytes."""
    from bench import references

    yield references.sockets(int(size))


@contextlib.contextmanager
def stacked(transport: Transport, slots: str, game: str = "trivial") -> Iterator[Measurement]:
    """Play ``slots`` matches at once, in batches."""
    chosen = rows.STACKED_TRIVIAL if game == "trivial" else rows.GAMES[game]
    with rows.running(chosen, transport) as there:
        yield _bursts(there, chosen, int(slots), stacked=True)


@contextlib.contextmanager
def stacked_frames(slots: str, size: str) -> Iterator[Measurement]:
    """Play matches in batches, with observations of ``size`` bytes."""
    game = dataclasses.replace(rows.STACKED_FRAMES, configuration={"size": int(size)})
    with rows.running(game, "ipc") as there:
        yield _bursts(there, game, int(slots), stacked=True)


@contextlib.contextmanager
def copies(slots: str, size: str) -> Iterator[Measurement]:
    """Copy as many observations at once by numpy, which measures the speed of memory."""
    import numpy as np

    seen = np.ones((int(slots), int(size)), np.uint8)

    def turns() -> Iterator[int]:
        while True:
            yield len(seen.copy())

    yield functools.partial(steady, turns())


@contextlib.contextmanager
def observed(transport: Transport, count: str) -> Iterator[Measurement]:
    """Play ``count`` matches at once, with observers of all turns that use the remaining CPU
    time."""
    with rows.running(rows.TRIVIAL, transport) as there, children() as start:
        if hear(start(_observe, there.address)) != "watching":
            raise BenchError("the observers do not watch")
        yield _bursts(there, rows.TRIVIAL, int(count))


def _observe(address: str, pipe: Connection) -> None:
    from dovetail.peer.link import Link
    from dovetail.protocol import messages as m

    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    links = [Link(address, m.Hello(m.VERSION, "observer")) for _ in range(OBSERVERS)]
    for link in links:
        link.send([m.Watch(1)])
    pipe.send("watching")
    while True:
        for link in links:
            link.receive(0.002)


@contextlib.contextmanager
def shards(count: str) -> Iterator[Measurement]:
    """Play on ``count`` brokers with their peers, each on its own core.

    It takes three times as long as others, since the start and end of a run count.
    """
    from dovetail.peer.config_location import ConfigSource
    from dovetail.protocol.errors import DovetailError
    from dovetail_experiments.files.file import made
    from dovetail_experiments.stages import places

    trivial = rows.TRIVIAL
    table = {
        "name": "bench",
        "environment": {"name": trivial.environment},
        "agents": {name: {"type": trivial.agent} for name in ("one", "other")},
        "evaluations": [{"name": "bench", "seats": ["one", "other"]}],
    }
    file = made(ConfigSource(Path("bench")), table, {})
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        with places.in_shards(file, int(count), at / "bench.journal", at / "logs") as place:
            seats = list(place.seat(file, {}).values())
            rate = 0.0

            def play(episodes: int) -> float:
                begun, turns = time.perf_counter(), 0
                run = place.run(
                    seats,
                    episodes=episodes,
                    concurrency=SHARD_MATCHES,
                    seed=1,
                    mode="evaluate",
                    clock={"decision": 60.0},
                )
                while (results := run.poll()) is not None:
                    turns += sum(each.turns for each in results)
                return turns / (time.perf_counter() - begun)

            def burst(seconds: float) -> float:
                nonlocal rate
                try:
                    rate = play(max(SHARD_MATCHES, int(3 * seconds * (rate or play(1_000)) / 42)))
                except DovetailError:
                    place.check()  # a program's failure explains more than its consequences
                    raise
                return rate

            yield burst


@contextlib.contextmanager
def client(language: str, size: str = "") -> Iterator[Measurement]:
    """Play one match in lock-step, with agent and environment in a language.

    Observations of ``size`` bytes come from a Python environment.
    """
    ours = (sys.executable, "-m", "dovetail")
    environment: tuple[str, ...] = (*ours, "env", "bench.peers:Bench")
    agent: tuple[str, ...] = (*ours, "agent", "bench.peers:BenchAgent")
    if language != "python":
        run = (str(rows.ROOT / "clients" / "run"), language, "bench")
        environment, agent = (*run, "environment"), (*run, "agent")
    game = rows.Game("", "bench", "", "bench", (environment, agent))
    if size:
        frames, asked = (*ours, "env", "bench.peers:Frames"), {"size": int(size)}
        game = rows.Game("", "frames", "", "bench", (frames, agent), asked)
    with contextlib.ExitStack() as stack:
        try:
            there = stack.enter_context(rows.running(game, "tcp"))
        except BenchError as error:
            raise BenchError(f"is it built, by `make clients`? {error}") from None
        burst = _bursts(there, game, 1)
        burst(4.0 if language == "java" else 0.5)  # for the JVM's compiler
        yield burst


@contextlib.contextmanager
def rl_glue(core: str = "") -> Iterator[Measurement]:
    """Play with RL-Glue's core, ``original`` or ours, and raw Python peers."""
    from bench import glue_peers

    with glue_peers.playing(original=core == "original") as burst:
        yield burst


@contextlib.contextmanager
def in_process(game: str = "trivial") -> Iterator[Measurement]:
    yield functools.partial(rows.play_here, rows.GAMES[game])


@contextlib.contextmanager
def rl_environment() -> Iterator[Measurement]:
    """Play OpenSpiel's own loop of agents, over its Connect Four in C++."""
    from open_spiel.python import rl_environment as spiel

    environment, rng = spiel.Environment("connect_four"), random.Random(1)

    def episodes() -> Iterator[int]:
        while True:
            step, turns = environment.reset(), 0
            while not step.last():
                legal = step.observations["legal_actions"][step.observations["current_player"]]
                step = environment.step([legal[int(rng.random() * len(legal))]])
                turns += 1
            yield turns

    yield functools.partial(steady, episodes())


@contextlib.contextmanager
def petting_zoo() -> Iterator[Measurement]:
    """Play PettingZoo's Connect Four with random legal moves, in the loop of its documentation."""
    import numpy as np
    from pettingzoo.classic import connect_four_v3

    game, rng = connect_four_v3.env(), random.Random(1)

    def episodes() -> Iterator[int]:
        for seed in itertools.count():
            game.reset(seed=seed)
            moves = 0
            for _ in game.agent_iter():
                observation, _, terminated, truncated, _ = game.last()
                if terminated or truncated:
                    game.step(None)
                else:
                    game.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
                    moves += 1
            yield moves

    yield functools.partial(steady, episodes())


@contextlib.contextmanager
def batches(whose: str) -> Iterator[Measurement]:
    """Play random moves of Connect Four in many games at once."""
    from bench import batches as found

    turns: Iterator[int] = getattr(found, whose)()
    next(turns)  # compiles
    yield functools.partial(steady, turns)


@contextlib.contextmanager
def relay(transport: Transport, count: str, size: str = "85") -> Iterator[Measurement]:
    """Relay with bare pyzmq over the same hops."""
    from bench import references

    yield references.relay(transport, int(count), size=int(size))


@contextlib.contextmanager
def server(name: str, *arguments: str) -> Iterator[Measurement]:
    """Play one seat of the trivial game, or Connect X, at another server."""
    from bench import servers

    with getattr(servers, name)(*arguments) as burst:
        yield burst


@contextlib.contextmanager
def store() -> Iterator[Measurement]:
    """Add results of two seats to a record in SQLite, in stages of 50,000."""
    from dovetail.protocol.messages import Episode, SeatResult
    from dovetail_experiments.records.store import Store

    def added(made: Store) -> Iterator[int]:
        execution = made.begin("bench", "{}", 0)
        for number in itertools.count():
            row = made.begin_stage(execution, number, "evaluation", "all", 0, ["a", "b"], False)
            for index in range(50_000):
                seats = [SeatResult("random", 1 + k, 1.0 - 2 * k, 15, 0.01) for k in range(2)]
                made.add(row, Episode(1, index, index, index, "terminated", seats, [1.0, 0.0]))
                if index % 5_000 == 4_999:
                    made.flush()
                    yield 5_000

    with tempfile.TemporaryDirectory() as folder:
        made = Store(f"sqlite:///{folder}/results.sqlite")
        yield lambda seconds: steady(added(made), seconds)


KINDS: dict[str, Callable[..., AbstractContextManager[Measurement]]] = {
    each.__name__: each
    for each in (
        *(matches, frames, sockets, stacked, stacked_frames, copies),
        *(observed, shards, client, rl_glue),
        *(in_process, rl_environment, petting_zoo, batches, relay, server, store),
    )
}


def main() -> None:
    kind, *arguments = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # keep libraries' output out of the answers
    try:
        with KINDS[kind](*arguments) as burst:
            print("ready", file=answers)
            for line in sys.stdin:
                print(burst(float(line)), file=answers)
    except Exception as error:
        said = " ".join(str(error).split())
        print(f"failed: {said or type(error).__name__}", file=answers)


if __name__ == "__main__":
    main()
