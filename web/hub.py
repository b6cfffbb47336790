"""The hub: the page's own peer of the broker, in a thread.

It asks for the catalogue once a second, watches the runs that a browser looks at, starts the games of
people, and keeps what the browsers show.  Browsers are told by ``changed`` and take the newest.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import msgspec

from dovetail.experiments.client import Experiment as Client
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.web.chairs import Chair, Chairs
from dovetail.web.positions import drawn, encode, plain

log = logging.getLogger("dovetail.web")

LOOK = 0.01
"""Seconds between two looks at what browsers want."""
AGAIN = 1.0
"""Seconds between catalogues, and between attempts to reach the broker."""
MOST_GAMES = 200
MOST_POSITIONS = 20_000
"""Of all games together; the oldest games go first."""
LONGEST_NAME = 100


@dataclass(eq=False)
class Game:
    """An episode that is or was watched."""

    episode: int
    run: int
    environment: str
    agents: list[str]
    positions: list[bytes] = field(default_factory=list)
    """JSON of each turn, in order."""
    first: int = 0
    """The turn of the first position: a late watcher has none of the earlier ones."""
    small: dict[str, Any] | None = None
    """The newest position."""
    over: bool = False
    secret: bool = False
    """Whether thoughts are kept back until the end, since a person plays."""
    result: dict[str, Any] | None = None
    version: int = 0
    thoughts: dict[int, Any] = field(default_factory=dict)
    """By turn, what is kept back until the end of a secret game."""

    def position(self, turn: int) -> bytes | None:
        """Return the JSON of a turn, None if it is not kept."""
        at = turn - self.first
        if not 0 <= at < len(self.positions):
            return None
        found = self.positions[at]
        if self.over and turn in self.thoughts:
            found = encode({**msgspec.json.decode(found), "thoughts": self.thoughts[turn]})
        return found

    def about(self) -> dict[str, Any]:
        """Return what is to be said of it beside its positions."""
        return {
            "episode": self.episode,
            "run": self.run,
            "environment": self.environment,
            "agents": [name[:LONGEST_NAME] for name in self.agents],
            "first": self.first,
            "count": len(self.positions),
            "over": self.over,
            "result": self.result,
        }


@dataclass(eq=False)
class Table:
    """A game that was started on the page."""

    key: str
    environment: str
    names: list[str]
    chairs: list[Chair | None]
    run: int | None = None
    instances: list[int] = field(default_factory=list)
    problem: str = ""
    done: bool = False


class _Watch(Client):
    """An experiment's connection that hands over every message about runs."""

    heard: Callable[[m.Message], None]

    def _take(self, message: m.Message) -> None:
        if isinstance(message, m.WatchedTurn | m.Episode | m.Done):
            self.heard(message)
        else:
            super()._take(message)


def _clean(client: Client, instance: int) -> None:
    client.forget(client.post(m.Cleanup(0, instance)))


