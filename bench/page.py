"""What watching costs: the broker's CPU time for a turn with no page, one browser and a hundred.

Each party is its own process, on loopback: a broker, Connect Four, two random agents, the page, the
browsers (WebSockets that read what they get, and say so), and the experiment here.  CPU time and no
wall-clock time, since that of a busy machine says little; page and browsers have a core of their own,
as they would have a machine.  Before and after each case the same is
measured with the same page and browsers looking at a game of another broker, so that the second core
is as busy as then and takes as much of what both cores share; what is printed is the median of the quotients.

    python -m bench.page [games at once]
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
from collections.abc import Iterator, Sequence
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
ELSEWHERE = 11.0
"""Turns a second of the game of the other broker: a page is shown about as many of a fast one."""
CASES: list[tuple[str, int, str]] = [
    ("no browser", 0, "now"),
    ("1 browser, all games", 1, "now"),
    ("100 browsers, one game", 100, "game"),
]
"""Name, browsers, and what they look at."""
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


def elsewhere(address: str) -> None:
    """Play at a broker, turn by turn, until the end."""
    with Experiment.connect(address) as experiment:
        agents = [experiment.create("random", seed=seat) for seat in range(2)]
        run = experiment.run("connect_four", agents, episodes=10**6, stepwise=True, texts=False)
        print("playing", flush=True)
        while True:
            turn = run.start()
            while turn.to_act:
                time.sleep(1 / ELSEWHERE)
                turn = run.step()


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


def main(at_once: Sequence[int]) -> None:
    """Measure each case between two of the same at another broker, several times; print medians."""
    found: dict[tuple[int, str], list[dict[str, float]]] = {}
    os.sched_setaffinity(0, {0})
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        start = stack.enter_context

        def house(core: int) -> tuple[subprocess.Popen[str], subprocess.Popen[str], str]:
            """Start a broker, its game and its agents."""
            bind = ("--bind", "tcp://127.0.0.1:*", "--journal", "none")
            broker, said = start(program("dovetail", "broker", *bind, folder=folder, core=core))
            there = said.split()[-1]
            programs = [
                start(program("dovetail", *which, "--connect", there, folder=folder, core=core))[0]
                for which in (("env", "connect_four"), ("agent", "random"))
            ]
            return broker, programs[0], there

        broker, game, here = house(0)
        _, _, there = house(1)
        start(program("bench.page", "elsewhere", there, folder=ROOT, core=1))
        experiment = start(Experiment.connect(here))

        def measured(case: tuple[str, int, str], games: int, looked_at: str) -> dict[str, float]:
            _, browsers, about = case
            programs = {"broker": broker, "environment": game}
            with contextlib.ExitStack() as looking:
                web = ("dovetail", "web", "--port", "0", "--no-open", "--connect", looked_at)
                page, said = looking.enter_context(program(*web, folder=folder, core=1))
                programs["page"] = page
                if browsers:
                    viewers = ("bench.page", "browse", said.split()[-1], str(browsers), about)
                    looking.enter_context(program(*viewers, folder=ROOT, core=1))
                return measure(experiment, games, programs)

        for games in at_once:
            for case in CASES:
                before = measured(case, games, there)
                for _ in range(ROUNDS):
                    each, after = measured(case, games, here), measured(case, games, there)
                    each["more"] = 2 * each["broker"] / (before["broker"] + after["broker"]) - 1
                    each["control"] = after["page"]
                    found.setdefault((games, case[0]), []).append(each)
                    before = after
    print(
        "games at once | browsers               | broker µs/turn | more: median (all) "
        "| page µs/turn, and of the other"
    )
    for (games, name), measures in found.items():
        more = sorted(each["more"] for each in measures)
        broker_, page_, control = (
            statistics.median(each[key] for each in measures)
            for key in ("broker", "page", "control")
        )
        rest = ", ".join(f"{each:+.1%}" for each in more)
        print(
            f"{games:13} | {name:22} | {broker_:14.1f} | {statistics.median(more):+.1%} ({rest}) "
            f"| {page_:.1f}, {control:.1f}"
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["browse", url, count, about]:
            asyncio.run(browse(url, int(count), about))
        case ["elsewhere", address]:
            elsewhere(address)
        case at_once:
            main([int(each) for each in at_once] or GAMES)
