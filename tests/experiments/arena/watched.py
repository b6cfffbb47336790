"""100 agents in 20 ladders, without and with 1,000 browsers.

Usage: python -m tests.experiments.arena.watched FOLDER [SECONDS], which each of two phases lasts.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import websockets
from tests.experiments.arena.programs import DOVETAIL, Programs
from websockets.typing import Origin

from dovetail.client.client import Experiment

LADDERS, ENTRANTS, BROWSERS, BROKER = 20, 5, 1000, "tcp://127.0.0.1:5959"
LADDER = '[[ladders]]\nname = "l{}"\ngame = "connect_four"\nopenings = 4\n'
AGENT = """
class L{0}(Agent):
    name = "l{0}@l{0}"
    def step(self, decision):
        return decision.legal[0]
"""


def cost(arena: int, token: str, seconds: float) -> tuple[float, float]:
    """Return turns a second, and milliseconds of the arena's processor time for each."""

    def now(client: Experiment) -> tuple[int, float]:
        fields = Path(f"/proc/{arena}/stat").read_text().rpartition(")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return client.catalogue()["counters"]["turns"], used

    with Experiment.connect(BROKER, token=token) as client:
        before = now(client)
        time.sleep(seconds)
        after = now(client)
    turns = max(1, after[0] - before[0])
    return turns / seconds, 1000 * (after[1] - before[1]) / turns


async def browse(url: str, number: int, opening: asyncio.Semaphore, open_: list[int]) -> None:
    """Watch as a browser does: answer each message, then get the newest."""
    own, origin = (f"127.0.1.{1 + number // 200}", 0), Origin(url.rstrip("/"))
    live = f"ws{url[4:]}live"
    async with opening:
        socket = await websockets.connect(live, origin=origin, local_addr=own, open_timeout=100)
    open_.append(number)
    async with socket:
        await socket.send('{"about": "wall:connect_four"}')
        async for text in socket:
            await socket.send('{"here":true}' if text == "{}" else '{"got":true}')


async def watched(url: str, arena: int, token: str, seconds: float) -> None:
    """Print what turns cost before browsers come, and with them."""
    print(
        "no browser: %.0f turns/s, %.3f ms" % await asyncio.to_thread(cost, arena, token, seconds),
        flush=True,
    )
    opening, here = asyncio.Semaphore(16), list[int]()
    tasks = [asyncio.create_task(browse(url, n, opening, here)) for n in range(BROWSERS)]
    while len(here) < BROWSERS and not any(each.done() for each in tasks):
        await asyncio.sleep(1)
    found = await asyncio.to_thread(cost, arena, token, seconds)
    print(f"{sum(not each.done() for each in tasks)} browsers: %.0f turns/s, %.3f ms" % found)


if __name__ == "__main__":
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    ladders = "".join(map(LADDER.format, range(LADDERS)))
    (folder / "arena.toml").write_text(f'name = "bench"\nbind = "{BROKER}"\ngames = 8\n{ladders}')
    (folder / "agents.py").write_text(
        "from dovetail import Agent\n" + "".join(map(AGENT.format, range(LADDERS)))
    )
    programs = Programs(folder)
    try:
        arena = programs.start("arena", "arena.toml")
        for entrant in range(ENTRANTS):
            offers = [f"agents.py:L{number}" for number in range(LADDERS)]
            shown = {**os.environ, **programs.invited(f"e{entrant}")}
            words = [*DOVETAIL, "agent", *offers]
            programs.running.append(subprocess.Popen(words, cwd=folder, env=shown, text=True))
        page = programs.start("web", "--arena", "arena.toml", "--port", "5958", "--no-open")
        token = (folder / "arena" / "token").read_text().strip()
        asyncio.run(watched("http://127.0.0.1:5958/", arena.pid, token, seconds))
    finally:
        programs.end()
