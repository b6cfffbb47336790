"""The hub: the page's peer at the broker, in a thread of its own.

It requests the catalogue once a second, watches all runs at a pace (faster those shown in a
browser), starts people's games, and keeps what browsers show.  ``changed`` notifies browsers, which
then fetch the newest.
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
from operator import attrgetter, itemgetter
from typing import Any, cast

import msgspec

from dovetail.client.client import Experiment as Client
from dovetail.client.replies import numbered
from dovetail.peer.link import START
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail_web.bell import Bell
from dovetail_web.chairs import Chairs
from dovetail_web.games import AFAR, CLOSE, Game, pace, position_of
from dovetail_web.jobs import Jobs, Steps
from dovetail_web.people import People
from dovetail_web.positions import encode

log = logging.getLogger("dovetail.web")

LOOK = 0.01
"""Seconds between two checks for browsers' requests."""
AGAIN = 1.0
"""Seconds between catalogues, and between attempts to reach the broker."""
SILENT = 5.0
"""Seconds without an answer from the broker after which pages say so."""
MOST_GAMES = 200
MOST_POSITIONS = 20_000
"""Maximum positions of all games; the oldest games are dropped first."""
MOST_BYTES = 256 << 20
"""Maximum bytes of all positions; beyond, the longest games lose their oldest positions."""
MOST_SHOWN = 24
"""Maximum games on *Now*."""


WATCHED = 5.0
"""Seconds of silence after which a browser counts as looking elsewhere."""


class _Watch(Client):
    """An experiment's client that passes on every message about runs."""

    heard: Callable[[m.Message], None]

    def _take(self, message: m.Message) -> None:
        if isinstance(message, m.WatchedTurn | m.Episode | m.Done):
            self.heard(message)
        else:
            super()._take(message)


