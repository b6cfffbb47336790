"""The page as an ASGI application: its routes and their access rules."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from jinja2 import Environment as Templates
from jinja2 import FileSystemLoader, select_autoescape
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from dovetail.peer import plugins
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord
from dovetail_bridges.connection_limits import WholeRequests, network
from dovetail_experiments.quoting import straight
from dovetail_experiments.reports.sheets import ended
from dovetail_web import column_heads, forms, opponents, replays, rules, showcase
from dovetail_web.browser import WAITING, Browser
from dovetail_web.channel import Channels, link
from dovetail_web.games import LONGEST_NAME
from dovetail_web.guard import LOCAL, Guard, longest
from dovetail_web.hub import Hub
from dovetail_web.positions import encode, picture
from dovetail_web.routes import Route
from dovetail_web.sessions import Sessions
from dovetail_web.static_files import StaticFiles
from dovetail_web.tables import RULES, Plan, Sitter, Table
from dovetail_web.writing import WritePages, built

log = logging.getLogger("dovetail.web")

HERE = Path(__file__).parent
LONGEST_TITLE = 24
"""Maximum characters before the colon of a description for them to be the game's title."""
LONGEST_ABOUT = 75
"""Characters of a description on a tile, above which its last clauses are left out."""
LEVEL = "level:"
"""The prefix of a form's value that names a strength instead of an agent."""
MOST_SEATS = 16
"""Maximum seats of a game that is started on the page."""
PATIENCE = 60
"""Default seconds for an agent's decision while people are waiting."""
LONGEST_TOLD = 300
"""Maximum characters of an agent's description."""
LONGEST_PROBLEM = 300
"""Maximum characters of an error about a form, which can quote the input."""
NOT_FOUND = "Not Found"
"""Starlette's text for an unknown address."""
OPTIONAL = {
    "/results": "Start the page with --store OUT to show results.",
    "/arena": "Start the page with --arena FILE to show an arena.",
    "/write": "Start the page with --peers ADDRESS to let visitors write agents.",
}
"""The texts for addresses that exist only with certain options of the page."""
PICTURES = {"svg": "image/svg+xml", "png": "image/png"}
MOST_DRAWN, MOST_READ = 2, 3
"""Maximum pictures drawn at once, and journals read or games replayed at once; the rest queue,
without holding up other pages."""


class Tab(NamedTuple):
    """A part of the page, which every page links to."""

    title: str
    folders: tuple[str, ...] = ()
    """The addresses at and below which its pages stand; the first tab has all others."""

    def has(self, path: str) -> bool:
        """Return whether a page is one of this tab."""
        return any(f"{path}/".startswith(f"{each}/") for each in self.folders)


