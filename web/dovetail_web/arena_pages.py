"""The pages of an arena: its ladders, each agent, a wall of what is played now, games to replay, and administration."""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from starlette.background import BackgroundTask
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from dovetail.peer.quoting import command, path
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import episodes
from dovetail_experiments.arena import archive, description, sign_in
from dovetail_experiments.arena.entrants import State
from dovetail_experiments.arena.rows import FinishedUnit
from dovetail_experiments.arena.standings import LadderTable, StandingsRow, elo, standings
from dovetail_experiments.arena.store import FILE, ArenaStore, LadderPlayer, Season
from dovetail_web.arena_figures import (
    by_seat,
    curve,
    game_rows,
    games,
    opponents,
    table_rows,
)
from dovetail_web.connection_limits import network
from dovetail_web.files import csv_file
from dovetail_web.positions import encode
from dovetail_web.rate_limit import Attempts
from dovetail_web.routes import Route
from dovetail_web.sessions import Sessions
from dovetail_web.shown import Shown

FRESH = 5.0
"""Seconds for which a table is shown before it is made again, at least."""
REST = 10.0
"""The same as a multiple of the time that it took: that of 10,000 units takes seconds on a busy machine."""
GAMES = 60
"""Games that an agent's page lists, the newest."""
LINES = 50
"""Lines of the log that a page shows, the newest."""
LONGEST = 500
"""Characters of what the operator writes."""
STATES: dict[str, State] = {"pause": "paused", "ban": "banned", "resume": "active"}
UNITS = 20
"""Units that a ladder's page lists, the newest."""


class Kept(NamedTuple):
    """A table that was made."""

    table: LadderTable
    latest: int
    """The newest unit that it counts."""
    until: float
    """When it may be made again."""


