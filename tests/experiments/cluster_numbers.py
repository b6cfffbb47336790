"""Measures what a cluster and a store cost: ``python -m tests.experiments.cluster_numbers``.

Prints a table, with the load of the machine before it.  The shards share one node with all cores;
the other figures are of three nodes on this host, and say nothing of real machines.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.experiments import test_postgres
from tests.experiments.clusters import cluster
from tests.experiments.test_cluster import LEARNER
from tests.experiments.test_store import begin

from dovetail.protocol import messages as m
from dovetail_experiments.engines.engine import engine
from dovetail_experiments.engines.nodes import Outfit, versions
from dovetail_experiments.engines.pieces import pieces
from dovetail_experiments.files.file import Resources
from dovetail_experiments.records import export
from dovetail_experiments.records.records import Records
from dovetail_experiments.records.store import Store

ROUNDS, PIECES, EPISODES = 5, 1000, 200_000
EVALUATION = """
name = "evaluation"

[environment]
name = "connect_four"
hosted = true

[agents.one]
type = "random"
hosted = true

[agents.two]
type = "random"
hosted = true

[[evaluations]]
name = "all"
seats = ["one", "two"]
episodes = {episodes}
concurrency = 32
rotate = true
check = false
"""
STAGED = """
name = "staged"
seeds = [1, 2]

[environment]
name = "./told.py:Told"

[agents.one]
type = "random"

[[phases]]
name = "play"
seats = ["one", "one"]
episodes = 100
evaluate_every = 20

[[evaluations]]
name = "eval"
seats = ["one", "one"]
episodes = 10
"""
TOLD = """
import time
from dovetail_games.connect_four import ConnectFour

class Told(ConnectFour):
    name = "told"

    def start(self, seed):
        with open({path!r}, "a") as file:
            file.write(f"{{time.time()}}\\n")
        return super().start(seed)
