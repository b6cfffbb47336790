"""A browser's connection: sends it updates of what it is looking at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.websockets import WebSocket

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail_web.chairs import Chair
from dovetail_web.channel import BEAT, GAME_PAUSE, Channels, Message, link, shown
from dovetail_web.hub import Hub
from dovetail_web.people import MOST_TABLES, People
from dovetail_web.tables import Table

TABLE_PAUSE = 0.02
"""Minimum seconds between two messages to a player at a table."""
SILENT = 30.0
"""Seconds without an answer to heartbeats after which a browser counts as gone."""
LONG = 10_000
"""Bytes from which a player's first message is preceded by what watchers see, so that a slow line
has the board before the choices: 90 kB in Amazons."""
WAITING = ThreadPoolExecutor(MOST_TABLES, "waiting")
"""Threads for people's requests, which may wait for an agent to be created: in the event loop's few
threads they would hold up everything else."""


class Browser:
    """A browser's connection.

    Args:
        hub: the connection to the broker.
        channels: the channels of all browsers.
        socket: the browser's WebSocket, accepted.
    """

    def __init__(self, hub: Hub, channels: Channels, socket: WebSocket) -> None:
        self._hub = hub
        self._channels = channels
        self._socket = socket
        self._about = ""
        self._chair = ""
        self._unpacks = False
        """True if it can unpack compressed messages."""
        self._ladder, self._led = "", b""
        """The ladder shown, and its leaders as last sent."""
        self._heard = time.monotonic()
        """The time of the latest message from it."""
        self._sent = self._heard - GAME_PAUSE
        """The time of the latest message to it; the first may be sent at once."""
        self._task: asyncio.Task[None] | None = None
        """The task that sends it updates of what it looks at."""
        self._news = asyncio.Event()
        self._free = asyncio.Event()
        """Set while the browser has processed everything, so that a slow one never has a queue."""
        self._free.set()
        channels.browsers += 1

    def close(self) -> None:
        """Release the connection."""
        self._channels.browsers -= 1
        if self._task is not None:
            self._task.cancel()

    async def serve(self) -> None:
        """Handle the browser's messages and send it updates until it leaves."""
        beat = asyncio.create_task(self._beat())
        try:
            while True:
                event = await self._socket.receive()
                if event["type"] == "websocket.disconnect":
                    return
                self._heard = time.monotonic()
                try:
                    asked = msgspec.json.decode(event.get("text") or b"")
                except codec.UNREADABLE:
                    await self._socket.close(4400)
                    return
                if isinstance(asked, dict):
                    await self._asked(asked)
        finally:
            beat.cancel()

    async def _asked(self, asked: dict[str, Any]) -> None:
        match asked:
            case {"got": True}:
                self._free.set()
            case {"about": str(about)}:
                self._about = about[:200]
                self._chair = str(asked.get("chair", ""))[:100]
                self._ladder = str(asked.get("ladder", ""))[:100]
                self._unpacks = asked.get("unpacks", self._unpacks) is True
                self._led = b""
                await self._lead()
                if self._task is not None:
                    self._task.cancel()
                follow = self._watch() if self._sitting()[1] is None else self._play()
                self._task = asyncio.create_task(follow)
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
            await self._say(Message({"say": str(error)}))

    def _sitting(self) -> tuple[Table | None, Chair | None]:
        """Return the table that is shown, and the browser's own chair there."""
        kind, _, key = self._about.partition(":")
        table = self._hub.people.tables.get(key) if kind == "table" else None
        people = [] if table is None else table.people
        chair = next((each for each in people if each.key == self._chair), None)
        if table is not None and chair is not None:
            table.seen = chair.seen = time.monotonic()
        return table, chair

    async def _watch(self) -> None:
        """Send what everybody sees."""
        about, version = self._about, -1
        await self._paced(GAME_PAUSE)
        channel = self._channels.enter(about)
        try:
            while True:
                await self._free.wait()
                version, message = await channel.next(version)
                if not message.calm:
                    self._free.clear()
                await self._say(message)
        finally:
            self._channels.leave(about)

    async def _paced(self, pause: float) -> None:
        """Wait for its turn, so that a browser which keeps asking costs no more than one that
        watches."""
        await asyncio.sleep(max(0.0, self._sent + pause - time.monotonic()))

    async def _play(self) -> None:
        """Send a player what its seat sees."""
        await self._paced(TABLE_PAUSE)
        came, last, first = time.monotonic(), b"", True
        self._hub.bell.add(self._news)
        self._news.set()
        try:
            while True:
                await self._free.wait()
                await self._news.wait()
                self._news.clear()
                common = self._common() | {"time": came}
                message = Message(common | self._own())
                if message.text != last:
                    if first and len(message.text) > LONG:
                        await self._say(Message(common))
                    first, last = False, message.text
                    self._free.clear()
                    await self._say(message)
                await asyncio.sleep(TABLE_PAUSE)
        finally:
            self._hub.bell.remove(self._news)

    async def _say(self, message: Message) -> None:
        frame = message.frame(packed=self._unpacks)
        self._sent = time.monotonic()
        if isinstance(frame, str):
            await self._socket.send_text(frame)
        else:
            await self._socket.send_bytes(frame)

    async def _lead(self) -> None:
        """Send the leaders of a ladder if they have changed."""
        if not self._ladder:
            return
        found = await asyncio.to_thread(self._hub.leaders, self._ladder)
        if found != self._led:
            self._led = found
            await self._say(Message({"leaders": msgspec.Raw(found)}))

    async def _beat(self) -> None:
        """Send heartbeats, even to a browser that is behind."""
        while True:
            await asyncio.sleep(max(0.0, self._sent + BEAT - time.monotonic()))
            if time.monotonic() > self._heard + SILENT:
                await self._socket.close(4408)
                return
            if time.monotonic() >= self._sent + BEAT:
                await self._say(Message({}))
            await self._lead()
            self._news.set()  # who is there, and how long the broker has been silent

    def _common(self) -> dict[str, Any]:
        """Return what everybody sees of the table."""
        table = self._sitting()[0]
        game = None if table is None or table.run is None else self._hub.game_of(table.run)
        return shown(self._hub, game, table)

    def _own(self) -> dict[str, Any]:
        """Return what only the player sees."""
        table, chair = self._sitting()
        if table is None or chair is None:
            return {}
        found: dict[str, Any] = {
            "mine": chair.seen_by(table.chairs.index(chair)),
            "waiting": chair.decision is not None,
            "seat": table.chairs.index(chair),
            "hint": chair.hint,
            "can": {
                "undo": table.plan.undo and table.decided(chair.seat) is not None,
                "hint": table.plan.hints and chair.decision is not None,
                "resign": not (table.done or chair.resigned),
                "again": table.done,
                "swap": table.done and len(table.chairs) > 1,
                "hurry": table.awaited() is not None
                and self._hub.people.stand_in(table) is not None,
            },
            "patience": table.plan.patience,
        }
        if table.again is not None:
            found["again"] = link(table.again, table.again.chairs[table.after(chair)])
        return found
