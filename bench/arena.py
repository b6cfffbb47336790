"""An arena under load: agents of known strength in three languages, thousands of games, memory, and the table.

In ``Duel`` each seat says three times how strong it is, and the winner is drawn by the model of Elo. A third of the
agents, in Python, always name the same strength, each another one from -200 to 200. The others are the random
agents of the clients in Go and TypeScript: they name any strength, so that each of them is worth 0. Each agent is
its own process and its own entrant.

    make -C clients/go build && make -C clients/typescript build
    python -m bench.arena [--games 10000] [--agents 50]
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.measure import BenchError, processor
from dovetail import Agent, Decision, Environment, Spec, Turn, spaces
from dovetail_experiments.arena.description import folder, read
from dovetail_experiments.arena.standings import Row, table
from dovetail_experiments.arena.store import FILE, Store
from dovetail_experiments.stages.processes import Processes

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
PROGRAMS = {"go": "bin/random", "typescript": "dist/examples/first.js"}
"""The clients' examples that take a random legal action."""
LEVELS, STEP, ALIKE, ROUNDS = 17, 25.0, 16, 3
"""Strengths that can be named; Elo between two; names of each, so that equal games are rare; turns of each seat."""
ACTIONS = list(range(LEVELS * ALIKE))
LADDER = "duel"
SAMPLES = 20
"""How often memory is looked at."""
PATIENCE = 300.0
"""Seconds without a game after which something is wrong."""
DESCRIPTION = f"""
name = "load"
seed = 1
bind = "tcp://127.0.0.1:PORT"
games = 8

[[ladders]]
name = "{LADDER}"
game = "bench.arena:Duel"
"""


