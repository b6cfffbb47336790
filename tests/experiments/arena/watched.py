"""100 agents in 20 ladders, without and with 1,000 browsers.

Usage: python -m tests.experiments.arena.watched FOLDER [SECONDS], for which browsers watch, in five
rounds; each begins with a third of that time without them.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import statistics
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import cast

from tests.experiments.arena.programs import DOVETAIL, Programs

from dovetail.client.client import Experiment

LADDERS, ENTRANTS, BROWSERS, ROUNDS = 20, 5, 1000, 5
BROKER, PAGE = "tcp://127.0.0.1:5959", 5958
UPGRADE = (
    "GET /live HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
LADDER = '[[ladders]]\nname = "l{}"\ngame = "connect_four"\nopenings = 4\n'
AGENT = """
class L{0}(Agent):
    name = "l{0}@l{0}"
    def step(self, decision):
        return decision.legal[0]
"""


def used(program: int) -> float:
    """Return a program's processor time in seconds."""
    fields = Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(arena: int, page: int, token: str, seconds: float) -> tuple[float, float, float]:
    """Return turns a second, milliseconds of the arena's processor time for each, and the share of
    a core that the page takes."""
    with Experiment.connect(BROKER, token=token) as client:

        def now() -> tuple[float, int, float, float]:
            turns = client.catalogue()["counters"]["turns"]
            return time.monotonic(), turns, used(arena), used(page)

        before = now()
        time.sleep(seconds)
        passed, turns, broker, shown = (b - a for a, b in zip(before, now(), strict=True))
    return turns / passed, 1000 * broker / max(1, turns), shown / passed


class Browser(asyncio.Protocol):
    """A browser's connection: it answers messages as the page does, and then gets the newest."""

    messages = 0

    def __init__(self, host: str, opened: asyncio.Future[None]) -> None:
        self._host, self._opened, self._got = host, opened, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(UPGRADE.format(self._host).encode())

    def data_received(self, data: bytes) -> None:
        self._got += data
        if not self._opened.done():
            head, end, rest = self._got.partition(b"\r\n\r\n")
            if not end:
                return
            assert b" 101 " in head, head
            self._got = rest
            self._opened.set_result(None)
            self._say(b'{"about":"wall:connect_four","unpacks":true}')
        while len(self._got) > 1:  # RFC 6455: a head of 2, 4 or 10 bytes, then the message
            short = self._got[1]
            start = {126: 4, 127: 10}.get(short, 2)
            size = int.from_bytes(self._got[2:start], "big") if start > 2 else short
            if len(self._got) < start + size:
                return
            packed = self._got[0] & 15 == 2
            text, self._got = self._got[start : start + size], self._got[start + size :]
            if packed:
                text = zlib.decompress(text)
            if b'"calm":true' not in text:
                self._say(b'{"here":true}' if text == b"{}" else b'{"got":true}')
            Browser.messages += 1

    def connection_lost(self, exc: Exception | None) -> None:
        print(f"a browser was left: {exc}, {self._got[:80]!r}", flush=True)

    def _say(self, text: bytes) -> None:
        self._transport.write(bytes((0x81, 0x80 | len(text), 0, 0, 0, 0)) + text)


async def browse(host: str, port: int) -> None:
    """Open all browsers, and print a line when they are there, and how many messages came."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    for number in range(BROWSERS):
        opened = loop.create_future()
        own = f"127.0.1.{1 + number // 200}", 0
        await loop.create_connection(
            functools.partial(Browser, f"{host}:{port}", opened), host, port, local_addr=own
        )
        await opened
    print(BROWSERS, "browsers", flush=True)
    await ended.wait()
    print(Browser.messages, "messages", flush=True)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1:] == ["browse"]:
        asyncio.run(browse("127.0.0.1", PAGE))
        sys.exit()
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
        page = programs.start("web", "--arena", "arena.toml", "--port", str(PAGE), "--no-open")
        token = (folder / "arena" / "token").read_text().strip()
        of = arena.pid, page.pid, token
        time.sleep(20)  # until all agents play
        print("turns/s, ms of the arena a turn, cores of the page; without browsers, with them")
        rounds = []
        for _ in range(ROUNDS):
            alone = cost(*of, seconds / ROUNDS / 3)
            # Browsers are on other machines: here they take the time that no one else wants.
            words = ["nice", "-n", "19", sys.executable, "-m", __spec__.name, "browse"]
            browsers = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            programs.running.append(browsers)
            assert browsers.stdout is not None
            there = browsers.stdout.readline().strip()
            watched = cost(*of, seconds / ROUNDS)
            browsers.terminate()
            rounds.append((alone, watched))
            print(
                "{:.0f} {:.3f} {:.2f}; {:.0f} {:.3f} {:.2f};".format(*alone, *watched),
                f"{there}, {browsers.stdout.readline().strip()}",
                flush=True,
            )
            time.sleep(3)
        turns, broker = (
            statistics.median(watched[n] / alone[n] for alone, watched in rounds) for n in range(2)
        )
        print(f"medians of {ROUNDS} rounds: {turns:.3f} of the turns, {broker:.3f} of the time")
    finally:
        programs.end()
