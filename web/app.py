"""The page as an ASGI application: its routes, and who may call them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import hmac
import itertools
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment as Templates
from jinja2 import FileSystemLoader, select_autoescape
from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord
from dovetail.web import forms, replays
from dovetail.web.chairs import Chair
from dovetail.web.games import LONGEST_NAME, Game
from dovetail.web.hub import Hub
from dovetail.web.positions import encode, picture
from dovetail.web.tables import Plan, Table

log = logging.getLogger("dovetail.web")

HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAUSE = {"now": 0.25, "wall": 0.25}
"""Seconds between two messages to one browser, by what it looks at; a hundred browsers must not flood us."""
GAME_PAUSE = 0.1
TABLE_PAUSE = 0.02
"""For who plays there."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "dovetail-page"
PICTURES = {"svg": "image/svg+xml", "png": "image/png"}


class Guard:
    """Lets in who may come in, and says what a browser may do with the pages.

    Args:
        app: what is guarded.
        hosts: the names under which the page may be asked for; empty for any.
        password: that is asked for; None for none.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], password: str | None) -> None:
        self._app = app
        self._hosts = hosts
        self._password = password

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        status, text = self._refusal(scope, headers)
        if status:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 4403})
                return
            answer = Response(text, status, media_type="text/plain")
            if status == 401:
                answer.headers["WWW-Authenticate"] = 'Basic realm="Dovetail", charset="UTF-8"'
            await answer(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                policy = b"content-security-policy"
                message["headers"] = [
                    *message["headers"],
                    *(() if policy in given else ((policy, POLICY.encode()),)),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cross-origin-opener-policy", b"same-origin"),
                ]
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str]:
        host = headers.get(b"host", "")
        if self._hosts and host.rpartition(":")[0] not in self._hosts and host not in self._hosts:
            return 400, "This page is served under another name."
        if scope["type"] == "websocket":
            origin = headers.get(b"origin", "")
            if origin.partition("://")[2] != host:
                return 403, "Another page may not connect."
        if self._password is not None and not self._knows(headers.get(b"authorization", "")):
            return 401, "Give the page's password."
        return 0, ""

    def _knows(self, header: str) -> bool:
        kind, _, given = header.partition(" ")
        try:
            text = base64.b64decode(given, validate=True)
        except (binascii.Error, ValueError):
            return False
        password = text.partition(b":")[2]
        wanted = (self._password or "").encode()
        return kind.lower() == "basic" and hmac.compare_digest(password, wanted)


class Page:
    """The routes.

    Args:
        hub: the connection to the broker.
        journal: whose episodes can be replayed, if any.
        stores: whose results are shown.
        arena: the description of the arena that the broker belongs to, if any. No games can be started
            then, since entrants' agents are there for the competition.
    """

    def __init__(
        self,
        hub: Hub,
        journal: Path | None = None,
        stores: Sequence[str] = (),
        arena: Path | None = None,
    ) -> None:
        self.hub = hub
        self._journal = journal
        self._more: list[Route] = []
        self._tabs = {"/": "Now", "/play": "Play"}
        if journal is not None:
            self._tabs["/replay"] = "Replay"
        if stores:
            from dovetail.web.result_pages import ResultPages  # needs dovetail[experiments]

            self._tabs["/results"] = "Results"
            self._more = ResultPages(stores, self.shown).routes()
        self._plays = arena is None
        if arena is not None:
            from dovetail.web.arena_pages import ArenaPages  # needs dovetail[experiments]

            del self._tabs["/play"]
            self._tabs["/arena"] = "Arena"
            self._more += ArenaPages(arena, self.shown, self._posted).routes()
        self._secret = secrets.token_bytes(32)
        self._templates = Templates(
            loader=FileSystemLoader(HERE / "templates"), autoescape=select_autoescape()
        )

    def routes(self) -> list[Route | WebSocketRoute | Mount]:
        """Return them."""
        play = [
            Route("/play", self.choose),
            Route("/play/{environment}", self.form),
            Route("/play/{environment}", self.begin, methods=["POST"]),
            Route("/table/{key}", self.table),
            Route("/table/{key}/leave", self.leave, methods=["POST"]),
        ]
        return [
            Route("/", self.now),
            Route("/game/{episode:int}", self.game),
            Route("/game/{episode:int}/turn/{turn:int}", self.position),
            Route("/game/{episode:int}/turn/{turn:int}.{form}", self.picture),
            Route("/replay", self.episodes),
            Route("/replay/{number:int}", self.replay),
            Route("/replay/{number:int}/positions", self.replayed),
            Route("/replay/{number:int}/turn/{turn:int}.{form}", self.replayed_picture),
            WebSocketRoute("/live", self.live),
            Mount("/static", StaticFiles(directory=HERE / "static")),
            *(play if self._plays else []),
            *self._more,
        ]

    # -- pages ----------------------------------------------------------------------------------

    def shown(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        """Return a page made from a template."""
        cookie = request.cookies.get(COOKIE) or secrets.token_urlsafe(16)
        path = request.url.path
        here = next(
            (each for each in self._tabs if each == path[: len(each)] and each != "/"), path
        )
        text = self._templates.get_template(f"{name}.html").render(
            csrf=self._stamp(cookie), tabs=self._tabs, here=here, **values
        )
        answer = HTMLResponse(text, status)
        answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict")
        return answer

    def _stamp(self, cookie: str) -> str:
        return hmac.new(self._secret, cookie.encode(), hashlib.sha256).hexdigest()

    async def _posted(self, request: Request) -> FormData:
        """Return a form that came from our own page."""
        form = await request.form(max_fields=200, max_files=0)
        wanted = self._stamp(request.cookies.get(COOKIE, ""))
        if not hmac.compare_digest(str(form.get("csrf", "")).encode(), wanted.encode()):
            raise HTTPException(403, "This form is too old; reload the page and send it again.")
        return form

    async def now(self, request: Request) -> Response:
        """What is connected and played."""
        return self.shown(request, "now")

    async def game(self, request: Request) -> Response:
        """A game."""
        number = request.path_params["episode"]
        game = self.hub.game(number)
        if game is None:
            raise HTTPException(404, f"There is no game {number} here; it may be too old.")
        return self.shown(request, "game", title=game.environment, about=f"game:{number}")

    async def position(self, request: Request) -> Response:
        """A turn of a game, as JSON."""
        game = self.hub.game(request.path_params["episode"])
        found = None if game is None else game.position(request.path_params["turn"])
        if found is None:
            raise HTTPException(404, "That turn is not kept.")
        return Response(found, media_type="application/json")

    async def picture(self, request: Request) -> Response:
        """A turn of a game, as SVG or PNG."""
        found = await self.position(request)
        return await _picture(request, msgspec.json.decode(bytes(found.body)))

    async def choose(self, request: Request) -> Response:
        """The games that can be played."""
        offers = {each["name"]: each for each in self.hub.catalogue.get("environments", [])}
        return self.shown(request, "play", offers=list(offers.values()), problem=self.hub.problem)

    def _offer(self, name: str) -> dict[str, Any]:
        for each in self.hub.catalogue.get("environments", []):
            if each["name"] == name:
                return dict(each)
        raise HTTPException(
            404, f"No connected program offers {name[:100]!r}; see Now for those that do."
        )

    async def form(self, request: Request) -> Response:
        """The form that starts a game."""
        return self._form(request, self._offer(request.path_params["environment"]))

    def _form(
        self, request: Request, offer: dict[str, Any], given: Any = None, problem: str = ""
    ) -> Response:
        parameters = offer.get("parameters") or {}
        return self.shown(
            request,
            "form",
            400 if problem else 200,
            offer=offer,
            fields=forms.fields(parameters),
            agents=self._agents(),
            given=given or {},
            problem=problem,
            most=max([*(offer.get("seats") or []), 4]),
        )

    async def begin(self, request: Request) -> Response:
        """Start a game from a form."""
        form = await self._posted(request)
        given = {key: str(value) for key, value in form.items() if isinstance(value, str)}
        offer = self._offer(request.path_params["environment"])
        try:
            parameters = offer.get("parameters") or {}
            options = {key[2:]: text for key, text in given.items() if key.startswith("o.")}
            seats = []
            for number in range(16):
                who = given.get(f"seat.{number}", "")
                if who == "person":
                    name = (
                        " ".join(given.get(f"name.{number}", "").split()) or f"Person {number + 1}"
                    )
                    seats.append(("person", name))
                elif who:
                    seats.append(("agent", who))
            if not seats:
                raise DovetailError("Choose who sits in the first seat")
            plan = Plan(
                offer["name"],
                forms.read(parameters, options),
                tuple((kind, name[:LONGEST_NAME]) for kind, name in seats),
                seed=_seed(given.get("seed", "")),
                clock=_clock(given.get("clock", "")),
                helped="helped" in given,
            )
            table = await asyncio.to_thread(self.hub.play, plan)
        except DovetailError as error:
            return self._form(request, offer, given, str(error))
        return RedirectResponse(_link(table, next(iter(table.people), None)), 303)

    def _table(self, request: Request) -> Table:
        found = self.hub.tables.get(request.path_params["key"])
        if found is None:
            raise HTTPException(404, "That table is not here; it may be too old.")
        return found

    async def table(self, request: Request) -> Response:
        """A game that was started here, for who plays or watches."""
        table = self._table(request)
        key = request.query_params.get("chair", "")
        chairs = table.people
        mine = next((each for each in chairs if each.key == key), None)
        first = bool(chairs) and mine is chairs[0]
        others = [each for each in chairs if each is not mine] if first else []
        return self.shown(
            request,
            "game",
            title=table.plan.environment,
            about=f"table:{table.key}",
            agents=self._agents() if mine is not None and table.plan.hints else [],
            chair="" if mine is None else mine.key,
            table=table.key,
            invitations=[(each.name, _link(table, each)) for each in others],
        )

    async def leave(self, request: Request) -> Response:
        """Break a game off: only who plays it may."""
        form = await self._posted(request)
        table = self._table(request)
        key = str(form.get("chair", ""))
        if not any(each.key == key for each in table.people):
            raise HTTPException(403, "Only those who play may end the game.")
        try:
            await asyncio.to_thread(self.hub.leave, table)
        except DovetailError as error:
            raise HTTPException(409, str(error)) from None
        return RedirectResponse(f"/table/{table.key}?chair={key}", 303)

    def _agents(self) -> list[str]:
        """Return the agents on offer, without the people."""
        person = None if self.hub.chairs is None else self.hub.chairs.agent
        offers = self.hub.catalogue.get("agents", [])
        return sorted({each["name"] for each in offers} - {person})

    # -- replays --------------------------------------------------------------------------------

    def _records(self) -> Path:
        if self._journal is None:
            raise HTTPException(404, "Start the page with --journal FILE to replay games.")
        return self._journal

    async def episodes(self, request: Request) -> Response:
        """The episodes of the journal."""
        try:
            found = await asyncio.to_thread(replays.listed, self._records())
        except (DovetailError, OSError) as error:
            raise HTTPException(500, f"The journal cannot be read: {error}") from None
        return self.shown(request, "replays", episodes=found)

    async def replay(self, request: Request) -> Response:
        """A recorded game."""
        number = request.path_params["number"]
        return self.shown(request, "game", title=f"Replay {number}", about=f"replay:{number}")

    async def replayed(self, request: Request) -> Response:
        """All positions of a recorded game, as JSON."""
        journal, number = self._records(), request.path_params["number"]

        def play() -> bytes:
            record = replays.found(journal, number)
            played, problem = self._played(record)
            game = replays.about(number, record)
            return encode({"game": game, "positions": played, "problem": problem})

        try:
            return Response(await asyncio.to_thread(play), media_type="application/json")
        except (DovetailError, OSError) as error:
            raise HTTPException(404, str(error)) from None

    def _played(self, record: EpisodeRecord) -> tuple[list[dict[str, Any]], str]:
        """Return a recorded game's positions, and why there are no more of them.

        A game that is not installed here is played by a program that the broker has.
        """
        played: list[dict[str, Any]] = []
        try:
            played.extend(replays.positions(record))
        except DovetailError as error:
            if not played:
                with contextlib.suppress(DovetailError):
                    return self.hub.replay(record), ""
            return played, str(error)
        return played, ""

    async def replayed_picture(self, request: Request) -> Response:
        """A turn of a recorded game, as SVG or PNG."""
        journal, path = self._records(), request.path_params

        def play() -> dict[str, Any]:
            played, _ = self._played(replays.found(journal, path["number"]))
            return next(itertools.islice(played, path["turn"], None), {})

        try:
            found = await asyncio.to_thread(play)
        except (DovetailError, OSError) as error:
            raise HTTPException(404, str(error)) from None
        if not found:
            raise HTTPException(404, "The game has no such turn.")
        return await _picture(request, found)

    # -- live -----------------------------------------------------------------------------------

    async def live(self, socket: WebSocket) -> None:
        """One browser: it says what it looks at and gets the newest of that."""
        await socket.accept()
        browser = Browser(self.hub, socket)
        try:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it is gone
                await browser.serve()
        finally:
            browser.close()


class Browser:
    """A browser's connection.

    Args:
        hub: what there is to see.
        socket: accepted.
    """

    def __init__(self, hub: Hub, socket: WebSocket) -> None:
        self._hub = hub
        self._socket = socket
        self._about = ""
        self._chair = ""
        self._runs: set[int | None] = set()
        self._news = asyncio.Event()
        self._free = asyncio.Event()
        """Set while the browser has dealt with all it was sent, so that a slow one never has a queue."""
        self._free.set()
        self._known: dict[int, int] = {}
        """By episode, the version of each game on Now that the browser has."""
        loop = asyncio.get_running_loop()

        def heard() -> None:
            if not self._news.is_set():
                with contextlib.suppress(RuntimeError):  # the page is closing
                    loop.call_soon_threadsafe(self._news.set)

        self._leave = hub.listen(heard)

    def close(self) -> None:
        """Forget it."""
        self._leave()
        for run in self._runs:
            self._hub.look(run, -1)

    async def serve(self) -> None:
        """Take what the browser says, and send it the newest, until it leaves."""
        sender = asyncio.create_task(self._send())
        try:
            while True:
                asked = msgspec.json.decode(await self._socket.receive_text())
                if isinstance(asked, dict):
                    await self._asked(asked)
        except msgspec.DecodeError:
            await self._socket.close(4400)
        finally:
            sender.cancel()

    async def _asked(self, asked: dict[str, Any]) -> None:
        match asked:
            case {"got": True}:
                self._free.set()
            case {"about": str(about)}:
                self._about = about[:200]
                self._chair = str(asked.get("chair", ""))[:100]
                self._known.clear()
                self._news.set()
            case {"number": int(number), "choice": int(choice)}:
                await self._do(lambda hub, table, chair: hub.act(chair, number, choice))
            case {"do": "undo"}:
                await self._do(lambda hub, table, chair: hub.take_back(table, chair))
            case {"do": "hint", "agent": str(agent)}:
                await self._do(lambda hub, table, chair: hub.hint(table, chair, agent))
            case {"do": "resign"}:
                await self._do(lambda hub, table, chair: hub.resign(table, chair))
            case {"do": "again"}:
                await self._do(lambda hub, table, chair: hub.again(table))

    async def _do(self, what: Callable[[Hub, Table, Chair], Any]) -> None:
        """Do what a person at a table asks for, or say why not."""
        try:
            table, chair = self._sitting()
            if table is None or chair is None:
                raise DovetailError("You only watch this game")
            await asyncio.to_thread(what, self._hub, table, chair)
        except DovetailError as error:
            await self._socket.send_text(encode({"say": str(error)}).decode())

    def _sitting(self) -> tuple[Table | None, Chair | None]:
        """Return the table that is looked at, and the chair there whose key the browser knows."""
        kind, _, key = self._about.partition(":")
        table = self._hub.tables.get(key) if kind == "table" else None
        people = [] if table is None else table.people
        return table, next((each for each in people if each.key == self._chair), None)

    async def _send(self) -> None:
        last = b""
        while True:
            await self._free.wait()
            await self._news.wait()
            self._news.clear()
            found = self._newest()
            if found != last:
                last = found
                self._free.clear()
                await self._socket.send_text(found.decode())
            kind = self._about.partition(":")[0]
            await asyncio.sleep(TABLE_PAUSE if self._chair else PAUSE.get(kind, GAME_PAUSE))

    def _newest(self) -> bytes:
        hub = self._hub
        kind, _, what = self._about.partition(":")
        if kind == "wall":
            self._look({None})
            return encode({"now": hub.now(self._known)})
        if kind == "now":
            self._look({each["run"] for each in hub.catalogue.get("runs", [])[-8:]})
            return encode({"now": hub.now(self._known)})
        game: Game | None = None
        table, chair = self._sitting()
        if kind == "game" and what.isdecimal():
            game = hub.game(int(what))
        elif table is not None and table.run is not None:
            game = hub.game_of(table.run)
        if game is not None and not game.over:
            self._look({game.run})
        about: dict[str, Any] = {
            "game": None if game is None else game.about(),
            "broker": hub.problem,
            "names": [] if table is None else table.plan.names,
            "problem": "" if table is None else table.problem,
            "done": table is not None and table.done,
        }
        position: Any = None
        if game is not None and game.positions:
            position = msgspec.Raw(game.position(game.first + len(game.positions) - 1) or b"null")
        about["position"] = position
        about["mine"] = None if chair is None else chair.shown
        about["waiting"] = chair is not None and chair.decision is not None
        if table is not None and chair is not None:
            about["seat"] = table.chairs.index(chair)
            about["hint"] = chair.hint
            about["can"] = {
                "undo": table.plan.undo and table.decided(chair.seat) is not None,
                "hint": table.plan.hints and chair.decision is not None,
                "resign": not (table.done or chair.resigning),
                "again": table.done,
            }
        if table is not None and table.again is not None:
            same = None if chair is None else table.again.chairs[table.after(chair)]
            about["again"] = _link(table.again, same)
        return encode(about)

    def _look(self, runs: set[int | None]) -> None:
        for run in runs - self._runs:
            self._hub.look(run, 1)
        for run in self._runs - runs:
            self._hub.look(run, -1)
        self._runs = runs


async def _picture(request: Request, position: dict[str, Any]) -> Response:
    form = request.path_params["form"]
    if form not in PICTURES:
        raise HTTPException(404, f"Pictures end in .{' or .'.join(PICTURES)}.")
    found = await asyncio.to_thread(picture, position, form)
    return Response(found, media_type=PICTURES[form])


def _link(table: Table, chair: Chair | None) -> str:
    """Return where a person finds a table, or someone who only watches it."""
    where = f"/table/{table.key}"
    return where if chair is None else f"{where}?chair={chair.key}"


def _seed(text: str) -> int:
    """Return the seed of a form; a random one if it names none."""
    if not text.strip():
        return secrets.randbelow(1 << 31)
    if not (text.strip().isdecimal() and len(text) < 19):
        raise DovetailError("The seed: give a whole number from 0 to 10^18, or nothing")
    return int(text)


def _clock(text: str) -> m.ClockRule:
    """Return the clock of a form: seconds for each decision, or none."""
    if not text.strip():
        return m.ClockRule()
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.1 <= seconds <= 1e6:
        raise DovetailError("The clock: give seconds for a decision, from 0.1 on, or nothing")
    return m.ClockRule(decision=seconds)


async def _failed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = error.detail if isinstance(error, HTTPException) else "The page failed; see its log."
    page: Page = request.app.state.page
    return page.shown(request, "problem", status, text=text)


def application(
    hub: Hub,
    *,
    journal: Path | None = None,
    stores: Sequence[str] = (),
    arena: Path | None = None,
    hosts: tuple[str, ...] = LOCAL,
    password: str | None = None,
) -> ASGIApp:
    """Return the page.

    Args:
        hub: the connection to the broker, started.
        journal: whose episodes can be replayed.
        stores: whose results are shown.
        arena: the description of the arena that is shown.
        hosts: the names under which it may be asked for; empty for any.
        password: that visitors must give; None for none.
    """
    page = Page(hub, journal, stores, arena)
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: _failed
    }
    app = Starlette(routes=page.routes(), exception_handlers=handlers)
    app.state.page = page
    app.state.started = time.time()
    return Guard(app, hosts, password)