class Hub:
    """The page's connection to a broker.

    Args:
        address: the broker's address.
        token: its access token, if it has one.
        start: the command that starts it, if not ``dovetail broker``.
    """

    def __init__(self, address: str, token: str | None = None, start: str = START) -> None:
        self.address = address
        self._token = token
        self._start = start
        self.problem = f"Connecting to the broker at {address}."
        """The reason for not being connected; empty if it is."""
        self._answered = time.monotonic()
        """The time of the broker's latest answer."""
        self.catalogue: dict[str, Any] = {}
        self.rate = 0.0
        """Games per second."""
        self.visited = -math.inf
        """The monotonic time at which a browser last showed games in progress."""
        self.games: OrderedDict[int, Game] = OrderedDict()
        self.showcase = False
        """True if games are played to be looked at."""
        self.people = People(self)
        self.chairs: Chairs | None = None
        self.leaders: Callable[[str], bytes] = lambda ladder: b"null"
        """Returns an arena's ladder as JSON for the hall."""
        self.bell = Bell()
        """Rings after every change."""
        self._wanted: dict[int | None, int] = {}
        """The number of browsers that look at a run, by run; None for all runs."""
        self._watched: dict[int | None, tuple[float, bool]] = {}
        """The pace and the wish for thoughts, by run; None for all others."""
        self._early: list[m.Message] | None = None
        """Messages that arrive before the answer with a new run's number."""
        self._jobs = Jobs()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hub", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Leave the broker; pending requests of browsers fail."""
        self._stop.set()
        self._thread.join(5)

    @property
    def watched(self) -> bool:
        """True while a browser shows games in progress."""
        return time.monotonic() - self.visited < WATCHED

    @property
    def silent(self) -> bool:
        """True while the broker's answer is overdue."""
        return not self.problem and time.monotonic() - self._answered > SILENT

    @property
    def trouble(self) -> str:
        """The reason why nothing comes from the broker; empty if nothing is wrong."""
        if not self.silent:
            return self.problem
        seconds = time.monotonic() - self._answered
        silent = f"The broker at {self.address} has not answered for {seconds:.0f} s"
        return f"{silent}; the page waits for it."

    # -- for browsers ---------------------------------------------------------------------------

    def look(self, run: int | None, by: int) -> None:
        """Count a browser that starts (1) or stops (-1) looking at a run, or at all runs."""
        with self._lock:
            count = self._wanted.get(run, 0) + by
            if count > 0:
                self._wanted[run] = count
            else:
                self._wanted.pop(run, None)

    def changed(self) -> None:
        """Notify the browsers of a change."""
        self.bell.ring()

    def now(self, known: dict[int, int], environment: str = "") -> dict[str, Any]:
        """Return the connected programs, the runs and the games in progress.

        Args:
            known: the versions of games that the browser has, by episode, which is updated; the
                result has the positions of the others.
            environment: the game to show; empty for all.
        """
        found = self.catalogue
        with self._lock:
            seen = [game for game in reversed(self.games.values()) if game.positions]
        if found:  # games that a broker has lost are not over, and in no run
            runs, late = {each["run"] for each in found.get("runs", [])}, time.monotonic() - SILENT
            seen = [g for g in seen if g.over or g.run in runs or g.heard > late]
        fitting = [g for g in seen if environment in ("", g.environment)]
        # A long game that is still played counts more than a new one that is over.
        shown = sorted(fitting, key=attrgetter("over"))[:MOST_SHOWN]
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
        """Return a run, with a note about people who have left it."""
        table = self.people.table(run["run"])
        left = table is not None and self.people.left(table)
        return {**run, "left": left, "state": "left by its players" if left else run["state"]}

    def whose(self, name: str) -> str:
        """Return the entrant of a connected program, by its name; empty for none."""
        for each in self.catalogue.get("peers", []):
            # An entrant's program is called ENTRANT/NAME.
            if each["name"].rpartition("/")[2] == name and each["state"] == "ready":
                return str(each.get("entrant", ""))
        return ""

    def game_of(self, run: int) -> Game | None:
        """Return the latest game of a run."""
        with self._lock:
            return next((each for each in reversed(self.games.values()) if each.run == run), None)

    def started(self, client: Client, run: m.Run, named: Callable[[int], None]) -> None:
        """Start a run and watch it from its first turn.

        Args:
            client: the connection.
            run: the run to start.
            named: called with the run's number before any of its messages are handled.
        """
        self._early = []
        try:
            # All runs are watched closely until this one has a number.
            client.request(m.Watch(0, None, scenes=True, thoughts=True))
            try:
                number = numbered(client.request(run), "run")
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
        with self._lock:
            for episode in [e for e, game in self.games.items() if game.run == run]:
                del self.games[episode]

    def later(self, job: Callable[[Client], Any]) -> None:
        """Carry out a request in the hub's thread, without waiting for it."""
        self._jobs.add(job)

    def ask(self, job: Callable[[Client], Any], timeout: float = 60.0) -> Any:
        """Carry out a request in the hub's thread.

        Raises:
            DovetailError: there is no broker, it refuses, or the request takes too long.
        """
        self._present()
        return self._result(self._jobs.add(job), timeout)

    def make(self, steps: Callable[[Client], Steps], timeout: float = 60.0) -> Any:
        """Carry out a request that creates agents; raise as ``ask`` does."""
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
        why = why.replace(START, self._start)
        refused = why.startswith("the broker refuses")  # so it does answer
        self.problem = f"T{why[1:]}" if refused else f"{what}: {why}"
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
            self.people.step(client, now)
            self._jobs.work(client)
            client.wait(LOOK)

    def _watch(self, client: Client) -> None:
        """Watch all runs at a distance, those shown closely, and people's games turn by turn."""
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
        if table is None and game.positions and turn.scene is None:
            again = game.scene is not None and game.turns[-1] == turn.turn
            if turn.text is None or again:
                return  # sent since we look closer now, or again; it was not drawn
        now = time.monotonic()
        position = position_of(turn)
        position["at"] = now
        seconds = game.thinking(turn, now)
        # Those of agents alone are mostly spent on the pace.
        position["seconds"] = seconds if table is None or table.people else []
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
        """Drop the oldest games and positions beyond the limits; the lock is held."""
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