class Hub:
    """The page's connection to a broker.

    Args:
        address: the broker's.
        token: its access token, if it has one.
    """

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address = address
        self._token = token
        self.problem = "connecting"
        """Why there is no broker; empty if there is one."""
        self.catalogue: dict[str, Any] = {}
        self.rate = 0.0
        """Games per second."""
        self.games: OrderedDict[int, Game] = OrderedDict()
        self.tables: dict[str, Table] = {}
        self.chairs: Chairs | None = None
        self.version = 0
        self._listeners: set[Callable[[], None]] = set()
        self._wanted: dict[int | None, int] = {}
        """By run, or None for all: how many browsers look at it."""
        self._watched: set[int | None] = set()
        self._ended: OrderedDict[int, m.Done] = OrderedDict()
        """The latest runs that are over: the news may come before the answer that names the run."""
        self._jobs: queue.SimpleQueue[tuple[Callable[[Client], Any], Future[Any]]] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hub", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Leave the broker."""
        self._stop.set()
        self._thread.join(5)

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

    def now(self) -> dict[str, Any]:
        """Return what is connected and played."""
        found = self.catalogue
        with self._lock:
            games = [
                {**game.about(), "position": game.small}
                for game in reversed(self.games.values())
                if game.small is not None
            ][:24]
        return {
            "problem": self.problem,
            "peers": found.get("peers", []),
            "environments": [each["name"] for each in found.get("environments", [])],
            "agents": [each["name"] for each in found.get("agents", [])],
            "runs": found.get("runs", []),
            "counters": found.get("counters", {}),
            "rate": self.rate,
            "games": games,
        }

    def game(self, episode: int) -> Game | None:
        """Return a game by the broker's number of its episode."""
        return self.games.get(episode)

    def game_of(self, run: int) -> Game | None:
        """Return the latest game of a run."""
        with self._lock:
            return next((each for each in reversed(self.games.values()) if each.run == run), None)

    # -- the games of people --------------------------------------------------------------------

    def play(
        self,
        environment: str,
        configuration: dict[str, Any],
        seats: list[tuple[str, str]],
        *,
        seed: int,
        clock: m.ClockRule,
    ) -> Table:
        """Start a game.

        Args:
            environment: an offer's name.
            configuration: its options.
            seats: of each seat, ``("person", name)`` or ``("agent", offer)``.
            seed: the run's.
            clock: the seats'.

        Raises:
            DovetailError: there is no broker, or it refuses; the text says why.
        """
        chairs = self.chairs
        if chairs is None:
            raise DovetailError(f"There is no broker at {self.address}; start one and try again")
        taken = [
            chairs.add(name[:LONGEST_NAME], self.changed) if kind == "person" else None
            for kind, name in seats
        ]
        names = [name[:LONGEST_NAME] for _, name in seats]
        table = Table(secrets.token_urlsafe(9), environment, names, taken)
        offers = {each["name"]: each for each in self.catalogue.get("agents", [])}

        def begin(client: Client) -> None:
            agents: list[int | str] = []
            try:
                for number, ((kind, name), chair) in enumerate(zip(seats, taken, strict=True)):
                    if kind == "agent" and offers.get(name, {}).get("instance"):
                        agents.append(name)
                        continue
                    wanted = name if chair is None else chairs.agent
                    parameters = {} if chair is None else {"chair": chair.key}
                    peer = None if chair is None else chairs.name
                    made = client.create(
                        wanted, seed=seed + number, parameters=parameters, peer=peer, timeout=30
                    )
                    table.instances.append(made)
                    agents.append(made)
                run = m.Run(
                    *(0, environment, agents, configuration),
                    seed=seed,
                    mode="evaluate",
                    clock=clock,
                    answer_timeout=None,
                    retries=0,
                    lookahead=True,
                    label="page",
                )
                with self._lock:
                    self.tables[table.key] = table
                # So that not even the first turn is missed.
                client.request(m.Watch(0, None, scenes=True, thoughts=True))
                try:
                    answer: dict[str, Any] = client.request(run)
                    table.run = answer["run"]
                    if answer["run"] in self._ended:
                        self._done(self._ended[answer["run"]])
                        return
                    client.request(m.Watch(0, table.run, scenes=True, thoughts=True))
                    self._watched.add(answer["run"])
                except DovetailError:
                    if table.run is None:
                        raise  # else it was over at once
                finally:
                    client.request(m.Watch(0, None, on=False))
            except DovetailError:
                for each in table.instances:
                    client.forget(client.post(m.Cleanup(0, each)))
                raise

        try:
            self.ask(begin)
        except DovetailError:
            self.tables.pop(table.key, None)
            for chair in taken:
                if chair is not None:
                    chairs.remove(chair.key)
            raise
        return table

    def act(self, chair: Chair, number: int, choice: int) -> None:
        """Take what a person has chosen; errors as of ``Chair.chosen``."""
        chairs = self.chairs
        if chairs is None:
            raise DovetailError("The broker is gone, and this game with it")
        chairs.answer(*chair.chosen(number, choice))

    def leave(self, table: Table) -> None:
        """Break a game off."""
        run = table.run
        if run is not None and not table.done:
            self.ask(lambda client: client.request(m.Cancel(0, run=run)))

    def ask(self, job: Callable[[Client], Any], timeout: float = 60.0) -> Any:
        """Carry out a request in the hub's thread.

        Raises:
            DovetailError: there is no broker, or it refuses.
        """
        if self.problem:
            raise DovetailError(f"There is no broker at {self.address}; start one and try again")
        future: Future[Any] = Future()
        self._jobs.put((job, future))
        try:
            return future.result(timeout)
        except TimeoutError:
            raise DovetailError(f"the broker did not answer within {timeout:g} s") from None

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
            finally:
                if self.chairs is not None:
                    self.chairs.close()
                    self.chairs = None
                client.close()
            self._stop.wait(AGAIN)

    def _gone(self, why: str) -> None:
        self.problem = f"The broker does not answer: {why}"
        self.catalogue = {}
        self._watched.clear()
        while not self._jobs.empty():
            _, future = self._jobs.get()
            future.set_exception(DovetailError(self.problem))
        for table in self.tables.values():
            if not table.done:
                table.done, table.problem = True, "The broker went away, and the game with it."
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
                self.problem = ""
                self.changed()
            self._watch(client)
            while not self._jobs.empty():
                job, future = self._jobs.get()
                try:
                    future.set_result(job(client))
                except DovetailError as error:
                    future.set_exception(error)
            client.wait(LOOK)

    def _watch(self, client: Client) -> None:
        """Watch what is looked at, and nothing else."""
        present = {None, *(each["run"] for each in self.catalogue.get("runs", []))}
        with self._lock:
            wanted = set(self._wanted) & present
        for table in list(self.tables.values()):
            if table.run is not None and not table.done:
                wanted.add(table.run)
        for run in wanted - self._watched:
            try:
                client.request(m.Watch(0, run, scenes=True, thoughts=True))
            except DovetailError:  # it ended meanwhile
                continue
            self._watched.add(run)
        for run in self._watched - wanted:
            client.post(m.Watch(0, run, on=False))
            self._watched.discard(run)

    # -- what is heard --------------------------------------------------------------------------

    def _heard(self, message: m.Message) -> None:
        if isinstance(message, m.WatchedTurn):
            self._turn(message)
        elif isinstance(message, m.Episode):
            game = self.games.get(message.episode)
            if game is not None:
                game.over = True
                game.result = {
                    "reason": message.reason,
                    "blame": message.blame,
                    "outcome": message.outcome,
                    "message": message.message,
                    "seats": [
                        {"total": each.total, "decisions": each.decisions, "seconds": each.seconds}
                        for each in message.seats
                    ],
                }
                game.version += 1
        elif isinstance(message, m.Done):
            self._done(message)
        self.changed()

    def _done(self, done: m.Done) -> None:
        self._ended[done.run] = done
        while len(self._ended) > MOST_GAMES:
            self._ended.popitem(last=False)
        for table in self.tables.values():
            if table.run == done.run:
                table.done = True
                table.problem = done.message if done.reason == "failed" else ""
                for each in table.instances:
                    self._jobs.put((partial(_clean, instance=each), Future()))

    def _turn(self, turn: m.WatchedTurn) -> None:
        game = self.games.get(turn.episode)
        if game is None:
            known = next(
                (e for e in self.catalogue.get("runs", []) if e["run"] == turn.run),
                {"environment": ""},
            )
            table = next((e for e in self.tables.values() if e.run == turn.run), None)
            if table is None:
                # The first turn may come before the answer that names the run.
                table = next(
                    (e for e in self.tables.values() if e.run is None and not e.done), None
                )
            if table is None and not self._watched & {turn.run, None}:
                return
            game = Game(
                turn.episode,
                turn.run,
                known["environment"] if table is None else table.environment,
                list(turn.agents) if table is None else table.names,
                first=turn.turn,
                secret=table is not None and any(table.chairs),
            )
            with self._lock:
                self.games[turn.episode] = game
                self._forget()
        scene, problem = drawn(turn.scene)
        position = {
            "turn": turn.turn,
            "to_act": turn.to_act,
            "actions": [[seat, plain(action)] for seat, action in turn.actions],
            "rewards": plain(turn.rewards),
            "outcome": turn.outcome,
            "reason": turn.reason or ("terminated" if turn.terminated else None),
            "scene": scene,
            "problem": problem,
            "text": (turn.text or "")[:20_000],
            "thoughts": [[seat, plain(thoughts)] for seat, thoughts in turn.thoughts],
        }
        if game.secret:
            game.thoughts[turn.turn] = position.pop("thoughts")
        encoded = encode(position)
        at = turn.turn - game.first
        if 0 <= at < len(game.positions):
            game.positions[at] = encoded
        elif at == len(game.positions):
            game.positions.append(encoded)
        game.small = {key: position[key] for key in ("turn", "to_act", "scene", "text", "outcome")}
        if turn.terminated or turn.truncated or turn.reason is not None:
            game.over = True
        game.version += 1

    def _forget(self) -> None:
        """Drop the oldest games beyond what is kept; the lock is held."""
        playing = {each.run for each in self.tables.values() if not each.done}
        total = sum(len(each.positions) for each in self.games.values())
        for episode, game in list(self.games.items()):
            if len(self.games) <= MOST_GAMES and total <= MOST_POSITIONS:
                return
            if game.run not in playing and episode != next(reversed(self.games)):
                total -= len(game.positions)
                del self.games[episode]