class Page:
    """The routes.

    Args:
        hub: the connection to the broker.
        journal: the journal whose episodes can be replayed.
        stores: the stores whose results are shown: folders of experiments, SQLite files, or URLs of
            databases.
        arena: the description of the broker's arena.  With one, no games can be started, since
            the entrants' agents are there for the competition.
        peers: the broker's address for programs in a browser, if visitors may write agents.
    """

    def __init__(
        self,
        hub: Hub,
        journal: Path | None = None,
        stores: Sequence[str] = (),
        arena: Path | None = None,
        peers: str = "",
    ) -> None:
        self.hub = hub
        self._channels = Channels(hub)
        self._sessions = Sessions()
        self._journal = journal
        self._more: list[Route | Mount] = []
        self._tabs = {"/": Tab("Play")}
        if journal is not None:
            self._tabs["/replay"] = Tab("Replays", ("/replay",))
        if stores:
            from dovetail_web.result_pages import ResultPages  # needs dovetail[experiments]

            self._tabs["/results"] = Tab("Results", ("/results",))
            self._more += ResultPages(stores, self.shown).routes()
        self._plays = arena is None
        if arena is not None:
            from dovetail_web.arena_entrants import EntrantPages  # needs dovetail[experiments]
            from dovetail_web.arena_operator import OperatorPages
            from dovetail_web.arena_pages import ArenaPages
            from dovetail_web.arena_site import ArenaSite

            self._tabs["/"] = Tab("Games")
            self._tabs["/arena"] = Tab("Arena", ("/arena", "/operator"))
            site = ArenaSite(arena, self.shown, self._posted, self._sessions)
            pages = ArenaPages(site)
            hub.leaders = pages.leaders
            entrants, operator = EntrantPages(site, hub.whose), OperatorPages(site)
            self._more += [*entrants.routes(), *operator.routes(), *pages.routes()]
        elif peers:
            self._tabs["/write"] = Tab("Write", ("/write",))
            self._more += WritePages(peers, self.shown, self._games, self._agents).routes()
        self._drawing = asyncio.Semaphore(MOST_DRAWN)
        self._reading = asyncio.Semaphore(MOST_READ)
        folders = [HERE / "static"]
        if stores or arena is not None:
            from dovetail_experiments.reports import charts

            folders.append(charts.FOLDER)
        self._static = StaticFiles(*folders)
        self._templates = Templates(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=select_autoescape(),
            finalize=_straight,
        )
        self._templates.filters |= {
            "plot": _plot,
            "markdown": rules.html,
            "game": rules.title,
            "ended": ended,
            "head": column_heads.head,
        }
        self._templates.globals |= {
            "static": self._static.address,
            "script": self._static.script,
            "style": self._static.style,
            "thumbnail": self._static.thumbnail,
        }

    def routes(self) -> list[Route | WebSocketRoute | Mount]:
        play = [
            Route("/play", self.choose),
            # A name may have slashes, such as ALE/Pong-v5.
            Route("/play/{environment:path}", self.form),
            Route("/play/{environment:path}", self.begin, methods=["POST"]),
            Route("/table/{key}", self.table),
            Route("/table/{key}/over", self.over),
        ]
        return [
            Route("/", self.home),
            Route("/now", self.now),
            Route("/thumbnail/{environment:path}", self.thumbnail),
            Route("/game/{episode:number}", self.game),
            Route("/game/{episode:number}/turn/{turn:number}", self.position),
            Route("/game/{episode:number}/turn/{turn:number}.{form}", self.picture),
            Route("/replay", self.episodes),
            Route("/replay/{number:number}", self.replay),
            Route("/replay/{number:number}/positions", self.replayed),
            Route("/replay/{number:number}/turn/{turn:number}.{form}", self.replayed_picture),
            WebSocketRoute("/live", self.live),
            Route("/static/{name}", self._static.serve),
            Route("/static/{version}/{name}", self._static.serve),
            *(play if self._plays else []),
            *self._more,
        ]

    def absent(self, path: str) -> str:
        """Return the text for an unknown address."""
        for each, text in OPTIONAL.items():
            if each not in self._tabs and f"{path}/".startswith(f"{each}/"):
                return text
        return "There is no page at this address."

    # -- pages ----------------------------------------------------------------------------------

    def shown(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        """Return a page rendered from a template.

        A page that many are shown (``request.state.shared``) has no stamp.
        """
        shared = getattr(request.state, "shared", False)
        path = request.url.path
        tabs = {each: tab for each, tab in self._tabs.items() if each != "/write" or built()}
        here = next((each for each, tab in self._tabs.items() if tab.has(path)), "/")
        text = self._templates.get_template(f"{name}.html").render(
            csrf="" if shared else self._sessions.stamp(request),
            tabs=tabs,
            here=here,
            **values,
        )
        answer = HTMLResponse(text, status)
        self._sessions.mark(request, answer)
        return answer

    async def _posted(self, request: Request) -> FormData:
        """Return a form, after checking that it came from the page itself."""
        form = await request.form(max_fields=1000, max_files=0)
        if not self._sessions.stamped(request, str(form.get("csrf", ""))):
            raise HTTPException(403, "This form has expired; reload the page and submit it again.")
        return form

    async def home(self, request: Request, problem: str = "") -> Response:
        """Return the first page: games in progress, and games to play."""
        agents = self._agents()
        tiles = [
            {
                "name": each["name"],
                "title": each["title"],
                "about": _brief(each.get("description", "").rpartition(": ")[2]),
                "alone": (each.get("seats") or [2])[0] == 1,
                "levels": opponents.levels(each["name"], agents),
                "told": self._told(each["name"]),
            }
            for each in self._games()
        ]
        found = {
            "tiles": tiles if self._plays else [],
            "plays": self._plays,
            "shown": showcase.GAMES[0][0] if self.hub.showcase else "",
            "offers": [
                each["name"]
                for kind in ("environments", "agents")
                for each in self.hub.catalogue.get(kind, [])
            ],
        }
        text = problem or self.hub.problem
        return self.shown(request, "home", 400 if problem else 200, problem=text, **found)

    async def now(self, request: Request) -> Response:
        """Return the page of programs and runs."""
        titles = {each["name"]: each["title"] for each in self._games()}
        return self.shown(request, "now", titles=titles)

    async def thumbnail(self, request: Request) -> Response:
        """Return a picture of a game: one that ships with the page, or the newest position."""
        name = request.path_params["environment"]
        address = self._static.thumbnail(name)
        if address.startswith(self._static.address):
            return RedirectResponse(address, 302)
        seen = [each for each in self.hub.games.values() if each.environment == name]
        found = seen[-1].newest if seen else None
        if found is None:
            raise HTTPException(404, "There is no picture of this game yet.")
        async with self._drawing:
            made = await asyncio.to_thread(picture, msgspec.json.decode(found), "svg")
        return Response(made, media_type=PICTURES["svg"])

    async def game(self, request: Request) -> Response:
        """Return the page of a game."""
        number = request.path_params["episode"]
        game = self.hub.games.get(number)
        if game is None:
            raise HTTPException(
                404,
                f"The page does not have game {number}; see Play for the latest games, and "
                "Replays for older ones.",
            )
        return self.shown(
            request,
            "game",
            title=self._title(game.environment),
            environment=game.environment,
            rules=self._rules(game.environment),
            goal=self._goal(game.environment),
            about=f"game:{number}",
            told=self._players(game.environment, showcase.sitters(game.environment))
            if self.hub.showcase
            else {},
        )

    async def position(self, request: Request) -> Response:
        """Return a turn of a game as JSON."""
        game = self.hub.games.get(request.path_params["episode"])
        found = None if game is None else game.position(request.path_params["turn"])
        if found is None:
            raise HTTPException(404, "The page does not have this turn.")
        return Response(found, media_type="application/json")

    async def picture(self, request: Request) -> Response:
        """Return a turn of a game as SVG or PNG."""
        found = await self.position(request)
        return await self._picture(request, msgspec.json.decode(bytes(found.body)))

    async def choose(self, request: Request) -> Response:
        """Redirect to the games to play, on the first page."""
        return RedirectResponse("/#play", 303)

    async def _quick(self, request: Request, offer: dict[str, Any], level: str) -> Response:
        """Start a game of a visitor, or of an agent, against an opponent of a strength."""
        watch = level == "watch"
        agents = self._agents(offer["name"])
        count = min(offer.get("seats") or [2])
        found = opponents.opponent(offer["name"], "strong" if watch else level, agents)
        person = Sitter("person", "Person 1")  # their own page calls them You
        seats = [found if watch else person, *[found] * (count - 1)]
        sitting = [each for each in seats if each is not None]
        if len(sitting) < count:
            raise DovetailError(f"No agent that plays {offer['name']} is connected")
        seed = secrets.randbelow(1 << 53)
        plan = Plan(
            *(offer["name"], {}, tuple(sitting), seed, m.ClockRule()), patience=float(PATIENCE)
        )
        return await self._started(request, plan)

    async def _started(self, request: Request, plan: Plan) -> Response:
        by = network(request.client.host if request.client else "")
        loop = asyncio.get_running_loop()
        table = await loop.run_in_executor(WAITING, self.hub.people.play, plan, by)
        return RedirectResponse(link(table, next(iter(table.people), None)), 303)

    def _offer(self, name: str) -> dict[str, Any]:
        for each in self.hub.catalogue.get("environments", []):
            if each["name"] == name:
                return dict(each)
        raise HTTPException(
            404, f"No connected program offers {name[:100]!r}; see Play for those that do."
        )

    def _rules(self, name: str) -> str:
        """Return the rules of a game, or its description."""
        return plugins.rules(name) or self._said(name)[:300]

    def _said(self, name: str) -> str:
        """Return the description of a game; empty if no connected program offers it."""
        offers = self.hub.catalogue.get("environments", [])
        return next((each.get("description", "") for each in offers if each["name"] == name), "")

    def _goal(self, name: str) -> str:
        """Return the sentence in which a game describes itself, without its title."""
        return _sentence(self._said(name).rpartition(": ")[2])[:LONGEST_TOLD]

    def _title(self, name: str) -> str:
        """Return a game's title: the one that starts its description, or its name."""
        title, colon, _ = self._said(name).partition(":")
        return title if colon and len(title) <= LONGEST_TITLE else name[:LONGEST_NAME]

    def _games(self) -> list[dict[str, Any]]:
        """Return one offer of each game, with its ``title``, however many programs play it."""
        offers = {each["name"]: each for each in self.hub.catalogue.get("environments", [])}
        return [{**each, "title": self._title(name)} for name, each in offers.items()]

    async def form(self, request: Request) -> Response:
        """Return the form that starts a game."""
        return self._form(request, self._offer(request.path_params["environment"]))

    def _form(
        self, request: Request, offer: dict[str, Any], given: Any = None, problem: str = ""
    ) -> Response:
        parameters = offer.get("parameters") or {}
        agents = self._agents(offer["name"])
        levels = opponents.levels(offer["name"], agents)
        options = forms.fields(parameters)
        return self.shown(
            request,
            "form",
            400 if problem else 200,
            offer=offer,
            rules_of_game=plugins.rules(offer["name"]),
            few=forms.few(options),
            fields=[each for each in options if each not in forms.few(options)],
            rules=forms.fields(RULES),
            agents={name: forms.fields(each) for name, each in agents.items()},
            title=self._title(offer["name"]),
            about=self._goal(offer["name"]),
            levels=levels,
            told=self._told(offer["name"]),
            opponent=next((f"{LEVEL}{each}" for each in ("medium", *levels) if each in levels), ""),
            patience=PATIENCE,
            given=given or {},
            problem=problem,
            least=min(offer.get("seats") or [1]),
            most=min(MOST_SEATS, max(offer.get("seats") or [4])),
        )

    async def begin(self, request: Request) -> Response:
        """Start a game from a form."""
        form = await self._posted(request)
        given = {key: str(value) for key, value in form.items() if isinstance(value, str)}
        offer = self._offer(request.path_params["environment"])
        if "level" in given:
            try:
                return await self._quick(request, offer, given["level"])
            except DovetailError as error:
                return await self.home(request, _sentence(str(error)[:LONGEST_PROBLEM]))
        try:
            parameters = offer.get("parameters") or {}
            options = forms.under("o.", given)
            agents, fitting = self._agents(), self._agents(offer["name"])
            seats = []
            for number in range(MOST_SEATS):
                who = given.get(f"seat.{number}", "")
                if who == "person":
                    name = (
                        " ".join(given.get(f"name.{number}", "").split()) or f"Person {number + 1}"
                    )
                    seats.append(Sitter("person", name[:LONGEST_NAME]))
                elif who.startswith(LEVEL):
                    level = who.removeprefix(LEVEL)
                    changed = forms.read(parameters, options)
                    found = opponents.opponent(offer["name"], level, fitting, changed)
                    if found is None:
                        raise DovetailError(f"Player {number + 1}: no such agent is connected")
                    seats.append(found)
                elif who:
                    try:
                        chosen = forms.of_agent(agents.get(who, {}), given, number, who)
                    except DovetailError as error:
                        raise DovetailError(f"Player {number + 1}, {who}: {error}") from None
                    seats.append(Sitter("agent", who[:LONGEST_NAME], chosen))
            if not seats:
                raise DovetailError("Choose who is player 1")
            plan = Plan(
                offer["name"],
                forms.read(parameters, options, len(seats)),
                tuple(seats),
                seed=_seed(given.get("seed", "")),
                clock=m.ClockRule(decision=_seconds(given.get("clock", ""), "The clock")),
                rules=forms.read(RULES, forms.under("r.", given)),
                helped="helped" in given,
                patience=_seconds(given.get("patience", ""), "The wait for an agent"),
            )
            counts = offer.get("seats") or [len(seats)]
            if len(seats) not in counts:
                known = " or ".join(map(str, counts))
                raise DovetailError(f"This game has {known} players; you have chosen {len(seats)}")
            return await self._started(request, plan)
        except DovetailError as error:
            problem = _sentence(str(error)[:LONGEST_PROBLEM])
            return self._form(request, offer, given, problem)

    def _table(self, request: Request) -> Table:
        found = self.hub.people.tables.get(request.path_params["key"])
        if found is None:
            raise HTTPException(404, "The page does not have this table; begin a new game on Play.")
        return found

    async def table(self, request: Request) -> Response:
        """Return the page of a game that was started here, for players and watchers."""
        table = self._table(request)
        key = request.query_params.get("chair", "")
        chairs = table.people
        mine = next((each for each in chairs if each.key == key), None)
        first = bool(chairs) and mine is chairs[0]
        others = [each for each in chairs if each is not mine] if first else []
        return self.shown(
            request,
            "game",
            title=self._title(table.plan.environment),
            environment=table.plan.environment,
            rules=self._rules(table.plan.environment),
            goal=self._goal(table.plan.environment),
            about=f"table:{table.key}",
            told=self._players(
                table.plan.environment,
                {each.called: each for each in (opponents.STAND_IN, *table.plan.seats)},
            ),
            agents=self._agents(table.plan.environment)
            if mine is not None and table.plan.hints
            else [],
            adviser="mcts",
            chair="" if mine is None else mine.key,
            table=table.key,
            invitations=[(each.name, link(table, each)) for each in others],
        )

    async def over(self, request: Request) -> Response:
        """Return as JSON whether a game that was started here is over."""
        return Response(encode(self._table(request).done), media_type="application/json")

    def _agents(self, game: str = "") -> dict[str, dict[str, Any]]:
        """Return the agents on offer that play a game, with their parameters, without people."""
        person = None if self.hub.chairs is None else self.hub.chairs.agent
        offers = sorted(self.hub.catalogue.get("agents", []), key=itemgetter("name"))
        return {
            each["name"]: {} if each.get("instance") else each.get("parameters") or {}
            for each in offers
            if each["name"] != person
            and (not game or not each.get("games") or game in each["games"])
        }

    def _told(self, game: str) -> dict[str, str]:
        """Return what the agents that play a game do, by name, and the opponents by strength."""
        agents = self._agents(game)
        by_level = {
            f"{LEVEL}{level}": opponents.opponent(game, level, agents) for level in opponents.LEVELS
        }
        found = {each: Sitter("agent", each) for each in agents} | by_level
        return {key: self._does(game, each) for key, each in found.items() if each is not None}

    def _players(self, game: str, sitters: Mapping[str, Sitter]) -> dict[str, str]:
        """Return what the agents among the players of a game do, by the names that are shown."""
        return {
            name: self._does(game, each) for name, each in sitters.items() if each.kind == "agent"
        }

    def _does(self, game: str, sitter: Sitter) -> str:
        """Return what an agent does, without the game's title before it."""
        offers = self.hub.catalogue.get("agents", [])
        named = (each for each in offers if each["name"] == sitter.name)
        said = next((each.get("description", "") for each in named), "")
        said = said.removeprefix(f"{self._title(game)}: ").replace("`", "")
        return opponents.explained(sitter, _sentence(said)[:LONGEST_TOLD])[: 2 * LONGEST_TOLD]

    # -- replays --------------------------------------------------------------------------------

    def _records(self) -> Path:
        if self._journal is None:
            raise HTTPException(404, "Start the page with --journal FILE to replay games.")
        return self._journal

    async def episodes(self, request: Request) -> Response:
        """Return the list of the journal's episodes."""
        asked = (request.query_params.get(each, "").strip() for each in ("of", "game", "result"))
        wanted = replays.Filter(*asked)
        try:
            async with self._reading:
                given = self._records(), self._title, wanted
                found, games = await asyncio.to_thread(replays.listed, *given)
        except (DovetailError, OSError) as error:
            raise HTTPException(500, f"The journal cannot be read: {error}") from None
        return self.shown(
            request,
            "replays",
            episodes=found,
            games=games,
            wanted=wanted,
            results=replays.RESULTS,
            most=replays.MOST_LISTED,
        )

    async def replay(self, request: Request) -> Response:
        """Return the page of a recorded game."""
        journal, number = self._records(), request.path_params["number"]
        try:
            async with self._reading:
                record = await asyncio.to_thread(replays.found, journal, number)
        except (DovetailError, OSError) as error:
            raise HTTPException(404, f"{_sentence(str(error))}.") from None
        return self.shown(
            request,
            "game",
            title=f"Replay {number}: {self._title(record.environment)}",
            environment=record.environment,
            rules=self._rules(record.environment),
            goal=self._goal(record.environment),
            about=f"replay:{number}",
        )

    async def replayed(self, request: Request) -> Response:
        """Return all positions of a recorded game as JSON."""
        journal, number = self._records(), request.path_params["number"]

        def play() -> bytes:
            record = replays.found(journal, number)
            played, problem = self._played(record)
            self._think(record, played)
            game = replays.about(number, record)
            return encode({"game": game, "positions": played, "problem": problem})

        try:
            async with self._reading:
                found = await asyncio.to_thread(play)
            return Response(found, media_type="application/json")
        except (DovetailError, OSError) as error:
            why = encode({"problem": f"This episode cannot be replayed: {error}."})
            return Response(why, 404, media_type="application/json")

    def _played(self, record: EpisodeRecord) -> tuple[list[dict[str, Any]], str]:
        """Return a recorded game's positions, and the reason if some are missing.

        A game that is not installed here is replayed by a program at the broker.
        """
        played: list[dict[str, Any]] = []
        try:
            played.extend(replays.positions(record))
        except DovetailError as error:
            if not played:
                with contextlib.suppress(DovetailError):
                    return self.hub.people.replay(record), ""
            return played, str(error)
        return played, ""

    def _think(self, record: EpisodeRecord, played: list[dict[str, Any]]) -> None:
        """Add to a replay's positions the thoughts that the page has seen, if it has the game."""
        game = self.hub.games.get(record.result.episode)
        if game is None or game.run != record.result.run:
            return
        for position in played:
            seen = msgspec.json.decode(game.position(position["turn"]) or b"{}")
            if seen and all(seen[each] == position[each] for each in ("turn", "actions")):
                position["thoughts"] = seen["thoughts"]

    async def replayed_picture(self, request: Request) -> Response:
        """Return a turn of a recorded game as SVG or PNG."""
        journal, path = self._records(), request.path_params

        def play() -> dict[str, Any]:
            played, _ = self._played(replays.found(journal, path["number"]))
            return played[path["turn"]] if path["turn"] < len(played) else {}

        try:
            async with self._reading:
                found = await asyncio.to_thread(play)
        except (DovetailError, OSError) as error:
            raise HTTPException(404, str(error)) from None
        if not found:
            raise HTTPException(404, "The game has no such turn.")
        return await self._picture(request, found)

    async def _picture(self, request: Request, position: dict[str, Any]) -> Response:
        form = request.path_params["form"]
        if form not in PICTURES:
            raise HTTPException(404, f"Pictures end in .{' or .'.join(PICTURES)}.")
        async with self._drawing:
            found = await asyncio.to_thread(picture, position, form)
        return Response(found, media_type=PICTURES[form])

    # -- live -----------------------------------------------------------------------------------

    async def live(self, socket: WebSocket) -> None:
        """Serve a browser's WebSocket: it says what it is looking at and is sent updates."""
        await socket.accept()
        browser = Browser(self.hub, self._channels, socket)
        try:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it is gone
                await browser.serve()
        finally:
            browser.close()


def _straight(value: Any) -> Any:
    """Return what a template shows; markup is ours."""
    return straight(value) if type(value) is str else value


def _plot(chart: Any) -> Markup:
    """Return a chart's data for embedding in a page."""
    return Markup(msgspec.json.encode(chart).decode().replace("<", "\\u003c"))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _brief(text: str) -> str:
    """Return the part of a description that a tile has room for, ending where a clause does."""
    text = _sentence(text)
    while len(text) > LONGEST_ABOUT and "; " in text:
        text = f"{text.rpartition('; ')[0]}."
    return text


def _seed(text: str) -> int:
    """Return a form's seed; a random one by default."""
    if not text.strip():
        return secrets.randbelow(1 << 53)
    if not (text.strip().isdecimal() and len(text) < 19):
        raise DovetailError("The seed: give a whole number from 0 to 10^18, or nothing")
    return int(text)


def _seconds(text: str, what: str) -> float | None:
    """Return the seconds in a form; None if the field is empty."""
    if not text.strip():
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.1 <= seconds <= 1e6:
        raise DovetailError(f"{what}: give seconds for a decision, from 0.1 on, or nothing")
    return seconds


async def _left(request: Request, error: Exception) -> Response:
    """Return what no one reads: the visitor has closed the connection in the middle of a form."""
    return Response(status_code=400)


async def _failed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = error.detail if isinstance(error, HTTPException) else "The page failed; see its log."
    page: Page = request.app.state.page
    if text == NOT_FOUND:
        text = page.absent(request.url.path)
    return page.shown(request, "problem", status, text=text)


def application(
    hub: Hub,
    *,
    journal: Path | None = None,
    stores: Sequence[str] = (),
    arena: Path | None = None,
    peers: str = "",
    hosts: tuple[str, ...] = LOCAL,
    password: str | None = None,
) -> ASGIApp:
    """Return the page.

    Args:
        hub, journal, stores, arena, peers: as for ``Page``; the hub is started.
        hosts: the host names accepted in requests; empty for any.
        password: the password for visitors; None for none.
    """
    page = Page(hub, journal, stores, arena, peers)
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: _failed,
        ClientDisconnect: _left,
        Exception: _failed,
    }
    app = Starlette(routes=page.routes(), exception_handlers=handlers)
    app.state.page = page
    return WholeRequests(Guard(app, hosts, password), longest)
