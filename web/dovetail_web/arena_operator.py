"""The page of an arena's operator."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.arena import archive
from dovetail_experiments.arena.entrants import Presence, State
from dovetail_experiments.arena.standings import StandingsRow
from dovetail_experiments.arena.store import LadderPlayer
from dovetail_web.arena_site import LINES, ArenaSite, capital, date, uploads
from dovetail_web.routes import Route

LONGEST = 500
"""Maximum characters of the operator's notes."""
STATES: dict[str, State] = {"pause": "paused", "ban": "banned", "resume": "active"}
UNDONE: dict[str, str] = {"active": "resume", "paused": "pause"}
"""The act that restores a state."""
ASKED = ("ban", "final", "season")
"""Acts that need a confirmation, since they affect others or cannot be undone."""


class AgentRow(NamedTuple):
    """An agent in the operator's table."""

    player: LadderPlayer
    presence: Presence
    games: int
    faults: int

    @property
    def missing(self) -> bool:
        """True for an entrant's agent that may play and is not connected."""
        return bool(self.player.entrant) and self.player.state == "active" and not self.shown

    @property
    def shown(self) -> bool:
        """True if it is connected."""
        return self.presence.online


FILTERS: dict[str, Callable[[AgentRow], bool]] = {
    "all": lambda row: True,
    "missing": lambda row: row.missing,
    "paused": lambda row: row.player.state == "paused",
    "with faults": lambda row: row.faults > 0,
    "banned": lambda row: row.player.state == "banned",
}
"""The table's filters, by name."""


class OperatorPages:
    """The pages of the operator.

    Args:
        site: the arena.
    """

    def __init__(self, site: ArenaSite) -> None:
        self._site = site
        self._store = site.store

    def routes(self) -> list[Route]:
        return [
            Route("/operator", partial(self._site.renewed, render=self.operator)),
            Route("/operator", self.change, methods=["POST"]),
            Route("/operator/export", self.export, methods=["POST"]),
        ]

    async def operator(self, request: Request) -> Response:
        """Return the operator's table with its buttons, and the log."""
        await self._site.only_operator(request)
        return await self._administration(request)

    async def _administration(
        self, request: Request, problem: str = "", asked: Mapping[str, str] | None = None
    ) -> Response:
        def read() -> dict[str, Any]:
            seasons = self._store.seasons()
            rows = self._rows(seasons[-1].number)
            players = {row.player.id: row.player for row in rows}
            presence = {row.player.id: row.presence for row in rows}
            submitted = self._store.submissions()[::-1][:LINES]
            here = {row.player.entrant for row in rows}
            never = [
                name
                for name, state in self._store.entrants().items()
                if state == "active" and name not in here
            ]
            return {
                **self._site.seasons(seasons[-1], seasons),
                "rows": rows,
                "never": never,
                "entrants": self._store.entrants(),
                "log": self._store.log(LINES)[::-1],
                "submissions": uploads(submitted, players, presence),
                "games": sum(row.games for row in rows),
                "faults": sum(row.faults for row in rows),
            }

        values = await asyncio.to_thread(read)
        chosen = request.query_params.get("show", "all")
        chosen = chosen if chosen in FILTERS else "all"
        find = request.query_params.get("find", "")[:80]
        rows: list[AgentRow] = values.pop("rows")
        named = [row for row in rows if find.lower() in row.player.name.lower()]
        return self._site.shown(
            request,
            "operator",
            400 if problem else 200,
            arena=self._site.arena,
            problem=problem,
            date=date,
            now=time.time(),
            counts={name: sum(map(fits, rows)) for name, fits in FILTERS.items()},
            chosen=chosen,
            find=find,
            total=len(rows),
            online=sum(row.presence.online for row in rows),
            missing=[row.player for row in rows if row.missing],
            paused=[row.player for row in rows if FILTERS["paused"](row)],
            rows=[row for row in named if FILTERS[chosen](row)],
            asked=asked,
            did=request.query_params.get("did", "")[:20],
            whom=request.query_params.get("who", "")[:100],
            undo=UNDONE.get(request.query_params.get("was", ""), ""),
            **values,
        )

    def _rows(self, season: int) -> list[AgentRow]:
        presence = self._store.presence()
        played: dict[int, StandingsRow] = {}
        for ladder in self._site.arena.ladders:
            for row in self._site.table(ladder, season).rows:
                played[row.player] = row
        found = []
        for number, player in self._store.players().items():
            found_row = played.get(number)
            count, faults = (0, 0) if found_row is None else (found_row.games, found_row.faults)
            found.append(AgentRow(player, presence.get(number, Presence()), count, faults))
        return found

    async def change(self, request: Request) -> Response:
        """Carry out an act of the operator, after a confirmation for those in ``ASKED``."""
        form = await self._site.posted(request)
        await self._site.only_operator(request)
        what, who, text = (str(form.get(each, "")).strip() for each in ("do", "who", "text"))
        text = text[:LONGEST]
        if what in ASKED and "sure" not in form and (what != "season" or text):
            return await self._administration(request, asked={"do": what, "who": who, "text": text})
        try:
            was = await asyncio.to_thread(self._do, what, who, text)
        except DovetailError as error:
            return await self._administration(request, capital(error))
        url = request.url.replace(path="/operator", query="")
        if was and STATES.get(what, "active") != "active":
            url = url.include_query_params(did=what, who=who, was=was)
        return RedirectResponse(f"/operator?{url.query}" if url.query else "/operator", 303)

    def _do(self, what: str, who: str, text: str) -> str:
        """Carry out an act; return the state before."""
        if what in STATES:
            was = self._state(who)
            self._store.mark(who, STATES[what], text)
            return was
        if what == "note":
            self._store.note(who, text)
        elif what == "final":
            self._store.final(self._site.arena.seed, self._site.arena.sizes)
        elif what == "season" and text:
            self._store.season(text)
        else:
            raise DovetailError("nothing was asked for; choose what to do, and fill the form in")
        return ""

    def _state(self, who: str) -> str:
        entrant, slash, program = who.partition("/")
        if not slash:
            return self._store.entrants().get(entrant, "")
        for each in self._store.players().values():
            if (each.entrant, each.program) == (entrant, program):
                return each.state
        return ""

    async def export(self, request: Request) -> Response:
        """Return the whole arena as one archive."""
        await self._site.posted(request)
        await self._site.only_operator(request)
        folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        day = time.strftime("%Y-%m-%d")
        plain = re.sub(r"[^\w.]+", "-", self._site.arena.name, flags=re.ASCII).strip("-.")
        name = f"{plain[:60] or 'arena'}-{day}.zip"
        path = Path(folder.name) / name
        try:
            await asyncio.to_thread(archive.export, self._site.file, self._site.arena, path)
            await asyncio.to_thread(self._store.add, "exported", "", name)
        except DovetailError as error:
            folder.cleanup()
            return await self._administration(request, f"{error}.")
        return FileResponse(path, filename=name, background=BackgroundTask(folder.cleanup))
