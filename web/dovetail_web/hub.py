"""The hub: the page's own peer of the broker, in a thread.

It asks for the catalogue once a second, watches all runs at a pace and closer those that a browser
looks at, starts the games of people, and keeps what the browsers show.  Browsers are told by
``changed`` and take the newest.
"""

from __future__ import annotations

import contextlib
import logging
import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from operator import itemgetter
from typing import Any, cast

import msgspec

from dovetail.client.client import Experiment as Client
from dovetail.peer.link import START
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail_web.chairs import Chairs
from dovetail_web.games import AFAR, CLOSE, Game, pace, position_of
from dovetail_web.jobs import Jobs, Steps
from dovetail_web.people import People
from dovetail_web.positions import encode

log = logging.getLogger("dovetail.web")

LOOK = 0.01
"""Seconds between two looks at what browsers want."""
AGAIN = 1.0
"""Seconds between catalogues, and between attempts to reach the broker."""
SILENT = 5.0
"""Seconds without an answer of the broker after which pages say so."""
MOST_GAMES = 200
MOST_POSITIONS = 20_000
"""Of all games together; the oldest games go first."""
MOST_BYTES = 256 << 20
"""Of all positions together; then the longest games lose their oldest positions."""
MOST_SHOWN = 24
"""Games on Now."""


WATCHED = 5.0
"""Seconds without a word after which a browser is taken to look elsewhere."""


class _Watch(Client):
    """An experiment's connection that hands over every message about runs."""

    heard: Callable[[m.Message], None]

    def _take(self, message: m.Message) -> None:
        if isinstance(message, m.WatchedTurn | m.Episode | m.Done):
            self.heard(message)
        else:
            super()._take(message)