class Duel(Environment):
    """Say how strong you are; the winner is drawn by the difference."""

    def init(self) -> Spec:
        one, action = spaces.Discrete(2 * ROUNDS + 1), spaces.Discrete(LEVELS * ALIKE)
        return Spec(
            seats=2,
            observation_spaces=[one, one],
            action_spaces=[action, action],
            reward_range=(-1.0, 1.0),
            forfeit=(-1.0, 1.0),
        )

    def start(self, seed: int) -> Turn:
        self._draw = random.Random(seed).random()
        self._named: list[float] = []
        return Turn.ask(0, 0, ACTIONS)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        turn = len(self._named)
        self._named.append(worth(actions[turn % 2] // ALIKE) / ROUNDS)
        turn += 1
        if turn < 2 * ROUNDS:
            return Turn.ask(turn % 2, turn, ACTIONS)
        ahead = sum(self._named[::2]) - sum(self._named[1::2])
        winner = int(self._draw >= 1 / (1 + 10 ** (-ahead / 400)))
        return Turn.end([turn, turn], [1.0, -1.0][:: -1 if winner else 1], winners=[winner])


def worth(level: int) -> float:
    """Return the Elo of a level, around 0."""
    return STEP * (level - (LEVELS - 1) / 2)


class Options(Struct, frozen=True):
    """Of ``Steady``."""

    level: int = 0


class Steady(Agent[Options]):
    """Always names the same strength, by any of its names."""

    Parameters = Options

    def step(self, decision: Decision) -> int:
        return self.parameters.level * ALIKE + decision.rng.randrange(ALIKE)


@dataclass(frozen=True)
class Entrant:
    """An agent, its process and its strength."""

    name: str
    command: list[str] | None
    """None for ``Steady``."""
    level: int = 0
    elo: float = 0.0


def entrants(number: int) -> Iterator[Entrant]:
    """Yield the agents: a third in Python, the rest in Go and TypeScript."""
    for each in range(number):
        language = ("python", "go", "typescript")[each % 3]
        name = f"{language}{each // 3}"
        if language == "python":
            level = each // 3 % LEVELS
            yield Entrant(name, None, level, worth(level))
            continue
        program = CLIENTS / language / PROGRAMS[language]
        if not program.exists():
            raise BenchError(f"{program} is missing; run `make -C clients/{language} build`")
        yield Entrant(name, ["node", str(program)] if language == "typescript" else [str(program)])


def resident(process: int) -> float:
    """Return the memory of a process, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def played(store: Store) -> int:
    """Return how many games count so far."""
    return 2 * store.latest(1, LADDER)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.arena", description=__doc__)
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=50)
    given = parser.parse_args()
    everyone = list(entrants(given.agents))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ExitStack() as stack:
        at = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dovetail-arena-")))
        file = at / "arena.toml"
        file.write_text(DESCRIPTION.replace("PORT", str(port)))
        arena = read(file)
        where = folder(file, arena)
        store = stack.enter_context(Store(where / FILE, create=True))
        tokens = {each.name: store.invite(each.name) for each in everyone}
        programs = stack.enter_context(Processes(address=arena.bind, logs=at / "logs"))
        programs.start("arena", ["arena", str(file)])
        process = programs.pids()["arena"]
        listening(programs, port)
        for each in everyone:
            if each.command is not None:
                programs.command(each.name, each.command, tokens[each.name])
                continue
            words = ["agent", "bench.arena:Steady", "--as-one", "--name", each.name]
            programs.start(each.name, [*words, "--set", f"level={each.level}"], tokens[each.name])
        print(
            f"{given.agents} agents, {given.games} games, load {os.getloadavg()[0]:.1f}", flush=True
        )
        watch(store, programs, process, given.games, given.agents)
        report(store, {each.name: each.elo for each in everyone})


def listening(programs: Processes, port: int) -> None:
    """Wait until the arena can be reached."""
    while True:
        programs.check()
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)


def watch(store: Store, programs: Processes, process: int, games: int, agents: int) -> None:
    """Print memory and processor time until so many games are played."""
    begun = last = time.monotonic()
    done, next_sample, entered = 0, 0, False
    first = (0, 0.0, 0.0)
    while done < games:
        time.sleep(0.2)
        programs.check()
        before, done, now = done, played(store), time.monotonic()
        last = now if done > before else last
        if now - last > PATIENCE:
            raise BenchError(f"no game for {PATIENCE:g} s after {done} games")
        if not entered and len(store.players()) == agents:
            entered, first = True, (done, now, processor(process))
            print(f"{agents} agents there after {now - begun:.0f} s", flush=True)
        if done >= next_sample:
            next_sample += games // SAMPLES
            print(f"{done:6} games  {now - begun:6.0f} s  {resident(process):6.1f} MB", flush=True)
    count, seconds = done - first[0], time.monotonic() - first[1]
    used = (processor(process) - first[2]) / count
    print(
        f"{count / seconds:.1f} games/s; arena and broker {used * 1e3:.2f} ms of processor a game"
    )


def report(store: Store, truth: Mapping[str, float]) -> None:
    """Compare the table with the strengths."""
    found = table(store.players(LADDER), store.played(1, LADDER), 2)
    rows = [row for row in found.rows if row.units]
    mean = sum(truth[entrant(row)] for row in rows) / len(rows)
    errors = {row.name: row.elo.value - (truth[entrant(row)] - mean) for row in rows}
    inside = [row.elo.low <= truth[entrant(row)] - mean <= row.elo.high for row in rows]
    counts = [row.units for row in rows]
    rmse = (sum(each**2 for each in errors.values()) / len(rows)) ** 0.5
    half = sum(row.elo.high - row.elo.low for row in rows) / 2 / len(rows)
    print(f"{found.played} units, {found.units} count; {min(counts)} to {max(counts)} an agent")
    print(f"{sum(inside)} of {len(rows)} strengths inside their 95 % intervals")
    print(f"Elo: error {rmse:.0f} (root mean square), half an interval {half:.0f}")
    print(f"{sum(row.faults for row in rows)} losses by fault")
    for row in rows:
        print(f"  {row.name:40} {row.elo.value:+5.0f} ({row.elo.low:+5.0f}..{row.elo.high:+5.0f})")


def entrant(row: Row) -> str:
    """Return whose row it is."""
    return row.name.partition("/")[0]


if __name__ == "__main__":
    main()
