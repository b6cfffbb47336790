"""What watching costs: the broker's CPU time for a turn with no page, one browser and a hundred.

Each party is its own process, on loopback: a broker, Connect Four, two random agents, the page, the
browsers (WebSockets that read what they get, and say so), and the experiment here.  CPU time and no
wall-clock time, since that of a busy machine says little; page and browsers have a core of their own,
as they would have a machine.  Before and after each case the same is
measured without the page; what is printed is the median of the quotients.

    python -m bench.page
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import websockets

from dovetail import Experiment

ROUNDS = 3
SECONDS = 8.0
"""Of one measurement."""
SETTLE = 6.0
"""Seconds before it, in which the page finds the run."""
LINGER = 2.0
"""Seconds for which a viewer looks at a game that is over."""
GAMES = (1, 100)
"""At once."""
BASE = ("no page", 0, "")
CASES: list[tuple[str, int, str]] = [
    ("no browser", 0, "now"),
    ("1 browser, all games", 1, "now"),
    ("100 browsers, one game", 100, "game"),
]
"""Name, browsers, and what they look at; nothing if there is no page."""
TICKS = os.sysconf("SC_CLK_TCK")
ROOT = Path(__file__).parents[1]


def cpu(process: subprocess.Popen[str]) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextlib.contextmanager
def program(
    *line: str, folder: str | Path, core: int = 0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a program of Dovetail; yield it and its first line."""
    command = [sys.executable, "-u", "-m", *line]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        os.sched_setaffinity(process.pid, {core % (os.cpu_count() or 1)})
        try:
            yield process, process.stdout.readline()
        finally:
            process.terminate()


async def browse(url: str, count: int, about: str) -> None:
    """Look at what is played now, with so many browsers, until the end.

    Browsers have machines of their own: these get what processor time the others leave.

    A game that is over is left for the newest, as a viewer would.
    """

    async def one(ready: asyncio.Event) -> None:
        address = url.replace("http://", "ws://") + "live"
        async with websockets.connect(
            address, origin=websockets.Origin(url.rstrip("/")), max_size=None
        ) as socket:
            await socket.send(json.dumps({"about": "now"}))
            async for text in socket:
                found = json.loads(text)
                games = (found.get("now") or {}).get("games")
                over = (found.get("game") or {}).get("over")
                if about == "game" and games:
                    await socket.send(json.dumps({"about": f"game:{games[0]['episode']}"}))
                elif about == "game" and over:
                    await asyncio.sleep(LINGER)
                    await socket.send(json.dumps({"about": "now"}))
                await socket.send('{"got": true}')
                ready.set()

    os.nice(19)
    seen = [asyncio.Event() for _ in range(count)]
    looking = [asyncio.create_task(one(each)) for each in seen]
    for each in seen:
        await each.wait()
    print("looking", flush=True)
    await asyncio.gather(*looking)


def measure(
    experiment: Experiment, games: int, programs: dict[str, subprocess.Popen[str]]
) -> dict[str, float]:
    """Return microseconds of CPU for a turn, by program."""
    agents = [experiment.create("random", seed=seat) for seat in range(2)]
    run = experiment.run("connect_four", agents, episodes=10**6, concurrency=games, seed=1)
    end = time.monotonic() + SETTLE  # until the page has seen the run and watches it
    while time.monotonic() < end:
        run.poll(0.1)
    before = experiment.catalogue()["counters"]["turns"]
    used = {name: cpu(each) for name, each in programs.items()}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        run.poll(0.1)
    turns = experiment.catalogue()["counters"]["turns"] - before
    found = {name: 1e6 * (cpu(each) - used[name]) / turns for name, each in programs.items()}
    run.cancel()
    for agent in agents:
        agent.cleanup()
    return found


def main() -> None:
    """Measure each case between two measurements without the page, several times; print medians."""
    found: dict[tuple[int, str], list[dict[str, float]]] = {}
    os.sched_setaffinity(0, {0})
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        start = stack.enter_context
        bind = ("--bind", "tcp://127.0.0.1:*", "--journal", "none")
        broker, said = start(program("dovetail", "broker", *bind, folder=folder))
        there = ("--connect", said.split()[-1])
        game, _ = start(program("dovetail", "env", "connect_four", *there, folder=folder))
        start(program("dovetail", "agent", "random", *there, folder=folder))
        experiment = start(Experiment.connect(there[1]))

        def measured(case: tuple[str, int, str], games: int) -> dict[str, float]:
            _, browsers, about = case
            programs = {"broker": broker, "environment": game}
            with contextlib.ExitStack() as looking:
                if about:
                    web = ("dovetail", "web", "--port", "0", "--no-open", *there)
                    page, said = looking.enter_context(program(*web, folder=folder, core=1))
                    programs["page"] = page
                    if browsers:
                        viewers = ("bench.page", said.split()[-1], str(browsers), about)
                        looking.enter_context(program(*viewers, folder=ROOT, core=1))
                return measure(experiment, games, programs)

        for games in GAMES:
            before = measured(BASE, games)
            for case in CASES * ROUNDS:
                each, after = measured(case, games), measured(BASE, games)
                each["more"] = 2 * each["broker"] / (before["broker"] + after["broker"]) - 1
                found.setdefault((games, case[0]), []).append(each)
                before = after
    print(
        "games at once | browsers               | broker µs/turn | more: median (all) | page µs/turn"
    )
    for (games, name), measures in found.items():
        more = sorted(each["more"] for each in measures)
        broker_, page_ = (
            statistics.median(each[key] for each in measures) for key in ("broker", "page")
        )
        rest = ", ".join(f"{each:+.1%}" for each in more)
        print(
            f"{games:13} | {name:22} | {broker_:14.1f} | {statistics.median(more):+.1%} ({rest}) | {page_:.1f}"
        )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        asyncio.run(browse(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
    else:
        main()
