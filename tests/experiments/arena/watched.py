"""100 agents in 20 ladders, without and with 1,000 browsers.

Usage: python -m tests.experiments.arena.watched FOLDER [SECONDS], which each of two phases lasts.
"""

from __future__ import annotations

import asyncio
import functools
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

from tests.experiments.arena.programs import DOVETAIL, Programs

from dovetail.client.client import Experiment

LADDERS, ENTRANTS, BROWSERS = 20, 5, 1000
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


def cost(arena: int, token: str, seconds: float) -> str:
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
    used = 1000 * (after[1] - before[1]) / turns
    return f"{turns / seconds:.0f} turns/s, {used:.3f} ms"


class Browser(asyncio.Protocol):
    """A browser's connection: it answers each message, and then gets the newest."""

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
            text, self._got = self._got[start : start + size], self._got[start + size :]
            self._say(b'{"here":true}' if text == b"{}" else b'{"got":true}')

    def connection_lost(self, exc: Exception | None) -> None:
        print(f"a browser was left: {exc}, {self._got[:80]!r}", flush=True)

    def _say(self, text: bytes) -> None:
        self._transport.write(bytes((0x81, 0x80 | len(text), 0, 0, 0, 0)) + text)


async def browse(host: str, port: int) -> None:
    """Open all browsers, and print a line when they are there."""
    loop = asyncio.get_running_loop()
    for number in range(BROWSERS):
        opened = loop.create_future()
        own = f"127.0.1.{1 + number // 200}", 0
        await loop.create_connection(
            functools.partial(Browser, f"{host}:{port}", opened), host, port, local_addr=own
        )
        await opened
    print(BROWSERS, "browsers", flush=True)
    await asyncio.Event().wait()


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
        programs.start("web", "--arena", "arena.toml", "--port", str(PAGE), "--no-open")
        token = (folder / "arena" / "token").read_text().strip()
        print(f"no browser: {cost(arena.pid, token, seconds)}", flush=True)
        # Browsers are on other machines: here they take only the time that no one else wants.
        words = ["nice", "-n", "5", sys.executable, "-m", __spec__.name, "browse"]
        browsers = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        programs.running.append(browsers)
        assert browsers.stdout is not None
        there = browsers.stdout.readline().strip()
        print(f"{there}: {cost(arena.pid, token, seconds)}", flush=True)
        assert not select.select([browsers.stdout], [], [], 0)[0], browsers.stdout.readline()
    finally:
        programs.end()
