"""Channels: what many browsers watch, rendered once for all of them."""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from collections.abc import Callable
from typing import Any

import msgspec

from dovetail_experiments.quoting import path
from dovetail_web.chairs import Chair
from dovetail_web.games import Game
from dovetail_web.hub import Hub
from dovetail_web.positions import encode
from dovetail_web.tables import Table

log = logging.getLogger("dovetail.web")

PAUSE = {"now": 0.25, "wall": 0.25}
"""Minimum seconds between two messages of a channel, by kind."""
GAME_PAUSE = 0.1
"""The same for a single game."""
CROWD_PAUSE = 0.0015
"""Minimum seconds between two messages of a channel, times the number of browsers: a message to one
takes about 0.1 ms, and all of them together should take at most a tenth of a core."""
CALM, ANSWERED = 1.0, 4
"""Seconds between messages from which browsers answer one of this number only."""
BEAT = 1.7
"""Seconds after which a channel looks for news that nothing announces, such as a silent broker, and
after which a browser that was sent nothing is sent a heartbeat; its page waits 2.6 s for one."""
PACKED = 1000
"""Bytes from which a message is compressed, for browsers that can unpack it."""
GONE = (
    "The page does not have this game any more: its server was started again, or many games were "
    "played since. Begin a new one on Play."
)


class Message:
    """A message to a browser, compressed at most once however many it is sent to.

    Args:
        value: the message, for JSON.
        calm: true if no browser needs to answer it.
    """

    def __init__(self, value: dict[str, Any], *, calm: bool = False) -> None:
        self.calm = calm
        self.text = encode({**value, "calm": True} if calm else value)
        self._packed: bytes | None = None

    def frame(self, *, packed: bool) -> str | bytes:
        """Return the message as text; compressed by zlib if it is long and ``packed`` is true."""
        if not packed or len(self.text) < PACKED:
            return self.text.decode()
        if self._packed is None:
            self._packed = zlib.compress(self.text)
        return self._packed


class Channel:
    """Messages about one subject, for all browsers that watch it.

    Args:
        hub: the connection to the broker.
        about: the subject: ``now``, ``wall:GAME``, ``game:EPISODE`` or ``table:KEY``.
        browsers: returns the number of browsers, of this channel and others.
    """

    def __init__(self, hub: Hub, about: str, browsers: Callable[[], int]) -> None:
        self.watchers = 0
        self._hub = hub
        self._kind, _, self._what = about.partition(":")
        self._browsers = browsers
        self._version = 0
        self._shown = b""
        """The newest message, in JSON."""
        self._change: Message | None = None
        """The message that leads from the version before to this one."""
        self._all: Message | None = None
        """This version of a list for a browser that has none, once one has asked for it."""
        self._moved = asyncio.Event()
        """Set when there is a newer version; each version has one of its own."""
        self._known: dict[int, int] = {}
        """The version of each game on a wall in the newest message, by episode."""
        self._runs: set[int | None] = set()
        """The runs that it looks at."""
        self._news = asyncio.Event()
        hub.bell.add(self._news)
        self._task = asyncio.create_task(self._follow())

    def close(self) -> None:
        """End it; no browser watches any more."""
        self._task.cancel()
        self._hub.bell.remove(self._news)
        self._look(set())

    async def next(self, version: int) -> tuple[int, Message]:
        """Return the newest version and the message that leads to it, once there is one.

        Args:
            version: the version that the browser has; -1 if it has none.
        """
        while self._change is None or version == self._version:
            await self._moved.wait()
        lists = self._kind in PAUSE  # a change of a game has all of it, a change of a list does not
        if version == self._version - 1 > 0 or (version > 0 and not lists):
            return self._version, self._change
        if not lists:
            return self._version, Message({**self._render({}), "time": time.monotonic()})
        if self._all is None:
            self._all = Message(self._render({}))
        return self._version, self._all

    async def _follow(self) -> None:
        """Make a new version whenever something has changed."""
        while True:
            try:
                change = self._render(self._known)
                shown = encode(change)
            except Exception:  # a fault of the page must not end it for everyone
                log.exception("cannot show %s", self._kind)
            else:
                if shown != self._shown:
                    self._version += 1
                    calm = self._pause() >= CALM and self._version % ANSWERED > 0
                    self._shown, self._all = shown, None
                    self._change = Message(change, calm=calm)
                    moved, self._moved = self._moved, asyncio.Event()
                    moved.set()
            await asyncio.sleep(self._pause())
            try:
                await asyncio.wait_for(self._news.wait(), BEAT)
            except TimeoutError:
                continue
            self._news.clear()

    def _pause(self) -> float:
        """Return the least seconds between two versions."""
        return max(PAUSE.get(self._kind, GAME_PAUSE), CROWD_PAUSE * self._browsers())

    def _render(self, known: dict[int, int]) -> dict[str, Any]:
        """Return what is shown; of a wall only the positions that are not known."""
        hub = self._hub
        if self._kind == "wall":
            self._look({None})
            now = hub.now(known, self._what)
            return {"now": {"problem": now["problem"], "games": now["games"]}}
        if self._kind == "now":
            hub.visited = time.monotonic()
            self._look({each["run"] for each in hub.catalogue.get("runs", [])[-8:]})
            return {"now": hub.now(known)}
        table = hub.people.tables.get(self._what) if self._kind == "table" else None
        game = None if table is None or table.run is None else hub.game_of(table.run)
        if self._kind == "game" and self._what.isdecimal():
            game = hub.games.get(int(self._what))
        if game is not None and not game.over:
            self._look({game.run})
        return shown(hub, game, table)

    def _look(self, runs: set[int | None]) -> None:
        for run in runs - self._runs:
            self._hub.look(run, 1)
        for run in self._runs - runs:
            self._hub.look(run, -1)
        self._runs = runs


class Channels:
    """The channels that are watched, by subject."""

    def __init__(self, hub: Hub) -> None:
        self.browsers = 0
        """The number of connected browsers."""
        self._hub = hub
        self._open: dict[str, Channel] = {}

    def enter(self, about: str) -> Channel:
        """Return the channel of a subject, with one watcher more."""
        channel = self._open.get(about)
        if channel is None:
            channel = self._open[about] = Channel(self._hub, about, lambda: self.browsers)
        channel.watchers += 1
        return channel

    def leave(self, about: str) -> None:
        """Count one watcher less; the last one ends the channel."""
        channel = self._open[about]
        channel.watchers -= 1
        if not channel.watchers:
            del self._open[about]
            channel.close()


def shown(hub: Hub, game: Game | None, table: Table | None) -> dict[str, Any]:
    """Return what everybody sees of a game in progress, or of a table."""
    about: dict[str, Any] = {
        "game": None if game is None else game.about(),
        "broker": hub.trouble,
        "names": [] if table is None else table.plan.names,
        "problem": "" if table is None else table.problem,
        "done": table is not None and table.done,
        "away": [] if table is None else hub.people.away(table),
        "ended": "" if table is None else table.ended,
        "position": None,
        "mine": None,
        "waiting": False,
    }
    if game is None and table is None:
        return {**about, "done": True, "problem": GONE}
    if game is not None and game.positions:
        place = game.first + len(game.positions) - 1
        about["position"] = msgspec.Raw(game.position(place) or b"null")
    if table is not None and table.again is not None:
        about["again"] = link(table.again, None)
    return about


def link(table: Table, chair: Chair | None) -> str:
    """Return the address of a table for a person, or for a watcher."""
    query = {} if chair is None else {"chair": chair.key}
    return path("table", table.key, **query)