class ArenaPages:
    """The pages.

    Args:
        file: the arena's description.
        shown: makes a page.
        posted: returns a form that came from our own page.
        connected: returns whose the connected program of a name is; empty if there is none.
        sessions: of the browsers that have signed in.

    Raises:
        DovetailError: the file is not an arena's, or the arena was never run.
    """

    def __init__(
        self,
        file: Path,
        shown: Shown,
        posted: Callable[[Request], Awaitable[FormData]],
        connected: Callable[[str], str],
        sessions: Sessions,
    ) -> None:
        self._file = file
        self._arena = description.read(file)
        where = description.folder(file, self._arena)
        self._journal = where / description.JOURNAL
        self._own = description.token(file, self._arena)
        self._store = ArenaStore(where / FILE)
        self._shown = shown
        self._posted = posted
        self._connected = connected
        self._sessions = sessions
        self._attempts = Attempts()
        self._reading = asyncio.Semaphore(1)
        """A search through the journal takes long; those that wait keep no other page waiting."""
        self._tables: dict[tuple[str, int], Kept] = {}
        self._lock = threading.Lock()
        """A table is made once, however many ask for it."""

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/arena", self.ladders),
            Route("/arena/mine", self.mine, methods=["POST"]),
            Route("/operator", self.operator),
            Route("/operator", self.change, methods=["POST"]),
            Route("/operator/export", self.export, methods=["POST"]),
            Route("/arena/{ladder}", self.ladder),
            Route("/arena/{ladder}/table.csv", self.table_file),
            Route("/arena/{ladder}/{player:number}/games.csv", self.games_file),
            Route("/arena/{ladder}/wall", self.wall),
            Route("/arena/{ladder}/wall.json", self.leaders),
            Route("/arena/{ladder}/replay/{unit:number}/{number:number}", self.replay),
            Route("/arena/{ladder}/{player:number}", self.player),
        ]

    # -- what is shown ----------------------------------------------------------------------------

    def _of(self, request: Request) -> description.Ladder:
        try:
            return self._arena.ladder(request.path_params["ladder"])
        except DovetailError as error:
            raise HTTPException(404, f"{str(error)[:1].upper()}{str(error)[1:]}.") from None

    def _season(self, request: Request) -> tuple[Season, list[Season]]:
        seasons = self._store.seasons()
        wanted = request.query_params.get("season", "")
        for each in reversed(seasons):
            if wanted in ("", each.name):
                return each, seasons
        raise HTTPException(404, f"There is no season {wanted[:100]!r}.")

    def _seasons(self, season: Season, seasons: list[Season]) -> dict[str, Any]:
        """Return what all pages say of seasons."""
        final = season.final is not None and season.ended is None
        left = len(self._store.planned(season.number)) if final else 0
        return {"season": season, "seasons": seasons, "left": left}

    def _table(self, ladder: description.Ladder, season: int) -> LadderTable:
        key = ladder.name, season
        kept = self._tables.get(key)
        if not self._lock.acquire(blocking=kept is None):
            assert kept is not None
            return kept.table  # while a newer one is made
        try:
            kept = self._tables.get(key)
            began = time.monotonic()
            if kept is None or began > kept.until:
                newest = self._store.latest(season, ladder.name)
                if kept is None or newest != kept.latest:
                    found = standings(self._store, ladder, season, self._arena.seed)
                    now = time.monotonic()
                    until = now + max(FRESH, REST * (now - began))
                    kept = self._tables[key] = Kept(found, newest, until)
            return kept.table
        finally:
            self._lock.release()

    async def ladders(self, request: Request) -> Response:
        """All ladders, with who leads."""
        return await self._ladders(request)

    async def _ladders(
        self, request: Request, status: int = 200, problem: str = "", secret: str = ""
    ) -> Response:
        # Drawn for each page that is shown: the page of a planted cookie would show a known code.
        secret = secret or secrets.token_hex(16)

        def read() -> dict[str, Any]:
            season, seasons = self._season(request)
            return {
                **self._seasons(season, seasons),
                "ladders": [
                    (each, self._table(each, season.number)) for each in self._arena.ladders
                ],
                "elo": elo,
            }

        values = await asyncio.to_thread(read)
        return self._shown(
            request,
            "arena",
            status,
            arena=self._arena,
            entrant=await self._entrant(request),
            secret=secret,
            code=sign_in.code(secret),
            problem=problem,
            **values,
        )

    async def ladder(self, request: Request) -> Response:
        """A ladder's table and its latest units."""
        ladder = self._of(request)

        def read() -> dict[str, Any]:
            season, seasons = self._season(request)
            recent = self._store.played(season.number, ladder.name, last=UNITS)
            return {
                **self._seasons(season, seasons),
                "table": self._table(ladder, season.number),
                "recent": recent[::-1],
                "players": self._store.players(ladder.name),
                "elo": elo,
            }

        return self._shown(request, "ladder", ladder=ladder, **await asyncio.to_thread(read))

    async def player(self, request: Request) -> Response:
        """An agent: its rating over time, opponents, seats, faults and games."""
        ladder, number = self._of(request), request.path_params["player"]

        def read() -> dict[str, Any]:
            season, seasons = self._season(request)
            players = self._store.players(ladder.name)
            if number not in players:
                raise HTTPException(404, f"There is no agent {number} in {ladder.name}.")
            played = self._store.played(season.number, ladder.name, player=number)
            listed = games(played, number, players)
            row = next(
                (e for e in self._table(ladder, season.number).rows if e.player == number), None
            )
            return {
                **self._seasons(season, seasons),
                "player": players[number],
                "row": row,
                "curve": curve([_rating(unit, number) for unit in played]),
                "opponents": opponents(played, number, players),
                "seats": by_seat(played, number),
                "games": listed[:GAMES],
                "faults": [each for each in listed if each["fault"]][:GAMES],
                "log": self._store.log(LINES, [players[number].entrant, players[number].name]),
                "elo": elo,
            }

        values = await asyncio.to_thread(read)
        mine = _may_see(await self._entrant(request), values["player"])
        return self._shown(request, "player", ladder=ladder, mine=mine, date=_date, **values)

    async def table_file(self, request: Request) -> Response:
        """A ladder's table as CSV."""
        ladder = self._of(request)

        def read() -> Response:
            season, _ = self._season(request)
            return csv_file(
                f"{ladder.name}-{season.number}", table_rows(self._table(ladder, season.number))
            )

        return await asyncio.to_thread(read)

    async def games_file(self, request: Request) -> Response:
        """All games of an agent in a season as CSV, with what went wrong for those who may see it."""
        ladder, number = self._of(request), request.path_params["player"]
        who = await self._entrant(request)

        def read() -> Response:
            season, _ = self._season(request)
            players = self._store.players(ladder.name)
            if number not in players:
                raise HTTPException(404, f"There is no agent {number} in {ladder.name}.")
            listed = games(
                self._store.played(season.number, ladder.name, player=number), number, players
            )
            rows = game_rows(listed, told=_may_see(who, players[number]))
            return csv_file(f"{ladder.name}-{number}-{season.number}", rows)

        return await asyncio.to_thread(read)

    async def wall(self, request: Request) -> Response:
        """What is played now and who leads, for a lecture hall."""
        ladder = self._of(request)
        game = await asyncio.to_thread(lambda: ladder.offered)
        return self._shown(request, "wall", ladder=ladder, game=game)

    async def leaders(self, request: Request) -> Response:
        """The wall's table, as JSON."""
        ladder = self._of(request)

        def read() -> bytes:
            season, _ = self._season(request)
            rows = [_line(each) for each in self._table(ladder, season.number).rows if each.units]
            return encode({"season": season.name, "rows": rows[:12]})

        return Response(await asyncio.to_thread(read), media_type="application/json")

    async def replay(self, request: Request) -> Response:
        """Lead to a game of the journal."""
        ladder = self._of(request)
        unit, number = request.path_params["unit"], request.path_params["number"]
        part, index = (f".{number}", 0) if ladder.seats == 1 else ("", number)
        label = f"{ladder.name}/{unit}{part}/"

        def find() -> int | None:
            found = None
            for at, record in episodes(self._journal):
                if record.label.startswith(label) and record.result.index == index:
                    found = at  # the last attempt is the one that counts
            return found

        try:
            async with self._reading:
                at = await asyncio.to_thread(find)
        except (DovetailError, OSError) as error:
            raise HTTPException(500, f"The journal cannot be read: {error}") from None
        if at is None:
            raise HTTPException(404, "The journal does not have this game.")
        return RedirectResponse(path("replay", at), 303)

    # -- entrants ---------------------------------------------------------------------------------

    async def mine(self, request: Request) -> Response:
        """Sign an entrant or the operator in, to show what only they may see."""
        form = await self._posted(request)
        answer = RedirectResponse("/arena", 303)
        if "leave" in form:
            self._sessions.end(request, answer)
            return answer
        if "code" in form:
            secret = str(form["code"])[:100]
            code = sign_in.code(secret)
            who = await asyncio.to_thread(self._proved, code)
            if who is None:
                text = (
                    f"No key that may enter has shown this code; run `{command('arena', 'sign-in', code)}`, wait "
                    "until it says that it is connected, and try again."
                )
                return await self._ladders(request, 403, text, secret)
        else:
            address, now = network(request.client.host if request.client else ""), time.monotonic()
            wait = self._attempts.wait(address, now)
            if wait:
                text = f"Too many wrong access tokens; wait {math.ceil(wait)} s, then try again."
                return await self._ladders(request, 429, text)
            who = await asyncio.to_thread(self._whose, str(form.get("token", "")).strip())
            if who is None:
                self._attempts.failed(address, now)
                text = "This is not a valid access token; ask for a new one."
                return await self._ladders(request, 403, text)
        shown = await asyncio.to_thread(self._valid, who)
        if shown is None:  # banned at this moment
            return await self._ladders(request, 403, f"{who} may not sign in.")
        if who == description.OWN:
            answer = RedirectResponse("/operator", 303)
        self._sessions.begin(request, answer, who, shown)
        return answer

    def _proved(self, code: str) -> str | None:
        """Return who has connected to the broker to show a code; None if no one has who may."""
        who = self._connected(sign_in.name(code))
        state = self._store.entrants().get(who)
        return who if who == description.OWN or state not in (None, "banned") else None

    def _whose(self, given: str) -> str | None:
        """Return whose access token this is, an entrant's or the operator's; None if it is neither."""
        if given and hmac.compare_digest(self._own.encode(), given.encode(errors="replace")):
            return description.OWN
        return self._store.entrant(given)

    def _valid(self, who: str) -> str | None:
        """Return what an entrant, or the operator, has to have shown to be signed in now; None if it may not."""
        return self._own if who == description.OWN else self._store.shown(who)

    async def _entrant(self, request: Request) -> str:
        """Return the entrant whose token or key this browser has shown, while it is valid; empty if there is none."""
        found = self._sessions.signed(request)
        if found is None:
            return ""
        valid = await asyncio.to_thread(self._valid, found.who)
        known = valid is not None and hmac.compare_digest(valid.encode(), found.shown.encode())
        return found.who if known else ""

    # -- the operator -----------------------------------------------------------------------------

    async def _only_operator(self, request: Request) -> None:
        if await self._entrant(request) != description.OWN:
            raise HTTPException(
                403, "Only the arena's operator may do this; sign in on the page Arena."
            )

    async def operator(self, request: Request) -> Response:
        """What the operator can do, and the log."""
        await self._only_operator(request)
        return await self._administration(request)

    async def _administration(self, request: Request, problem: str = "") -> Response:
        def read() -> dict[str, Any]:
            seasons = self._store.seasons()
            return {
                **self._seasons(seasons[-1], seasons),
                "players": list(self._store.players().values()),
                "entrants": self._store.entrants(),
                "log": self._store.log(LINES)[::-1],
            }

        values = await asyncio.to_thread(read)
        status = 400 if problem else 200
        return self._shown(
            request, "operator", status, arena=self._arena, problem=problem, date=_date, **values
        )

    async def change(self, request: Request) -> Response:
        """Do what the operator asks for."""
        form = await self._posted(request)
        await self._only_operator(request)
        what, who, text = (str(form.get(each, "")).strip() for each in ("do", "who", "text"))
        try:
            await asyncio.to_thread(self._do, what, who, text[:LONGEST])
        except DovetailError as error:
            return await self._administration(request, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return RedirectResponse("/operator", 303)

    def _do(self, what: str, who: str, text: str) -> None:
        if what in STATES:
            self._store.mark(who, STATES[what], text)
        elif what == "note":
            self._store.note(who, text)
        elif what == "final":
            self._store.final(self._arena.seed, self._arena.sizes)
        elif what == "season" and text:
            self._store.season(text)
        else:
            raise DovetailError("nothing was asked for; choose what to do, and fill the form in")

    async def export(self, request: Request) -> Response:
        """Send everything as one archive."""
        await self._posted(request)
        await self._only_operator(request)
        folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        path = Path(folder.name) / "arena.zip"
        try:
            await asyncio.to_thread(archive.export, self._file, self._arena, path)
        except DovetailError as error:
            folder.cleanup()
            return await self._administration(request, f"{error}.")
        return FileResponse(path, filename="arena.zip", background=BackgroundTask(folder.cleanup))


def _may_see(who: str, player: LadderPlayer) -> bool:
    """Return whether a browser's user may see what went wrong in an agent's games."""
    return who == description.OWN or (who != "" and who == player.entrant)


def _rating(unit: FinishedUnit, player: int) -> tuple[float, float]:
    return unit.ratings[unit.players.index(player)]


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _line(row: StandingsRow) -> dict[str, Any]:
    return {"name": row.name, "elo": elo(row), "points": f"{row.points:.3f}", "units": row.units}