"""


def say(what: str, figures: list[float], form: str = "{:,.2f}") -> float:
    """Print the median of some figures, with the least and the most."""
    middle = statistics.median(figures)
    least, most = form.format(min(figures)), form.format(max(figures))
    print(f"{what:62} {form.format(middle):>10}  ({least} to {most}, {len(figures)})", flush=True)
    return middle


def run(file: Path, *words: str) -> tuple[float, float, Path]:
    """Run a file; return the seconds until its first stage begins, those of its stages, and its
    folder."""
    out = Path(tempfile.mkdtemp(dir=file.parent))
    begun = time.time()
    command = [sys.executable, "-m", "dovetail", "run", str(file), "--out", str(out), *words]
    subprocess.run(command, cwd=file.parent, check=True, stdout=subprocess.DEVNULL)
    [folder] = out.iterdir()
    with Records(folder) as records:
        stages = list(records.rows("stages"))
    first = min(each["started"] for each in stages)
    return first - begun, max(each["finished"] for each in stages) - first, folder


def shards(folder: Path, on: str) -> None:
    file = folder / "evaluation.toml"
    file.write_text(EVALUATION.format(episodes=64_000))
    ways: dict[str, list[str]] = {
        "local": ["--shards=2"],
        "ray": ["--on", on, "--shards=2"],
        "one": ["--on", on, "--shards=1"],
    }
    found: dict[str, list[tuple[float, float]]] = {each: [] for each in ways}
    for _ in range(ROUNDS):
        for name, words in ways.items():
            found[name].append(run(file, *words)[:2])
    seconds = {name: [each for _, each in runs] for name, runs in found.items()}
    pairs = list(zip(*seconds.values(), strict=True))
    say("two shards by Ray, games/s of --shards 2 (bar 0.95)", [a / b for a, b, _ in pairs])
    say("two shards by Ray, games/s of one (1.8 with a third core)", [c / b for _, b, c in pairs])
    say("start by Ray, s (bar 10)", [start for start, _ in found["ray"]])
    say("start without, s", [start for start, _ in found["local"]])


def arrivals(folder: Path, on: str) -> None:
    told = folder / "told"
    (folder / "told.py").write_text(TOLD.format(path=str(told)))
    file = folder / "staged.toml"
    file.write_text(STAGED)
    _, _, out = run(file, "--on", on)
    starts = sorted(map(float, told.read_text().split()))
    with Records(out) as records:
        ends = [each["finished"] for each in records.rows("stages")]
    late = [end - max(each for each in starts if each <= end) for end in ends]
    say("from the start of any game until a stage is stored, s", late)


def work(seconds: float) -> Iterator[float]:
    time.sleep(seconds)
    yield seconds


def trials(on: str, cpus: int) -> None:
    with (
        engine(on, Outfit(versions(), identity="numbers")) as there,
        there.pool(work, Resources()) as pool,
    ):
        for _ in pieces(pool, there.slots, lambda _: (1.0,), there.slots):
            pass  # workers start
        begun = time.monotonic()
        for _ in pieces(pool, PIECES, lambda _: (1.0,), there.slots):
            pass
        took = time.monotonic() - begun
    share = PIECES / there.slots / took
    say(f"{PIECES} pieces of 1 s on 3 nodes of {cpus} CPUs: busy (bar 0.9)", [share])


def actors(folder: Path, on: str) -> None:
    for count in (1, 2):
        file = folder / f"learner-{count}.toml"
        text = LEARNER.replace("./game.py:Mine", "connect_four")
        file.write_text(text.replace("environments = 2", f"environments = {count}"))
        _, seconds, out = run(file, "--on", on)
        with Records(out) as records:
            turns = sum(each["turns"] for each in records.rows("episodes"))
        say(f"one learner, {count} environment nodes: turns/s", [turns / seconds], "{:,.0f}")


def results(count: int) -> Iterator[m.Episode]:
    for number in range(count):
        seats = [m.SeatResult("random", 1 + k, 1.0 - 2 * k, 15, 0.01) for k in range(2)]
        yield m.Episode(number, number, number, 30, "terminated", seats, outcome=[1.0, 0.0])


def stored(url: str) -> float:
    with closing(Store(url)) as store:
        execution, stage = begin(store)
        begun = time.monotonic()
        for each in results(EPISODES):
            store.add(stage, each)
        store.finish_stage(execution, 0, stage, {})
        return EPISODES / (time.monotonic() - begun)


@contextmanager
def stores(folder: Path) -> Iterator[dict[str, Callable[[], str]]]:
    """Yield what makes the URL of a new store, by the name of the database."""
    files = (f"sqlite:///{folder}/{number}.sqlite" for number in range(ROUNDS))
    found: dict[str, Any] = {"SQLite": partial(next, files)}
    if not test_postgres.FOUND:
        yield found
        return
    with test_postgres.started() as url:
        yield {**found, "PostgreSQL (fsync off)": lambda: url}


def store(folder: Path) -> None:
    with stores(folder) as found:
        for name, url in found.items():
            rates = [stored(url()) for _ in range(ROUNDS)]
            say(f"{name}: episodes/s of two seats, written", rates, "{:,.0f}")
    begun = time.monotonic()
    with Records(folder / "0.sqlite") as records:
        export.shards(records, folder / "parquet", [], [])
    took = time.monotonic() - begun
    say("Parquet: episodes/s, exported from SQLite", [EPISODES / took], "{:,.0f}")


def main() -> None:
    chosen = sys.argv[1:] or ["store", "shards", "arrivals", "actors", "trials"]
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"{cores} cores, load before it {load:.1f}; median (least to most, runs)", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "store" in chosen:
            store(folder)
        if "shards" in chosen:
            with cluster(cores, nodes=1) as nodes:
                shards(folder, f"ray:{nodes.address}")
        if {*chosen} & {"arrivals", "actors"}:
            with cluster() as nodes:
                for part in (arrivals, actors):
                    if part.__name__ in chosen:
                        part(folder, f"ray:{nodes.address}")
        if "trials" in chosen:
            with cluster(4) as nodes:
                trials(f"ray:{nodes.address}", 4)


if __name__ == "__main__":
    main()
