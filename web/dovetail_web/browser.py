"""A browser's connection: sends it updates of what it is looking at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.websockets import WebSocket

from dovetail.peer.quoting import path
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail_web.chairs import Chair
from dovetail_web.games import Game
from dovetail_web.hub import Hub
from dovetail_web.people import MOST_TABLES, People
from dovetail_web.positions import encode
from dovetail_web.tables import Table

PAUSE = {"now": 0.25, "wall": 0.25}
"""Minimum seconds between two messages to a browser, by view."""
GAME_PAUSE = 0.1
"""The same for a single game."""
CROWD_PAUSE = 0.0015
"""Minimum seconds between two messages to a watcher, times the number of browsers: a message takes
about 0.15 ms, and all of them together should take at most a tenth of a core."""
TABLE_PAUSE = 0.02
"""Minimum seconds between two messages to a player at a table."""
BEAT = 1.0
"""Seconds between two heartbeats; a page that misses them says so."""
SILENT = 30.0
"""Seconds without an answer to heartbeats after which a browser counts as gone."""
LONG = 10_000
"""Bytes from which a player's first message is preceded by what watchers see, so that a slow line
has the board before the choices: 90 kB in Amazons."""
GONE = (
    "The page does not have this game any more: its server was started again, or many games were "
    "played since. Begin a new one on Play."
)
WAITING = ThreadPoolExecutor(MOST_TABLES, "waiting")
"""Threads for people's requests, which may wait for an agent to be created: in the event loop's few
threads they would hold up everything else."""


class Browser:
    """A browser's connection.

    Args:
        hub: the connection to the broker.
        socket: the browser's WebSocket, accepted.
    """

    def __init__(self, hub: Hub, socket: WebSocket) -> None:
        self._hub = hub
        self._socket = socket
        self._about = ""
        self._chair = ""
        self._first = True
        """True until it has been sent what it looks at."""
        self._ladder, self._led = "", b""
        """The ladder shown, and its leaders as last sent."""
        self._came = 0.0
        """The time of the first message to it, by the clock of positions' time stamps."""
        self._runs: set[int | None] = set()
        self._news = asyncio.Event()
        self._free = asyncio.Event()
        """Set while the browser has processed everything, so that a slow one never has a queue."""
        self._free.set()
        self._known: dict[int, int] = {}
        """The version of each game on *Now* that the browser has, by episode."""
        hub.bell.add(self._news)

    def close(self) -> None:
        """Release the connection."""
        self._hub.bell.remove(self._news)
        for run in self._runs:
            self._hub.look(run, -1)

    async def serve(self) -> None:
        """Handle the browser's messages and send it updates until it leaves."""
        tasks = [asyncio.create_task(each) for each in (self._send(), self._beat())]
        try:
            while True:
                event = await asyncio.wait_for(self._socket.receive(), SILENT)
                if event["type"] == "websocket.disconnect":
                    return
                try:
                    asked = msgspec.json.decode(event.get("text") or b"")
                except codec.UNREADABLE:
                    await self._socket.close(4400)
                    return
                if isinstance(asked, dict):
                    await self._asked(asked)
        except TimeoutError:
            await self._socket.close(4408)
        finally:
            for each in tasks:
                each.cancel()

    async def _asked(self, asked: dict[str, Any]) -> None:
        match asked:
            case {"got": True}:
                self._free.set()
            case {"about": str(about)}:
                self._about = about[:200]
                self._chair = str(asked.get("chair", ""))[:100]
                self._ladder = str(asked.get("ladder", ""))[:100]
                self._led = b""
                self._first = True
                await self._lead()
                self._known.clear()
                self._news.set()
            case {"number": int(number), "choice": int(choice)}:
                await self._do(lambda people, table, chair: people.act(chair, number, choice))
            case {"do": "undo"}:
                await self._do(lambda people, table, chair: people.take_back(table, chair))
            case {"do": "hint", "agent": str(agent)}:
                await self._do(lambda people, table, chair: people.hint(table, chair, agent))
            case {"do": "leave"}:
                await self._do(lambda people, table, chair: people.leave(table, chair.name))
            case {"do": "decide"}:
                await self._do(lambda people, table, chair: people.decide(table))
            case {"do": "replace"}:
                await self._do(lambda people, table, chair: people.replace(table))
            case {"do": "resign"}:
                await self._do(lambda people, table, chair: people.resign(table, chair))
            case {"do": "again"}:
                await self._do(lambda people, table, chair: people.again(table))
            case {"do": "swap"}:
                await self._do(lambda people, table, chair: people.again(table, swapped=True))

    async def _do(self, what: Callable[[People, Table, Chair], Any]) -> None:
        """Carry out a request of a person at a table, or say why not."""
        try:
            table, chair = self._sitting()
            if table is None or chair is None:
                raise DovetailError("You are watching; only those who play can choose")
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(WAITING, what, self._hub.people, table, chair)
        except DovetailError as error:
            await self._socket.send_text(encode({"say": str(error)}).decode())

    def _sitting(self) -> tuple[Table | None, Chair | None]:
        """Return the table that is shown, and the browser's own chair there."""
        kind, _, key = self._about.partition(":")
        table = self._hub.people.tables.get(key) if kind == "table" else None
        people = [] if table is None else table.people
        chair = next((each for each in people if each.key == self._chair), None)
        if table is not None and chair is not None:
            table.seen = chair.seen = time.monotonic()
        return table, chair

    async def _send(self) -> None:
        last = b""
        while True:
            await self._free.wait()
            await self._news.wait()
            self._news.clear()
            found = self._newest()
            if found != last:
                if self._first and self._chair and len(found) > LONG:
                    await self._socket.send_text(self._newest(watching=True).decode())
                self._first = self._first and not self._about
                last = found
                self._free.clear()
                await self._socket.send_text(found.decode())
            await asyncio.sleep(TABLE_PAUSE if self._chair else self._pause())

    def _pause(self) -> float:
        """Return the least seconds between two messages to a watcher."""
        kind = self._about.partition(":")[0]
        return max(PAUSE.get(kind, GAME_PAUSE), CROWD_PAUSE * len(self._hub.bell))

    async def _lead(self) -> None:
        """Send the leaders of a ladder if they have changed."""
        if not self._ladder:
            return
        found = await asyncio.to_thread(self._hub.leaders, self._ladder)
        if found != self._led:
            self._led = found
            await self._socket.send_text(encode({"leaders": msgspec.Raw(found)}).decode())

    async def _beat(self) -> None:
        """Send heartbeats, even to a browser that is behind."""
        while True:
            await asyncio.sleep(BEAT)
            await self._socket.send_text("{}")
            await self._lead()
            if self._about == "now":
                self._hub.visited = time.monotonic()
            if self._sitting()[0] is not None or self._hub.silent:
                self._news.set()  # who is there, and how long the broker has been silent

    def _newest(self, *, watching: bool = False) -> bytes:
        """Return the message about what is shown; with ``watching``, as one without a seat has
        it."""
        hub = self._hub
        kind, _, what = self._about.partition(":")
        if kind == "wall":
            self._look({None})
            return encode({"now": hub.now(self._known, what)})
        if kind == "now":
            hub.visited = time.monotonic()
            self._look({each["run"] for each in hub.catalogue.get("runs", [])[-8:]})
            return encode({"now": hub.now(self._known)})
        game: Game | None = None
        table, chair = self._sitting()
        if watching:
            chair = None
        if kind == "game" and what.isdecimal():
            game = hub.games.get(int(what))
        elif table is not None and table.run is not None:
            game = hub.game_of(table.run)
        if game is not None and not game.over:
            self._look({game.run})
        self._came = self._came or time.monotonic()
        about: dict[str, Any] = {
            "game": None if game is None else game.about(),
            "broker": hub.trouble,
            "names": [] if table is None else table.plan.names,
            "problem": "" if table is None else table.problem,
            "done": table is not None and table.done,
            "away": [] if table is None else hub.people.away(table),
            "ended": "" if table is None else table.ended,
            "time": self._came,
        }
        if self._about and game is None and table is None:
            gone = {"done": True, "problem": GONE, "position": None, "mine": None, "waiting": False}
            return encode({**about, **gone})
        position: Any = None
        if game is not None and game.positions:
            position = msgspec.Raw(game.position(game.first + len(game.positions) - 1) or b"null")
        about["position"] = position
        about["mine"] = None
        if table is not None and chair is not None:
            about["mine"] = chair.seen_by(table.chairs.index(chair))
        about["waiting"] = chair is not None and chair.decision is not None
        if table is not None and chair is not None:
            about["seat"] = table.chairs.index(chair)
            about["hint"] = chair.hint
            about["can"] = {
                "undo": table.plan.undo and table.decided(chair.seat) is not None,
                "hint": table.plan.hints and chair.decision is not None,
                "resign": not (table.done or chair.resigned),
                "again": table.done,
                "swap": table.done and len(table.chairs) > 1,
                "hurry": table.awaited() is not None and hub.people.stand_in(table) is not None,
            }
            about["patience"] = table.plan.patience
        if table is not None and table.again is not None:
            same = None if chair is None else table.again.chairs[table.after(chair)]
            about["again"] = link(table.again, same)
        return encode(about)

    def _look(self, runs: set[int | None]) -> None:
        for run in runs - self._runs:
            self._hub.look(run, 1)
        for run in self._runs - runs:
            self._hub.look(run, -1)
        self._runs = runs


def link(table: Table, chair: Chair | None) -> str:
    """Return the address of a table for a person, or for a watcher."""
    query = {} if chair is None else {"chair": chair.key}
    return path("table", table.key, **query)
