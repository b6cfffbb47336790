"""Shared by the pages of an arena: its store, its tables, and the entrant at a browser."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.arena import description
from dovetail_experiments.arena.entrants import Presence
from dovetail_experiments.arena.standings import LadderTable, standings
from dovetail_experiments.arena.store import FILE, ArenaStore, LadderPlayer, Season
from dovetail_experiments.arena.submissions import Submission
from dovetail_web.sessions import Sessions

log = logging.getLogger("dovetail.web")

FRESH = 5.0
"""Minimum seconds for which a table is cached."""
REST = 10.0
"""The same as a multiple of the time to compute it: 10,000 units take seconds on a busy
machine."""
RENEWAL = "x-renewal"
"""The header of a page that asks for its own newest content."""
LATELY, SHARE, MOST = 2.5, 4, 500
"""Minimum seconds for which a renewal is kept for others; all of them together take one SHARE-th of
the time; and maximum renewals that are kept."""
LINES = 50
"""Lines of the log on a page, the newest."""


class KeptTable(NamedTuple):
    """A cached table."""

    table: LadderTable
    latest: int
    """The newest unit in it."""
    until: float
    """The time from which it may be computed again."""


class Renewal:
    """A page as it was rendered lately.

    Args:
        body: its bytes.
    """

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        self.until = time.monotonic() + LATELY
        """The time from which it may be rendered again."""


class ArenaSite:
    """An arena, for its pages.

    Args:
        file: the arena's description.
        shown: renders a page.
        posted: returns a form, after checking that it came from the page itself.
        sessions: the sessions of signed-in browsers.

    Raises:
            DovetailError: the file does not describe an arena, or the arena has never run.
    """

    def __init__(
        self,
        file: Path,
        shown: Callable[..., Response],
        posted: Callable[[Request], Awaitable[FormData]],
        sessions: Sessions,
    ) -> None:
        self.file = file
        self._written = _written(file)
        self._arena = description.read(file)
        self.folder = description.folder(file, self._arena)
        self.journal = self.folder / description.JOURNAL
        self.own = description.token(file, self._arena)
        self.store = ArenaStore(self.folder / FILE, by="page")
        self.shown = shown
        self.posted = posted
        self.sessions = sessions
        self._tables: dict[tuple[str, int, bool], KeptTable] = {}
        self._lock = threading.Lock()
        """Guards the cache, so that a table is computed once for many requests."""
        self._renewals: dict[tuple[str, str], Renewal] = {}
        """Pages by address, and by who is signed in with which stamp."""
        self._turn = asyncio.Lock()
        self._rested = 0.0
        """The time from which a page may be rendered again for its renewal."""

    @property
    def arena(self) -> description.Arena:
        """The arena's description, read again once its file has changed."""
        written = _written(self.file)
        if written != self._written:
            self._written = written
            try:
                self._arena = description.read(self.file)
            except DovetailError as error:
                log.warning("%s; the pages show what it said before", error)
        return self._arena

    async def renewed(
        self, request: Request, render: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Return a page; one that renews itself gets what was rendered lately for the same person.

        Visitors who are not signed in share a rendering, which has no stamps.
        """
        if RENEWAL not in request.headers:
            return await render(request)
        who = await self.entrant(request)
        request.state.shared = not who
        key = str(request.url), f"{who} {self.sessions.stamp(request)}" if who else ""
        found, began = self._renewals.get(key), time.monotonic()
        # An older one will do while another one is rendered, and for a while after.
        resting = self._turn.locked() or began < self._rested
        if found is None or (began > found.until and not resting):
            async with self._turn:
                found, began = self._renewals.get(key), time.monotonic()
                if found is None or began > found.until:
                    answer = await render(request)
                    if answer.status_code != 200:
                        return answer
                    found = self._renewals[key] = Renewal(bytes(answer.body))
                    while len(self._renewals) > MOST:
                        del self._renewals[next(iter(self._renewals))]
                    now = time.monotonic()
                    self._rested = now + (SHARE - 1) * (now - began)
        headers = {"ETag": found.tag}
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        return Response(found.body, media_type="text/html", headers=headers)

    def ladder(self, request: Request) -> description.Ladder:
        """Return the ladder in a request's address."""
        try:
            return self.arena.ladder(request.path_params["ladder"])
        except DovetailError as error:
            raise HTTPException(404, capital(error)) from None

    def player(self, request: Request, key: str = "player") -> LadderPlayer:
        """Return the agent in a request's address."""
        ladder, number = self.ladder(request), request.path_params[key]
        found = self.store.players(ladder.name).get(number)
        if found is None:
            raise HTTPException(404, f"There is no agent {number} in {ladder.name}.")
        return found

    def season(self, request: Request) -> tuple[Season, list[Season]]:
        """Return the season in a request's address, or the newest, and all seasons."""
        seasons = self.store.seasons()
        wanted = request.query_params.get("season", "")
        for each in reversed(seasons):
            if wanted in ("", each.name):
                return each, seasons
        raise HTTPException(404, f"There is no season {wanted[:100]!r}.")

    def seasons(self, season: Season, seasons: list[Season]) -> dict[str, Any]:
        """Return the template values about seasons."""
        final = season.final is not None and season.ended is None
        left = len(self.store.planned(season.number)) if final else 0
        return {"season": season, "seasons": seasons, "left": left, "ends": self.ends(season)}

    def ends(self, season: Season) -> float | None:
        """Return the time of a season's final; None if the description has none."""
        for each in self.arena.seasons:
            if each.name == season.name and each.final is not None and not season.final:
                return each.final.astimezone().timestamp()
        return None

    def table(
        self, ladder: description.Ladder, season: int, *, practice: bool = False
    ) -> LadderTable:
        """Return a ladder's table, perhaps from the cache."""
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
        """Return the credential that an entrant, or the operator, must have signed in with; None
        if it may not sign in."""
        return self.own if who == description.OWN else self.store.shown(who)

    async def entrant(self, request: Request) -> str:
        """Return the entrant that is signed in at a browser with a valid credential, or ``""``."""
        found = self.sessions.signed(request)
        if found is None:
            return ""
        valid = await asyncio.to_thread(self.valid, found.who)
        known = valid is not None and hmac.compare_digest(valid.encode(), found.shown.encode())
        return found.who if known else ""

    async def only_operator(self, request: Request) -> None:
        """Refuse everyone but the operator."""
        if await self.entrant(request) != description.OWN:
            raise HTTPException(
                403, "Only the arena's operator may do this; sign in on the page Arena."
            )

    async def only_entrant(self, request: Request) -> str:
        """Return the entrant that is signed in; refuse others."""
        who = await self.entrant(request)
        if not who or who == description.OWN:
            raise HTTPException(403, "Sign in on the page Arena as the entrant that this is of.")
        return who


def uploads(
    found: Sequence[Submission],
    players: Mapping[int, LadderPlayer],
    presence: Mapping[int, Presence],
) -> list[tuple[Submission, str]]:
    """Return submissions with their states; those of its rows in tables for one that plays."""
    rows: dict[tuple[str, str], list[str]] = {}
    for number, each in players.items():
        state = presence[number].state if each.state == "active" else each.state
        rows.setdefault((each.entrant, each.program), []).append(state)
    return [
        (each, ", ".join(sorted({*rows.get((each.entrant, each.named), [each.state])})))
        if each.state == "playing"
        else (each, each.state)
        for each in found
    ]


def _written(file: Path) -> tuple[int, int]:
    """Return a key that changes when a file is written; that of no file if there is none."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def may_see(who: str, player: LadderPlayer) -> bool:
    """Return whether a user may see the errors in an agent's games."""
    return who == description.OWN or (who != "" and who == player.entrant)


def capital(error: object) -> str:
    """Return an error's text with a capital letter."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def date(seconds: float) -> str:
    """Return a readable time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
