"""The parts that all pages of an arena share: its store, its tables, and the entrant of a
browser."""

from __future__ import annotations

import asyncio
import hmac
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.arena import description
from dovetail_experiments.arena.standings import LadderTable, standings
from dovetail_experiments.arena.store import FILE, ArenaStore, LadderPlayer, Season
from dovetail_web.sessions import Sessions
from dovetail_web.shown import Shown

FRESH = 5.0
"""Seconds for which a table is shown before it is made again, at least."""
REST = 10.0
"""The same as a multiple of the time that it took: that of 10,000 units takes seconds on a busy
machine."""
LINES = 50
"""Lines of the log that a page shows, the newest."""


class KeptTable(NamedTuple):
    """A table that was made."""

    table: LadderTable
    latest: int
    """The newest unit that it counts."""
    until: float
    """When it may be made again."""


class ArenaSite:
    """An arena, for its pages.

    Args:
        file: the arena's description.
        shown: makes a page.
        posted: returns a form that came from our own page.
        sessions: of the browsers that have signed in.

    Raises:
        DovetailError: the file is not an arena's, or the arena was never run.
    """

    def __init__(
        self,
        file: Path,
        shown: Shown,
        posted: Callable[[Request], Awaitable[FormData]],
        sessions: Sessions,
    ) -> None:
        self.file = file
        self.arena = description.read(file)
        self.folder = description.folder(file, self.arena)
        self.journal = self.folder / description.JOURNAL
        self.own = description.token(file, self.arena)
        self.store = ArenaStore(self.folder / FILE, by="page")
        self.shown = shown
        self.posted = posted
        self.sessions = sessions
        self._tables: dict[tuple[str, int, bool], KeptTable] = {}
        self._lock = threading.Lock()
        """A table is made once, however many ask for it."""

    def ladder(self, request: Request) -> description.Ladder:
        """Return the ladder that an address names."""
        try:
            return self.arena.ladder(request.path_params["ladder"])
        except DovetailError as error:
            raise HTTPException(404, capital(error)) from None

    def player(self, request: Request, key: str = "player") -> LadderPlayer:
        """Return the agent that an address names."""
        ladder, number = self.ladder(request), request.path_params[key]
        found = self.store.players(ladder.name).get(number)
        if found is None:
            raise HTTPException(404, f"There is no agent {number} in {ladder.name}.")
        return found

    def season(self, request: Request) -> tuple[Season, list[Season]]:
        """Return the season that an address names, or the newest, and all."""
        seasons = self.store.seasons()
        wanted = request.query_params.get("season", "")
        for each in reversed(seasons):
            if wanted in ("", each.name):
                return each, seasons
        raise HTTPException(404, f"There is no season {wanted[:100]!r}.")

    def seasons(self, season: Season, seasons: list[Season]) -> dict[str, Any]:
        """Return what all pages say of seasons."""
        final = season.final is not None and season.ended is None
        left = len(self.store.planned(season.number)) if final else 0
        return {"season": season, "seasons": seasons, "left": left, "ends": self.ends(season)}

    def ends(self, season: Season) -> float | None:
        """Return when the final of a season begins, if the description says so."""
        for each in self.arena.seasons:
            if each.name == season.name and each.final is not None and not season.final:
                return each.final.astimezone().timestamp()
        return None

    def table(
        self, ladder: description.Ladder, season: int, *, practice: bool = False
    ) -> LadderTable:
        """Return the table of a ladder, not always the newest."""
        key = ladder.name, season, practice
        kept = self._tables.get(key)
        if not self._lock.acquire(blocking=kept is None):
            assert kept is not None
            return kept.table  # while a newer one is made
        try:
            kept = self._tables.get(key)
            began = time.monotonic()
            if kept is None or began > kept.until:
                newest = self.store.latest(season, ladder.name, practice=practice)
                if kept is None or newest != kept.latest:
                    seed = self.arena.seed
                    found = standings(self.store, ladder, season, seed, practice=practice)
                    now = time.monotonic()
                    until = now + max(FRESH, REST * (now - began))
                    kept = self._tables[key] = KeptTable(found, newest, until)
            return kept.table
        finally:
            self._lock.release()

    # -- who it is --------------------------------------------------------------------------------

    def valid(self, who: str) -> str | None:
        """Return what an entrant, or the operator, has to have shown to be signed in now; None if
        it may not."""
        return self.own if who == description.OWN else self.store.shown(who)

    async def entrant(self, request: Request) -> str:
        """Return the entrant whose token or key this browser has shown, while it is valid; empty if
        there is none."""
        found = self.sessions.signed(request)
        if found is None:
            return ""
        valid = await asyncio.to_thread(self.valid, found.who)
        known = valid is not None and hmac.compare_digest(valid.encode(), found.shown.encode())
        return found.who if known else ""

    async def only_operator(self, request: Request) -> None:
        """Refuse all but the operator."""
        if await self.entrant(request) != description.OWN:
            raise HTTPException(
                403, "Only the arena's operator may do this; sign in on the page Arena."
            )

    async def only_entrant(self, request: Request) -> str:
        """Return the entrant that has signed in; refuse others."""
        who = await self.entrant(request)
        if not who or who == description.OWN:
            raise HTTPException(403, "Sign in on the page Arena as the entrant that this is of.")
        return who


def may_see(who: str, player: LadderPlayer) -> bool:
    """Return whether a browser's user may see what went wrong in an agent's games."""
    return who == description.OWN or (who != "" and who == player.entrant)


def capital(error: object) -> str:
    """Return an error as a sentence."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def date(seconds: float) -> str:
    """Return a time for a reader."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