class Hub:
    """The page's connection to a broker.

    Args:
        address: the broker's.
        token: its access token, if it has one.
        start: what starts it, if ``dovetail broker`` does not.
    """

    def __init__(self, address: str, token: str | None = None, start: str = START) -> None:
        self.address = address
        self._token = token
        self._start = start
        self.problem = f"Connecting to the broker at {address}."
        """Why there is no broker; empty if there is one."""
        self._answered = time.monotonic()
        """When the broker was last heard."""
        self.catalogue: dict[str, Any] = {}
        self.rate = 0.0
        """Games per second."""
        self.visited = -math.inf
        """When a browser last showed the games that are being played; of ``time.monotonic``."""
        self.games: OrderedDict[int, Game] = OrderedDict()
        self.people = People(self)
        self.chairs: Chairs | None = None
        self.leaders: Callable[[str], bytes] = lambda ladder: b"null"
        """Returns an arena's ladder as JSON for the hall."""
        self.version = 0
        self._listeners: set[Callable[[], None]] = set()
        self._wanted: dict[int | None, int] = {}
        """By run, or None for all: how many browsers look at it."""
        self._watched: dict[int | None, tuple[float, bool]] = {}
        """By run, or None for all others: the pace, and whether with thoughts."""
        self._early: list[m.Message] | None = None
        """Messages that come before the answer that names a new run."""
        self._jobs = Jobs()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hub", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Leave the broker; what browsers wait for fails."""
        self._stop.set()
        self._thread.join(5)

    @property
    def watched(self) -> bool:
        """True while a browser shows the games that are being played."""
        return time.monotonic() - self.visited < WATCHED

    @property
    def silent(self) -> bool:
        """True while the broker owes an answer for longer than it needs."""
        return not self.problem and time.monotonic() - self._answered > SILENT

    @property
    def trouble(self) -> str:
        """Why nothing comes from the broker; empty if nothing is wrong."""
        if not self.silent:
            return self.problem
        seconds = time.monotonic() - self._answered
        silent = f"The broker at {self.address} has not answered for {seconds:.0f} s"
        return f"{silent}; the page waits for it."

    # -- for browsers ---------------------------------------------------------------------------

    def listen(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Call ``heard`` after every change, from any thread; return what ends that."""
        with self._lock:
            self._listeners.add(heard)

        def leave() -> None:
            with self._lock:
                self._listeners.discard(heard)

        return leave

    def look(self, run: int | None, by: int) -> None:
        """Count a browser that begins (1) or ends (-1) to look at a run, or at all."""
        with self._lock:
            count = self._wanted.get(run, 0) + by
            if count > 0:
                self._wanted[run] = count
            else:
                self._wanted.pop(run, None)

    def changed(self) -> None:
        """Tell the browsers that there is something new."""
        self.version += 1
        with self._lock:
            listeners = list(self._listeners)
        for each in listeners:
            each()

    def now(self, known: dict[int, int], environment: str = "") -> dict[str, Any]:
        """Return what is connected and played.

        Args:
            known: by episode, the version of each game that the browser has; brought up to date.
                The others come with their position.
            environment: whose games are shown; empty for all.
        """
        found = self.catalogue
        with self._lock:
            seen = [game for game in reversed(self.games.values()) if game.positions]
        shown = [g for g in seen if environment in ("", g.environment)][:MOST_SHOWN]
        games = []
        for game in shown:
            about = game.about()
            if known.get(game.episode) != game.version:
                about["position"] = msgspec.Raw(game.positions[-1])
            games.append(about)
        known.clear()
        known.update((game.episode, game.version) for game in shown)
        return {
            "problem": self.trouble,
            "peers": found.get("peers", []),
            "environments": [each["name"] for each in found.get("environments", [])],
            "agents": [each["name"] for each in found.get("agents", [])],
            "runs": sorted(map(self._attended, found.get("runs", [])), key=itemgetter("left")),
            "counters": found.get("counters", {}),
            "rate": self.rate,
            "games": games,
        }

    def _attended(self, run: dict[str, Any]) -> dict[str, Any]:
        """Return a run, with a word on those who have left it."""
        table = self.people.table(run["run"])
        left = table is not None and self.people.left(table)
        return {**run, "left": left, "state": run["state"] + "; its players have left" * left}

    def whose(self, name: str) -> str:
        """Return the entrant whose token or key the connected program of a name has shown; empty
        for none."""
        for each in self.catalogue.get("peers", []):
            # An entrant's program is called ENTRANT/NAME.
            if each["name"].rpartition("/")[2] == name and each["state"] == "ready":
                return str(each.get("entrant", ""))
        return ""

    def game(self, episode: int) -> Game | None:
        """Return a game by the broker's number of its episode."""
        return self.games.get(episode)

    def game_of(self, run: int) -> Game | None:
        """Return the latest game of a run."""
        with self._lock:
            return next((each for each in reversed(self.games.values()) if each.run == run), None)

    def started(
        self, client: Client, run: m.Run, named: Callable[[int], None], *, whole: bool = False
    ) -> None:
        """Start a run and watch it; its first turn is not missed.

        Args:
            client: the connection.
            run: to be started.
            named: takes the run's number before anything of it is heard.
            whole: whether many turns pass at once: all are watched closely for this moment.
        """
        self._early = []
        try:
            # Watched from afar, as all runs are, a run shows its first turns, and what was thought
            # before the second; then it is watched closely.
            far = 0.0 if whole else self._watched.get(None, (pace(AFAR, 0), False))[0]
            client.request(m.Watch(0, None, scenes=True, thoughts=True, every=far))
            try:
                number = client.request(run)["run"]
                named(number)
                with contextlib.suppress(DovetailError):  # it was over at once
                    client.request(m.Watch(0, number, scenes=True, thoughts=True))
                self._watched[number] = 0.0, True
            finally:
                self._watched.pop(None, None)  # asked for again, as before
        finally:
            early, self._early = self._early, None
            for each in early:
                self._heard(each)

    def drop(self, run: int) -> None:
        """Drop the games of a run."""
        with self._lock:
            for episode in [e for e, game in self.games.items() if game.run == run]:
                del self.games[episode]

    def later(self, job: Callable[[Client], Any]) -> None:
        """Carry out a request in the hub's thread; nothing waits for it."""
        self._jobs.add(job)

    def ask(self, job: Callable[[Client], Any], timeout: float = 60.0) -> Any:
        """Carry out a request in the hub's thread.

        Raises:
            DovetailError: there is no broker, it refuses, or the request takes too long and is
                given up.
        """
        self._present()
        return self._result(self._jobs.add(job), timeout)

    def make(self, steps: Callable[[Client], Steps], timeout: float = 60.0) -> Any:
        """Carry out a request that makes agents; errors are those of ``ask``."""
        self._present()
        return self._result(self._jobs.make(steps), timeout)

    def _present(self) -> None:
        if self.problem:
            raise DovetailError(f"There is no broker at {self.address}; start one and try again")

    @staticmethod
    def _result(future: Future[Any], timeout: float) -> Any:
        try:
            return future.result(timeout)
        except TimeoutError:
            if future.cancel():
                raise DovetailError(f"there was no answer within {timeout:g} s") from None
        return future.result(timeout)  # it is being carried out at this moment

    # -- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                client = cast(
                    _Watch,
                    _Watch.connect(self.address, token=self._token, wait=2.0, give_up=15.0),
                )
            except DovetailError as error:
                self._gone(str(error))
                self._stop.wait(AGAIN)
                continue
            client.heard = self._heard
            try:
                name = f"page-{secrets.token_hex(4)}"
                self.chairs = Chairs(self.address, self._token, name)
                self._serve(client)
            except DovetailError as error:
                self._gone(str(error))
            except Exception as error:  # a fault of the page must not end it for everyone
                log.exception("the page's connection failed; connecting again")
                self._gone(f"{type(error).__name__}: {error}")
            finally:
                if self.chairs is not None:
                    self.chairs.close()
                    self.chairs = None
                client.close()
            self._stop.wait(AGAIN)
        # No thread may wait for a request any longer.
        self._gone("try again when it runs", "The page has ended")

    def _gone(self, why: str, what: str = "The broker does not answer") -> None:
        self.problem = f"{what}: {why.replace(START, self._start)}"
        self.catalogue = {}
        self._watched.clear()
        self._jobs.fail(DovetailError(self.problem))
        self.people.gone()
        self.changed()

    def _serve(self, client: Client) -> None:
        asked = 0.0
        before: tuple[float, int] | None = None
        while not self._stop.is_set():
            now = time.monotonic()
            if now - asked >= AGAIN:
                asked = now
                found = client.catalogue()
                count = int(found.get("counters", {}).get("episodes", 0))
                if before is not None:
                    self.rate = max(0.0, (count - before[1]) / (now - before[0]))
                before = now, count
                self.catalogue = found
                self._answered = time.monotonic()
                self.problem = ""
                self.people.tidy(client, now)
                self.changed()
            self._watch(client)
            self._jobs.work(client)
            client.wait(LOOK)

    def _watch(self, client: Client) -> None:
        """Watch all runs from afar, what is looked at closer, and people's games turn by turn."""
        runs = {each["run"]: each for each in self.catalogue.get("runs", [])}
        with self._lock:
            looked = set(self._wanted) & {None, *runs}
        matches = sum(int(each["playing"]) for each in runs.values())
        close = sum(int(runs[run]["playing"]) for run in looked if run is not None)
        wanted: dict[int | None, tuple[float, bool]] = {None: (pace(AFAR, matches), False)}
        for run in looked:
            wanted[run] = pace(CLOSE, matches if None in looked else close), True
        for run in self.people.runs():
            wanted[run] = 0.0, True
        for run, (every, thoughts) in wanted.items():
            if self._watched.get(run) == (every, thoughts):
                continue
            try:
                client.request(m.Watch(0, run, scenes=True, thoughts=thoughts, every=every))
            except DovetailError:  # it ended meanwhile
                continue
            self._watched[run] = every, thoughts
        for run in set(self._watched) - set(wanted):
            client.post(m.Watch(0, run, on=False))
            del self._watched[run]

    # -- what is heard --------------------------------------------------------------------------

    def _heard(self, message: m.Message) -> None:
        self._answered = time.monotonic()
        if self._early is not None:
            self._early.append(message)
            return
        if isinstance(message, m.WatchedTurn):
            if not self.people.turn(message):
                self._turn(message)
        elif isinstance(message, m.Episode):
            self._ended(message)
        elif isinstance(message, m.Done):
            self.people.done(message)
        self.changed()

    def _ended(self, episode: m.Episode) -> None:
        self.people.ended(episode)
        game = self.games.get(episode.episode)
        if game is not None:
            game.over = True
            game.result = {
                "reason": episode.reason,
                "blame": episode.blame,
                "outcome": episode.outcome,
                "message": episode.message,
                "seats": [
                    {"total": each.total, "decisions": each.decisions, "seconds": each.seconds}
                    for each in episode.seats
                ],
            }
            game.version += 1

    def _turn(self, turn: m.WatchedTurn) -> None:
        game = self.games.get(turn.episode)
        table = self.people.table(turn.run)
        if table is not None:
            table.heard(turn)
            self.people.mirrored(table, turn)
        if game is None:
            game = Game(
                turn.episode,
                turn.run,
                turn.environment,
                list(turn.agents) if table is None else table.plan.names,
                first=turn.turn,
                secret=table is not None and bool(table.people),
            )
            with self._lock:
                self.games[turn.episode] = game
        if table is None and game.positions and turn.scene is None and turn.text is None:
            return  # sent since we look closer now; it was not drawn
        now = time.monotonic()
        position = position_of(turn)
        position["at"] = now
        position["seconds"] = game.thinking(turn, now)
        thoughts = game.heard_thoughts(turn)
        if not game.secret:
            position["thoughts"] = thoughts
        elif thoughts:
            game.keep_back(turn.turn, encode(thoughts))
        game.keep(turn.turn, encode(position))
        with self._lock:
            self._forget()
        if turn.terminated or turn.truncated or turn.reason is not None:
            game.over = True

    def _forget(self) -> None:
        """Drop the oldest games beyond what is kept, then the oldest positions; the lock is
        held."""
        total = sum(len(each.positions) for each in self.games.values())
        size = sum(each.size for each in self.games.values())
        if len(self.games) <= MOST_GAMES and total <= MOST_POSITIONS and size <= MOST_BYTES:
            return
        playing = self.people.runs()
        newest = next(reversed(self.games))
        for episode, game in list(self.games.items()):
            if len(self.games) <= MOST_GAMES and total <= MOST_POSITIONS and size <= MOST_BYTES:
                return
            if game.run not in playing and episode != newest:
                total -= len(game.positions)
                size -= game.size
                del self.games[episode]
        if size > MOST_BYTES:
            for game in self.games.values():
                game.shorten(MOST_BYTES // len(self.games))
