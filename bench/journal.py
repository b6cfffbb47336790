"""What the journal and keys cost: one match or many, with neither, either and both.

``python -m bench.journal`` prints, for each way, the median of alternating measurements, and the
rate beside the first way's in the same round.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.measure import processor
from dovetail import Experiment
from dovetail.transport import keys

KEY = "bench.key"
WAYS: dict[str, list[str]] = {
    "neither": ["--journal", "none"],
    "keys": ["--journal", "none", "--access", "access.toml"],
    "durable, keys": ["--journal", "e.journal", "--access", "access.toml"],
    "results only": ["--journal", "a.journal", "--no-durable"],
    "durable": ["--journal", "b.journal"],
    "durable, --sync batch": ["--journal", "c.journal", "--sync", "batch"],
    "durable, --sync always": ["--journal", "d.journal", "--sync", "always"],
}


class Running:
    """A broker of one way, with its peers; it is idle between measurements."""

    def __init__(self, stack: ExitStack, folder: Path, arguments: list[str]) -> None:
        key = folder / KEY if "--access" in arguments else keys.WITHOUT
        env = keys.without(os.environ)

        def start(*command: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-m", "dovetail", *command],
                cwd=folder,
                env=env if isinstance(key, keys.Key) else {**env, keys.FILE: str(key)},
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        self.broker = start("broker", "--bind", "tcp://127.0.0.1:*", *arguments)
        assert self.broker.stdout is not None
        address = self.broker.stdout.readline().split()[-1]
        start("env", "connect_four", "--connect", address)
        start("agent", "random", "--connect", address)
        self.experiment = stack.enter_context(Experiment.connect(address, key=key))
        self.experiment.expect(["connect_four"], ["random"], timeout=60.0)
        self.agents = [self.experiment.create("random", seed=seed) for seed in (1, 2)]

    def measure(self, episodes: int, matches: int) -> tuple[float, float]:
        """Return turns per second, and the broker's microseconds of processor time per turn."""
        before, begun = processor(self.broker.pid), time.perf_counter()
        run = self.experiment.run(
            "connect_four", self.agents, episodes=episodes, seed=3, concurrency=matches
        )
        turns = sum(episode.turns for episode in run)
        took = time.perf_counter() - begun
        return turns / took, (processor(self.broker.pid) - before) / turns * 1e6


def make_keys(folder: Path) -> None:
    """Write an access file that lets in one key."""
    server = keys.make()
    key = keys.make(server.public)
    keys.write(folder / "access.key", server, "of the broker")
    keys.write(folder / KEY, key, "bench")
    (folder / "access.toml").write_text(f'[keys.bench]\npublic = "{key.public}"\n')


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.journal", description=__doc__)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--matches", type=int, nargs="+", default=[1, 64])
    given = parser.parse_args()
    print(f"{'':24}{'matches':>8}{'turns/s':>10}{'µs/turn':>10}{'ratio':>8}")
    for matches in given.matches:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            make_keys(folder)
            running = {way: Running(stack, folder, WAYS[way]) for way in given.ways}
            found: dict[str, list[tuple[float, float]]] = {way: [] for way in given.ways}
            for each in running.values():
                each.measure(given.episodes // 5, matches)
            for _ in range(given.rounds):
                for way, each in running.items():
                    found[way].append(each.measure(given.episodes, matches))
        for way, pairs in found.items():
            rate, cost = (statistics.median(column) for column in zip(*pairs, strict=True))
            beside = zip(pairs, found[given.ways[0]], strict=True)
            ratio = statistics.median(mine[0] / first[0] for mine, first in beside)
            print(f"{way:24}{matches:8}{rate:10,.0f}{cost:10.1f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
