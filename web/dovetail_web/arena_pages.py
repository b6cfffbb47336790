"""The public pages of an arena: ladders, agents, head-to-head lists, the hall and replays."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import episodes
from dovetail_experiments.arena.entrants import Presence
from dovetail_experiments.arena.standings import StandingsRow, elo
from dovetail_experiments.arena.store import LadderPlayer
from dovetail_experiments.arena.units import FinishedUnit
from dovetail_experiments.quoting import path
from dovetail_experiments.reports.charts import rating
from dovetail_web.arena_figures import (
    Scale,
    by_seat,
    game_rows,
    games,
    opponents,
    results,
    scale,
    table_rows,
)
from dovetail_web.arena_site import LINES, ArenaSite, date, may_see
from dovetail_web.files import csv_file
from dovetail_web.positions import encode
from dovetail_web.routes import Route

GAMES = 60
"""Maximum games on an agent's page, the newest."""
UNITS = 20
"""Maximum units on a ladder's page, the newest."""
LEADERS = 100
"""Maximum agents in the hall, the best."""
FRESH = 2.5
"""Seconds for which the hall's table is cached."""
NEWEST = 4
"""Maximum results in the hall."""


class ArenaPages:
    """The public pages.

    Args:
        site: the arena.
    """

    def __init__(self, site: ArenaSite) -> None:
        self._site = site
        self._store = site.store
        self._reading = asyncio.Semaphore(1)
        """Limits slow searches through the journal to one at a time."""
        self._looking = threading.Lock()
        self._led: dict[str, tuple[float, bytes]] = {}
        """The time at which a ladder's leaders were read, and the leaders, by ladder."""

    def routes(self) -> list[Route]:
        site = self._site
        return [
            Route("/arena/hall", self.hall),
            Route("/arena/{ladder}", partial(site.renewed, render=self.ladder)),
            Route("/arena/{ladder}/table.csv", self.table_file),
            Route("/arena/{ladder}/{player:number}/games.csv", self.games_file),
            Route("/arena/{ladder}/wall", self.wall),
            Route("/arena/{ladder}/replay/{unit:number}/{number:number}", self.replay),
            Route("/arena/{ladder}/{player:number}", partial(site.renewed, render=self.player)),
            Route("/arena/{ladder}/{player:number}/{other:number}", self.both),
        ]

    async def ladder(self, request: Request) -> Response:
        """Return a ladder's table and its latest units."""
        site, ladder = self._site, self._site.ladder(request)
        practice = "practice" in request.query_params

        def read() -> dict[str, Any]:
            season, seasons = site.season(request)
            recent = self._store.played(season.number, ladder.name, last=UNITS, practice=practice)
            players = self._store.players(ladder.name)
            table = site.table(ladder, season.number, practice=practice)
            return {
                **site.seasons(season, seasons),
                "table": table,
                "scale": scale(table.rows),
                "recent": recent[::-1],
                "results": results(recent[::-1], players),
                "players": players,
                "presence": self._store.presence(ladder.name),
                "elo": elo,
            }

        values = await asyncio.to_thread(read)
        who = await site.entrant(request)
        return site.shown(
            request,
            "ladder",
            ladder=ladder,
            game=ladder.offered,
            entrant=who,
            practice=practice,
            now=time.time(),
            date=date,
            **values,
        )

    async def player(self, request: Request) -> Response:
        """Return an agent's page: its rating over time, opponents, seats, faults and games."""
        site, player = self._site, self._site.player(request)
        ladder, number = site.ladder(request), player.id
        who = await site.entrant(request)

        def read() -> dict[str, Any]:
            season, seasons = site.season(request)
            players = self._store.players(ladder.name)
            played = self._store.played(season.number, ladder.name, player=number)
            practice = self._store.played(
                season.number, ladder.name, player=number, last=GAMES, practice=True
            )
            listed = games(played, number, players)
            rows = site.table(ladder, season.number).rows
            return {
                **site.seasons(season, seasons),
                "row": next((e for e in rows if e.player == number), None),
                "place": next((n for n, e in enumerate(rows, 1) if e.player == number), 0),
                "curve": rating(player.name, [_rating(unit, number) for unit in played])
                if len(played) > 1
                else None,
                "opponents": opponents(played, number, players),
                "seats": by_seat(played, number),
                "games": listed[:GAMES],
                "practice": games(practice, number, players)[:GAMES],
                "faults": [each for each in listed if each["fault"]][:GAMES],
                "log": self._store.log(LINES, [player.entrant, player.name]),
                "presence": self._store.presence(ladder.name).get(number, Presence()),
                "own": [each for each in players.values() if who and each.entrant == who],
                "elo": elo,
            }

        values = await asyncio.to_thread(read)
        return site.shown(
            request,
            "player",
            ladder=ladder,
            player=player,
            mine=may_see(who, player),
            entrant=who,
            now=time.time(),
            date=date,
            **values,
        )

    async def both(self, request: Request) -> Response:
        """Return all games between two agents."""
        site, ladder = self._site, self._site.ladder(request)
        one, other = site.player(request), site.player(request, "other")
        who = await site.entrant(request)

        def read() -> dict[str, Any]:
            season, seasons = site.season(request)
            players = self._store.players(ladder.name)
            found = {}
            for practice in (False, True):
                played = self._store.played(
                    season.number, ladder.name, player=one.id, other=other.id, practice=practice
                )
                found[practice] = games(played, one.id, players)
                if not practice:
                    met = opponents(played, one.id, players)
            return {
                **site.seasons(season, seasons),
                "units": next(((n, p) for o, n, p in met if o.id == other.id), (0, 0.0)),
                "games": found[False],
                "practice": found[True],
            }

        return site.shown(
            request,
            "both",
            ladder=ladder,
            one=one,
            other=other,
            mine=may_see(who, one),
            **await asyncio.to_thread(read),
        )

    async def table_file(self, request: Request) -> Response:
        """Return a ladder's table as CSV."""
        ladder = self._site.ladder(request)

        def read() -> Response:
            season, _ = self._site.season(request)
            table = self._site.table(ladder, season.number)
            return csv_file(f"{ladder.name}-{season.number}", table_rows(table))

        return await asyncio.to_thread(read)

    async def games_file(self, request: Request) -> Response:
        """Return an agent's games of a season as CSV, with errors for those allowed to see them."""
        player = self._site.player(request)
        who = await self._site.entrant(request)

        def read() -> Response:
            season, _ = self._site.season(request)
            number, ladder = player.id, player.ladder
            played = self._store.played(season.number, ladder, player=number)
            listed = games(played, number, self._store.players(ladder))
            rows = game_rows(listed, told=may_see(who, player))
            return csv_file(f"{ladder}-{number}-{season.number}", rows)

        return await asyncio.to_thread(read)

    # -- for a lecture hall -----------------------------------------------------------------------

    async def wall(self, request: Request) -> Response:
        """Redirect to the hall of one ladder."""
        ladder = self._site.ladder(request)
        return RedirectResponse(path("arena", "hall", only=ladder.name), 303)

    async def hall(self, request: Request) -> Response:
        """Return the hall: games in progress and leaders, full screen, ladder after ladder."""
        only = request.query_params.get("only", "")
        shown = [e for e in self._site.arena.ladders if only in ("", e.name)]
        if not shown:
            raise HTTPException(404, f"There is no ladder {only[:80]!r}.")
        ladders = await asyncio.to_thread(lambda: [(each.name, each.offered) for each in shown])
        return self._site.shown(request, "hall", arena=self._site.arena, ladders=ladders)

    def leaders(self, name: str) -> bytes:
        """Return a ladder for the hall as JSON, cached so that a hundred halls cost one reading."""
        with self._looking:
            read, found = self._led.get(name, (-math.inf, b"null"))
            if time.monotonic() - read > FRESH:
                found = self._leaders(name)
                self._led[name] = time.monotonic(), found
            return found

    def _leaders(self, name: str) -> bytes:
        ladder = next((each for each in self._site.arena.ladders if each.name == name), None)
        if ladder is None:
            return b"null"
        season = self._store.seasons()[-1]
        table = self._site.table(ladder, season.number)
        players = self._store.players(ladder.name)
        presence = self._store.presence(ladder.name)
        rows = [row for row in table.rows if row.units][:LEADERS]
        recent = self._store.played(season.number, ladder.name, last=NEWEST)
        bars = scale(rows)
        return encode(
            {
                "ladder": ladder.name,
                "season": season.name,
                "ends": self._site.ends(season),
                "online": sum(each.online for each in presence.values()),
                "agents": len(players),
                "played": table.played,
                "ticks": bars.ticks,
                "rows": [_line(row, presence, players, bars) for row in rows],
                "results": results(recent[::-1], players),
            }
        )

    async def replay(self, request: Request) -> Response:
        """Redirect to the replay of a game."""
        ladder = self._site.ladder(request)
        unit, number = request.path_params["unit"], request.path_params["number"]
        part, index = (f".{number}", 0) if ladder.seats == 1 else ("", number)
        label = f"{ladder.name}/{unit}{part}/"

        def find() -> int | None:
            found = None
            for at, record in episodes(self._site.journal):
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


def _rating(unit: FinishedUnit, player: int) -> tuple[float, float]:
    return unit.ratings[unit.players.index(player)]


def _line(
    row: StandingsRow,
    presence: dict[int, Presence],
    players: dict[int, LadderPlayer],
    bars: Scale,
) -> dict[str, Any]:
    paused = players[row.player].state != "active"
    state = "paused" if paused else presence.get(row.player, Presence()).state
    return {
        "player": row.player,
        "name": row.name,
        "elo": elo(row),
        "rating": elo(row) if row.one_sided else f"{row.elo.value:+.0f}",
        "points": f"{row.points:.3f}",
        "units": row.units,
        "state": state,
        "bar": bars.bar(row),
    }
