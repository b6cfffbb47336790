"""The hub: the page's own peer of the broker, in a thread.

It asks for the catalogue once a second, watches all runs at a pace and closer those that a browser looks
at, starts the games of people, and keeps what the browsers show.  Browsers are told by ``changed`` and take
the newest.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, cast

import msgspec

from dovetail.agent_servers.agent import RESIGN
from dovetail.experiments.client import Experiment as Client
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord
from dovetail.web.chairs import Chair, Chairs
from dovetail.web.games import AFAR, CLOSE, Game, pace, position_of
from dovetail.web.positions import encode
from dovetail.web.tables import HINT, Again, Hint, Plan, Table

log = logging.getLogger("dovetail.web")

LOOK = 0.01
"""Seconds between two looks at what browsers want."""
AGAIN = 1.0
"""Seconds between catalogues, and between attempts to reach the broker."""
MOST_GAMES = 200
MOST_POSITIONS = 20_000
"""Of all games together; the oldest games go first."""
MOST_SHOWN = 24
"""Games on Now."""
HINT_SECONDS = 30.0
REPLAY_SECONDS = 30.0


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


def _failure(episode: m.Episode) -> str:
    return " ".join((episode.message or episode.reason).split())[:200]


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
        self._watched: dict[int | None, tuple[float, bool]] = {}
        """By run, or None for all others: the pace, and whether with thoughts."""
        self._hints: dict[int, Hint] = {}
        """By run."""
        self._replays: dict[int, Again] = {}
        """By run."""
        self._early: list[m.Message] | None = None
        """What is heard before the answer that names a new run."""
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

    def now(self, known: dict[int, int]) -> dict[str, Any]:
        """Return what is connected and played.

        Args:
            known: by episode, the version of each game that the browser has; brought up to date.  The others
                come with their position.
        """
        found = self.catalogue
        with self._lock:
            shown = [game for game in reversed(self.games.values()) if game.positions][:MOST_SHOWN]
        games = []
        for game in shown:
            about = game.about()
            if known.get(game.episode) != game.version:
                about["position"] = msgspec.Raw(game.positions[-1])
            games.append(about)
        known.clear()
        known.update((game.episode, game.version) for game in shown)
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

    def play(self, plan: Plan) -> Table:
        """Start a game.

        Raises:
            DovetailError: there is no broker, or it refuses; the text says why.
        """
        chairs = self._present()
        taken = [
            chairs.add(name, self.changed) if kind == "person" else None
            for kind, name in plan.seats
        ]
        table = Table(plan, taken)
        with self._lock:
            self.tables[table.key] = table
            done = [each for each in self.tables.values() if each.done]
            for each in done[: max(0, len(self.tables) - MOST_GAMES)]:
                self._clear(each)
        try:
            self.ask(lambda client: self._begin(client, table, []))
        except DovetailError:
            self._clear(table)
            raise
        return table

    def _present(self) -> Chairs:
        if self.chairs is None:
            raise DovetailError(f"There is no broker at {self.address}; start one and try again")
        return self.chairs

    def _clear(self, table: Table) -> None:
        self.tables.pop(table.key, None)
        for chair in table.people:
            if self.chairs is not None:
                self.chairs.remove(chair.key)

    def _begin(self, client: Client, table: Table, line: list[list[Any]]) -> None:
        """Start a table's run; in the hub's thread."""
        plan = table.plan
        agents: list[int | str] = []
        try:
            for number, ((_, name), chair) in enumerate(zip(plan.seats, table.chairs, strict=True)):
                made = self._agent(client, name, plan.seed + number, chair)
                agents.append(made)
                if isinstance(made, int):
                    table.instances.append(made)
            run = plan.run(agents, line, clock=plan.clock, answer_timeout=None, label="page")

            def named(number: int) -> None:
                table.run = number

            self._started(client, run, named)
        except DovetailError:
            for each in table.instances:
                _clean(client, each)
            table.instances.clear()
            raise

    def _agent(self, client: Client, name: str, seed: int, chair: Chair | None) -> int | str:
        """Return an agent for a seat: an instance, or the name of a program that is one."""
        if chair is None:
            offers = self.catalogue.get("agents", [])
            if any(each["name"] == name and each.get("instance") for each in offers):
                return name
            return client.create(name, seed=seed, timeout=30)
        chairs = self._present()
        parameters, peer = {"chair": chair.key}, chairs.name
        return client.create(chairs.agent, seed=seed, parameters=parameters, peer=peer, timeout=30)

    def _started(
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
            # Watched from afar, as all runs are, a run shows its first turns; then it is watched closely.
            if whole:
                client.request(m.Watch(0, None, scenes=True))
            try:
                number = client.request(run)["run"]
                named(number)
                with contextlib.suppress(DovetailError):  # it was over at once
                    client.request(m.Watch(0, number, scenes=True, thoughts=True))
                self._watched[number] = 0.0, True
            finally:
                if whole:
                    self._watched.pop(None, None)  # asked for again, at its pace
        finally:
            early, self._early = self._early, None
            for each in early:
                self._heard(each)

    def take_back(self, table: Table, chair: Chair) -> None:
        """Take a person's last move back, and what came after it: the game begins again from its seed and actions.

        Raises:
            DovetailError: this table does not allow it, or there is nothing to take back.
        """
        if not table.plan.undo:
            raise DovetailError(
                "Moves cannot be taken back in a game with a clock or several people"
            )
        turn = table.decided(chair.seat)
        if turn is None:
            raise DovetailError("There is no move of yours to take back")
        line = table.line(turn)

        def begin(client: Client) -> None:
            run = table.run
            table.restart()
            if run is not None:
                with contextlib.suppress(DovetailError):  # it was over
                    client.request(m.Cancel(0, run=run))
                with self._lock:
                    for episode in [e for e, game in self.games.items() if game.run == run]:
                        del self.games[episode]
            for each in table.instances:
                _clean(client, each)
            table.instances.clear()
            try:
                self._begin(client, table, line)
            except DovetailError as error:
                table.done, table.problem = True, str(error)
                raise

        self.ask(begin)

    def hint(self, table: Table, chair: Chair, agent: str) -> None:
        """Ask an agent what it would do in a person's place; the answer comes to the chair.

        The agent gets what the person's seat gets: it takes that seat in a game of its own that begins with the
        same seed and actions.

        Raises:
            DovetailError: this table does not allow it, it is not the person's turn, or there is no such agent.
        """
        decision = chair.decision
        if not table.plan.hints:
            raise DovetailError("Several people play; this game was started without hints")
        if decision is None:
            raise DovetailError("Ask for a hint when it is your turn")
        seat, turn, number = decision.seat.seat, decision.turn, chair.number
        line = table.line(turn)

        def begin(client: Client) -> None:
            made = self._agent(client, agent, table.plan.seed, None)
            hint = Hint(chair, number, seat, turn, agent, made if isinstance(made, int) else 0)
            seats = [made] * len(table.plan.seats)
            run = table.plan.run(
                seats, line, answer_timeout=HINT_SECONDS, max_turns=turn + 1, label=HINT
            )

            def named(number: int) -> None:
                hint.run = number
                self._hints[number] = hint

            try:
                self._started(client, run, named)
            except DovetailError:
                if hint.instance:
                    _clean(client, hint.instance)
                raise

        chair.hint = {"number": number, "by": agent}
        self.changed()
        try:
            self.ask(begin)
        except DovetailError:
            chair.hint = None
            raise

    def replay(self, record: EpisodeRecord) -> list[dict[str, Any]]:
        """Have the broker play a recorded episode again, by a game that may not be installed here.

        It is an opening as long as the episode, so no seat is asked.

        Returns:
            Its positions.

        Raises:
            DovetailError: there is no broker or no such game, or it plays differently.
        """
        chairs = self._present()
        again = Again(chairs.add("replay", lambda: None))

        def begin(client: Client) -> None:
            parameters, peer = {"chair": again.chair.key}, chairs.name
            again.instance = client.create(
                chairs.agent, parameters=parameters, peer=peer, timeout=30
            )
            agents: list[int | str] = [again.instance] * len(record.result.seats)
            run = m.Run(
                *(0, record.environment, agents, record.configuration),
                seeds=[record.result.seed],
                mode="evaluate",
                retries=0,
                openings=[[[action for _, action in joint] for joint in record.actions]],
                max_turns=max(1, len(record.actions)),
                label=HINT,
            )

            def named(number: int) -> None:
                self._replays[number] = again

            try:
                self._started(client, run, named, whole=True)
            except DovetailError:
                _clean(client, again.instance)
                raise

        try:
            self.ask(begin)
            if not again.done.wait(REPLAY_SECONDS):
                raise DovetailError(f"the game was not played again in {REPLAY_SECONDS:g} s")
        finally:
            chairs.remove(again.chair.key)
        if again.problem or not again.turns:
            raise DovetailError(again.problem or "the game showed no turn")
        return [position_of(turn) for turn in again.turns]

    def resign(self, table: Table, chair: Chair) -> None:
        """Give a person's seat up, at the latest when it is to act."""
        if table.done:
            raise DovetailError("The game is over")
        chair.resigning = True
        decision = chair.decision
        if decision is not None:
            chair.decision = None
            self._present().answer(decision, RESIGN)

    def again(self, table: Table) -> Table:
        """Return the next game of the same people, each one seat further; it begins unless it has begun."""
        if not table.done:
            raise DovetailError("Finish this game first")
        if table.again is None:
            table.again = self.play(table.next())
            self.changed()
        return table.again

    def act(self, chair: Chair, number: int, choice: int) -> None:
        """Take what a person has chosen; errors as of ``Chair.chosen``."""
        self._present().answer(*chair.chosen(number, choice))

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
            except Exception as error:  # a fault of the page must not end it for everyone
                log.exception("the page's connection failed; connecting again")
                self._gone(f"{type(error).__name__}: {error}")
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
        for table in list(self.tables.values()):
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
                except Exception:
                    future.set_exception(DovetailError("The page failed; see its log"))
                    raise
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
        for table in list(self.tables.values()):
            if table.run is not None and not table.done:
                wanted[table.run] = 0.0, True
        for run in (*self._hints, *self._replays):
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
        if self._early is not None:
            self._early.append(message)
            return
        if isinstance(message, m.WatchedTurn):
            hint, again = self._hints.get(message.run), self._replays.get(message.run)
            if again is not None:
                if len(again.turns) == message.turn:
                    again.turns.append(message)
            elif hint is None:
                self._turn(message)
            elif message.turn == hint.turn + 1:
                for seat, action in message.actions:
                    if seat == hint.seat:
                        hint.chair.hinted(hint.number, hint.agent, action)
        elif isinstance(message, m.Episode):
            self._ended(message)
        elif isinstance(message, m.Done):
            self._done(message)
        self.changed()

    def _ended(self, episode: m.Episode) -> None:
        hint = self._hints.get(episode.run)
        if hint is not None and (hint.chair.hint or {}).keys() == {"number", "by"}:
            hint.chair.hint = {
                "number": hint.number,
                "by": hint.agent,
                "problem": f"{hint.agent} has no hint: {_failure(episode)}",
            }
        again = self._replays.get(episode.run)
        if again is not None and episode.reason not in ("terminated", "truncated"):
            again.problem = f"the replay failed: {_failure(episode)}"
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

    def _done(self, done: m.Done) -> None:
        again = self._replays.pop(done.run, None)
        if again is not None:
            self._jobs.put((partial(_clean, instance=again.instance), Future()))
            if done.reason == "failed":
                again.problem = done.message
            again.done.set()
        hint = self._hints.pop(done.run, None)
        if hint is not None and hint.instance:
            self._jobs.put((partial(_clean, instance=hint.instance), Future()))
        for table in list(self.tables.values()):
            if table.run == done.run:
                table.done = True
                table.problem = done.message if done.reason == "failed" else ""
                for each in table.instances:
                    self._jobs.put((partial(_clean, instance=each), Future()))
                table.instances.clear()

    def _turn(self, turn: m.WatchedTurn) -> None:
        game = self.games.get(turn.episode)
        table = next((e for e in list(self.tables.values()) if e.run == turn.run), None)
        if table is not None:
            table.heard(turn)
        if game is None:
            known = next(
                (e for e in self.catalogue.get("runs", []) if e["run"] == turn.run),
                {"environment": ""},
            )
            game = Game(
                turn.episode,
                turn.run,
                known["environment"] if table is None else table.plan.environment,
                list(turn.agents) if table is None else table.plan.names,
                first=turn.turn,
                secret=table is not None and bool(table.people),
            )
            with self._lock:
                self.games[turn.episode] = game
                self._forget()
        if table is None and game.positions and turn.scene is None and turn.text is None:
            return  # sent since we look closer now; it was not drawn
        now = time.monotonic()
        for seat, _ in turn.actions if game.positions else ():
            game.seconds[seat] = game.seconds.get(seat, 0.0) + now - game.heard
        game.heard = now
        position = position_of(turn)
        seconds = (game.seconds.get(seat, 0.0) for seat in range(len(turn.rewards)))
        position["seconds"] = [round(each, 3) for each in seconds]
        if game.secret:
            game.thoughts[turn.turn] = position.pop("thoughts")
        game.keep(turn.turn, encode(position))
        if turn.terminated or turn.truncated or turn.reason is not None:
            game.over = True

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
