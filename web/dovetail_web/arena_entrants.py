"""An entrant's own pages: sign-in, agents, games by request, submissions and downloads."""

from __future__ import annotations

import asyncio
import hmac
import math
import re
import secrets
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from msgspec.structs import replace
from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response

from dovetail.peer.quoting import command
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord, episodes, write
from dovetail_bridges.connection_limits import network
from dovetail_experiments.arena import description, sign_in
from dovetail_experiments.arena.hosted import LOGS, log_of
from dovetail_experiments.arena.standings import elo
from dovetail_experiments.arena.store import LadderPlayer
from dovetail_experiments.arena.submissions import FILES
from dovetail_experiments.quoting import file_name
from dovetail_web.arena_figures import games
from dovetail_web.arena_site import LINES, ArenaSite, capital, date, uploads
from dovetail_web.rate_limit import Attempts
from dovetail_web.routes import Route

PRINTED = 64 << 10
"""Bytes shown of a submitted agent's output, the newest."""
GAMES = 2000
"""Maximum games in a download, the newest."""


class EntrantPages:
    """The pages of entrants.

    Args:
        site: the arena.
        connected: returns the entrant of a connected program, by its name; empty if there is none.
    """

    def __init__(self, site: ArenaSite, connected: Callable[[str], str]) -> None:
        self._site = site
        self._store = site.store
        self._connected = connected
        self._attempts = Attempts()
        self._reading = asyncio.Semaphore(1)

    def routes(self) -> list[Route]:
        return [
            Route("/arena", partial(self._site.renewed, render=self.ladders)),
            Route("/arena/mine", partial(self._site.renewed, render=self.mine)),
            Route("/arena/mine", self.sign, methods=["POST"]),
            Route("/arena/mine/games.journal", self.taken),
            Route("/arena/mine/log.txt", self.log),
            Route("/arena/submit", self.submit, methods=["POST"]),
            Route("/arena/submitted/{number:number}.log", self.printed),
            Route("/arena/recall", self.recall, methods=["POST"]),
            Route("/arena/withdraw", self.withdraw, methods=["POST"]),
            Route("/arena/{ladder}/ask", self.ask, methods=["POST"]),
        ]

    # -- signing in -------------------------------------------------------------------------------

    async def ladders(
        self, request: Request, status: int = 200, problem: str = "", secret: str = ""
    ) -> Response:
        """Return the page of all ladders and their leaders."""
        # Drawn for each page that is shown: the page of a planted cookie would show a known code.
        site, shared = self._site, getattr(request.state, "shared", False)
        secret = secret or ("" if shared else secrets.token_hex(16))

        def read() -> dict[str, Any]:
            season, seasons = site.season(request)
            return {
                **site.seasons(season, seasons),
                "ladders": [(each, site.table(each, season.number)) for each in site.arena.ladders],
                "presence": self._store.presence(),
                "now": time.time(),
                "elo": elo,
            }

        values = await asyncio.to_thread(read)
        return site.shown(
            request,
            "arena",
            status,
            arena=site.arena,
            entrant=await site.entrant(request),
            secret=secret,
            code=sign_in.code(secret),
            problem=problem,
            date=date,
            **values,
        )

    async def sign(self, request: Request) -> Response:
        """Sign in an entrant or the operator."""
        form = await self._site.posted(request)
        answer = RedirectResponse("/arena", 303)
        if "leave" in form:
            self._site.sessions.end(request, answer)
            return answer
        if "code" in form:
            secret = str(form["code"])[:100]
            code = sign_in.code(secret)
            who = await asyncio.to_thread(self._proved, code)
            if who is None:
                text = (
                    "No key that may enter has shown this code; run "
                    f"`{command('arena', 'sign-in', code)}`, wait "
                    "until it says that it is connected, and try again."
                )
                return await self.ladders(request, 403, text, secret)
        else:
            address, now = network(request.client.host if request.client else ""), time.monotonic()
            wait = self._attempts.wait(address, now)
            if wait:
                text = f"Too many wrong access tokens; wait {math.ceil(wait)} s, then try again."
                return await self.ladders(request, 429, text)
            who = await asyncio.to_thread(self._whose, str(form.get("token", "")).strip())
            if who is None:
                self._attempts.failed(address, now)
                text = "This is not a valid access token; ask for a new one."
                return await self.ladders(request, 403, text)
        shown = await asyncio.to_thread(self._site.valid, who)
        if shown is None:  # banned at this moment
            return await self.ladders(request, 403, f"{who} may not sign in.")
        operator = who == description.OWN
        answer = RedirectResponse("/operator" if operator else "/arena/mine", 303)
        self._site.sessions.begin(request, answer, who, shown)
        return answer

    def _proved(self, code: str) -> str | None:
        """Return the entrant that showed a code at the broker to prove itself; None if none did."""
        who = self._connected(sign_in.name(code))
        state = self._store.entrants().get(who)
        return who if who == description.OWN or state not in (None, "banned") else None

    def _whose(self, given: str) -> str | None:
        """Return the owner of an access token, an entrant or the operator; None if unknown."""
        own = self._site.own.encode()
        if given and hmac.compare_digest(own, given.encode(errors="replace")):
            return description.OWN
        return self._store.entrant(given)

    # -- an entrant's own page --------------------------------------------------------------------

    async def mine(self, request: Request) -> Response:
        """Return an entrant's page: its agents, latest fault, requested games and submissions."""
        who = await self._site.entrant(request)
        if who == description.OWN:
            return RedirectResponse("/operator", 303)
        if not who:
            return RedirectResponse("/arena", 303)
        return await self._mine(request, who)

    async def _mine(self, request: Request, who: str, problem: str = "") -> Response:
        site, store = self._site, self._store

        def read() -> dict[str, Any]:
            season, seasons = site.season(request)
            players, presence = store.players(), store.presence()
            agents = []
            for each in players.values():
                if each.entrant != who:
                    continue
                table = site.table(site.arena.ladder(each.ladder), season.number).rows
                place = next((n for n, r in enumerate(table, 1) if r.player == each.id), 0)
                agents.append((each, table[place - 1] if place else None, place, self._fault(each)))
            submitted = store.submissions(who)[::-1]
            about = {who, *(e.name for e, *_ in agents), *(f"{who}/{e.program}" for e in submitted)}
            return {
                **site.seasons(season, seasons),
                "players": players,
                "agents": agents,
                "presence": presence,
                "requests": store.requests(who),
                "submissions": uploads(submitted, players, presence),
                "log": store.log(LINES, sorted(about))[::-1],
                "now": time.time(),
                "elo": elo,
            }

        values = await asyncio.to_thread(read)
        return site.shown(
            request,
            "mine",
            400 if problem else 200,
            arena=site.arena,
            entrant=who,
            problem=problem,
            date=date,
            **values,
        )

    def _fault(self, player: LadderPlayer) -> dict[str, Any] | None:
        """Return an agent's latest game lost by fault in this season, rated or not."""
        season = self._store.season().number
        found = [
            game
            for practice in (False, True)
            for game in games(
                self._store.played(
                    season, player.ladder, player=player.id, last=200, practice=practice
                ),
                player.id,
                self._store.players(player.ladder),
            )
            if game["fault"]
        ]
        return max(found, key=lambda game: (game["unit"], game["number"]), default=None)

    async def log(self, request: Request) -> Response:
        """Return the arena's log of an entrant as text."""
        who = await self._site.only_entrant(request)

        def read() -> str:
            names = [e.name for e in self._store.players().values() if e.entrant == who]
            lines = self._store.log(10_000, [who, *names])
            return "".join(
                f"{date(each.at)} {each.what} {each.about} {each.text}\n" for each in lines
            )

        headers = {"Content-Disposition": f'attachment; filename="{file_name(who)}-log.txt"'}
        return PlainTextResponse(await asyncio.to_thread(read), headers=headers)

    async def taken(self, request: Request) -> Response:
        """An entrant's newest games as a journal, for `dovetail replay`."""
        who = await self._site.only_entrant(request)
        kept = tempfile.TemporaryDirectory(prefix="dovetail-")
        path = Path(kept.name) / "games.journal"

        def read() -> int:
            found = [
                _of(record, who)
                for _, record in episodes(self._site.journal)
                if any(name.startswith(f"{who}/") for name in record.names)
            ]
            write(path, found[-GAMES:])
            return len(found)

        try:
            async with self._reading:
                count = await asyncio.to_thread(read)
        except (DovetailError, OSError) as error:
            kept.cleanup()
            raise HTTPException(500, f"The journal cannot be read: {error}") from None
        if not count:
            kept.cleanup()
            raise HTTPException(404, "Your agents have not played yet.")
        name = f"{file_name(who)}-games.journal"
        return FileResponse(path, filename=name, background=BackgroundTask(kept.cleanup))

    # -- games by request -------------------------------------------------------------------------

    async def ask(self, request: Request) -> Response:
        """Request an unrated game."""
        form = await self._site.posted(request)
        ladder = self._site.ladder(request)
        who = await self._site.entrant(request)
        if not who:
            raise HTTPException(403, "Sign in on the page Arena to ask for a game.")
        chosen = [int(str(each)) for each in form.getlist("player") if str(each).isdecimal()]

        def ask() -> None:
            players = self._store.players(ladder.name)
            own = any(players[each].entrant == who for each in chosen if each in players)
            if not own and who != description.OWN:
                raise DovetailError("one of the agents must be yours")
            if len(chosen) != ladder.players:
                raise DovetailError(f"choose {ladder.players} agents")
            season = self._store.season().number
            self._store.ask(season, ladder.name, self._site.arena.seed, chosen, who)

        return await self._done(request, who, ask)

    async def withdraw(self, request: Request) -> Response:
        """Withdraw a requested game."""
        form = await self._site.posted(request)
        who = await self._site.only_entrant(request)
        unit = str(form.get("unit", ""))
        number = int(unit) if unit.isdecimal() and len(unit) < 18 else 0
        return await self._done(request, who, lambda: self._store.withdraw(number, who))

    async def _done(self, request: Request, who: str, what: Callable[[], Any]) -> Response:
        try:
            await asyncio.to_thread(what)
        except DovetailError as error:
            if who == description.OWN:
                raise HTTPException(400, capital(error)) from None
            return await self._mine(request, who, capital(error))
        return RedirectResponse("/operator" if who == description.OWN else "/arena/mine", 303)

    # -- submissions ------------------------------------------------------------------------------

    def _limits(self) -> description.SubmissionLimits:
        if self._site.arena.submissions is None:
            raise HTTPException(404, "This arena runs no agents of its entrants; connect yours.")
        return self._site.arena.submissions

    async def submit(self, request: Request) -> Response:
        """Submit a new version of an agent."""
        limits = self._limits()
        async with request.form(max_fields=10, max_files=FILES) as form:
            if not self._site.sessions.stamped(request, str(form.get("csrf", ""))):
                raise HTTPException(403, "This form has expired; reload the page and try again.")
            who = await self._site.only_entrant(request)
            files = {
                (each.filename or "").lstrip("/")[:300]: await each.read()
                for each in form.getlist("files")
                if isinstance(each, UploadFile) and each.filename
            }
            name, ladder = (str(form.get(each, "")).strip() for each in ("name", "ladder"))
        if ladder and ladder not in {each.name for each in self._site.arena.ladders}:
            raise HTTPException(404, f"There is no ladder {ladder[:80]!r}.")
        name = name or _name(next(iter(files), ""))
        program = f"{name}@{ladder}" if ladder else name
        return await self._done(
            request, who, lambda: self._store.submit(who, program, files, limits)
        )

    async def recall(self, request: Request) -> Response:
        """Withdraw a submission, as its entrant or the operator."""
        form = await self._site.posted(request)
        who = await self._site.entrant(request) or await self._site.only_entrant(request)
        whose = None if who == description.OWN else who
        given = str(form.get("number", ""))
        number = int(given) if given.isdecimal() and len(given) < 18 else 0
        return await self._done(request, who, lambda: self._store.recall(number, whose))

    async def printed(self, request: Request) -> Response:
        """Return the end of a submitted agent's output, for its entrant and the operator."""
        who, number = await self._site.entrant(request), request.path_params["number"]

        def read() -> str:
            for each in self._store.submissions(None if who == description.OWN else who):
                if each.id == number and who:
                    path = log_of(self._site.folder / LOGS, each)
                    text = path.read_bytes()[-PRINTED:] if path.is_file() else b""
                    return text.decode(errors="replace") or "It has printed nothing.\n"
            raise HTTPException(404, "There is no submission of yours with this number.")

        return PlainTextResponse(await asyncio.to_thread(read))


def _name(file: str) -> str:
    """Return the name of an upload without one: that of its file, or of its folder."""
    first, slash, _ = file.partition("/")
    found = first if slash else PurePath(first).stem
    return re.sub(r"[^\w.-]+", "-", found, flags=re.ASCII).strip("-._")[:40]


def _of(record: EpisodeRecord, who: str) -> EpisodeRecord:
    """Return a game's record without the errors of another entrant's program."""
    blame = record.result.blame
    mine = blame is not None and record.names[blame].startswith(f"{who}/")
    return record if mine else replace(record, result=replace(record.result, message=""))
