"""Parts of Dovetail: brokers that share a run, a game without a broker, and the store."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Episodes, Measurement, stream
from bench.ours import GAMES
from dovetail.peer.config_location import ConfigSource
from dovetail.peer.vector_random import Twisters
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode, SeatResult
from dovetail_experiments.files.file import made
from dovetail_experiments.records.store import Store
from dovetail_experiments.stages import places
from dovetail_games.connect_four import ConnectFour

SHARD_MATCHES = 64


@contextlib.contextmanager
def shards(count: str) -> Iterator[Measurement]:
    """Play on ``count`` brokers with their peers, each on its own core.

    It takes three times as long as others, since the start and end of a run count.
    """
    trivial = GAMES["trivial"]
    table = {
        "name": "bench",
        "environment": {"name": trivial.environment},
        "agents": {name: {"type": trivial.agent} for name in ("one", "other")},
        "evaluations": [{"name": "bench", "seats": ["one", "other"]}],
    }
    file = made(ConfigSource(Path("bench")), table, {})
    rate = 0.0
    with (
        tempfile.TemporaryDirectory() as at,
        places.in_shards(file, int(count), Path(at, "bench.journal"), Path(at, "logs")) as place,
    ):
        seats = list(place.seat(file, {}).values())

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


@stream
def arrays(slots: str) -> Episodes:
    """Play random moves of Connect Four in many games at once, without a broker."""
    count = int(slots)
    game = ConnectFour.vector(ConnectFour.Configuration(), count)
    assert game is not None
    space: Any = game.init().action_spaces[0]
    players = Twisters(count)
    every = np.arange(count, dtype=np.int32)
    game.start(every, every.astype(np.uint64))
    for batch in itertools.count(1):
        found = game.transitions(every, afterstates=False)
        ended = every[found.over != 0] if found.over is not None else every[:0]
        if len(ended):
            game.start(ended, ended.astype(np.uint64) + count * batch)
        if len(found.rows):
            if found.legal is None:
                actions = players.number(found.rows, space.start, space.n)
            else:
                actions = players.choose(found.rows, found.legal)
            game.step(found.rows, found.seats, actions)
        yield len(found.rows)


@stream
def store() -> Episodes:
    """Add results of two seats to a record in SQLite, in stages of 50,000."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Store(f"sqlite:///{folder}/results.sqlite")
        execution = kept.begin("bench", "{}", 0)
        for number in itertools.count():
            row = kept.begin_stage(execution, number, "evaluation", "all", 0, ["a", "b"], False)
            for index in range(50_000):
                seats = [SeatResult("random", 1 + k, 1.0 - 2 * k, 15, 0.01) for k in range(2)]
                kept.add(row, Episode(1, index, index, index, "terminated", seats, [1.0, 0.0]))
                if index % 5_000 == 4_999:
                    kept.flush()
                    yield 5_000
