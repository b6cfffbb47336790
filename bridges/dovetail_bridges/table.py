"""A table: a game in a thread of its own, with open seats that callers in other threads play.

``Sitting`` gives one seat to one loop; here several seats of one game are open to callers that
come and go, ask twice, or answer turns that are over.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from dovetail.client.client import BrokerConnection, Experiment
from dovetail.peer import options, plugins
from dovetail.peer.agents.agent import Decision, End, Seat
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.agents.remote_seat import Answer, RemoteAgent
from dovetail.peer.closing import Closing
from dovetail.peer.extras import absent
from dovetail.peer.presets import declared, preset
from dovetail.peer.session import hello
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail_bridges.choices import about, choices, chosen, is_legal, position, total, travels

log = logging.getLogger("dovetail.table")

LONGEST_RULES = 20_000
"""Maximum characters of a game's rules."""
PULSE = 0.1
"""Seconds between two polls of the broker while a seat must act; its caller wakes the table at
once."""
BRIEF = 0.001
"""Seconds between two polls of the broker while others must act."""
START = 60.0
"""Seconds within which the first game must start."""


Hosts = Mapping[int, tuple[BrokerConnection, AgentHost]]
"""The connection and the agent's host of each open seat."""


class CallRefused(DovetailError):
    """A call cannot be carried out; the text says why and what can be done."""


class _Player(RemoteAgent):
    """The agent in an open seat, whose caller may decide at any time."""

    name = "open-seat"
    wants = ("text", "scene")

    def __init__(self, seat: int) -> None:
        super().__init__()
        self.number = seat
        self.previous: dict[str, Any] | None = None
        """The result of the game before this one, until its caller has seen it."""
        self.game = 0
        """The number of games started."""

    def init(self, seat: Seat) -> None:
        if self.ended is not None:
            self.previous = result(self, self.ended)
        super().init(seat)
        self.game += 1


class OpenTable(Closing):
    """A game with open seats.

    Args:
        game: a name as for ``dovetail env``; with ``connect``, the name of an offered environment.
        against: the agents of the other seats in order, or one for all of them.
        parameters: options of those agents.
        configuration: options of the game.
        seed: the master seed of the games.
        games: the maximum number of games, played one after another.
        clock: seconds for each decision; None for no limit.
        on_timeout: the cost of a late answer, as in a run.
        connect: the broker's address; None plays in this program.
        token: the broker's access token.
        together: if true, each game, the first included, waits until every open seat asks for it;
            if false, the first starts at once, and one seat can request the next.

    Raises:
        DovetailError: the game or an agent does not exist, or the options are invalid.
    """

    def __init__(
        self,
        game: str,
        seats: Sequence[int],
        against: Sequence[str] = (),
        *,
        parameters: Mapping[str, Any] | None = None,
        configuration: Mapping[str, Any] | None = None,
        seed: int = 0,
        games: int = 1,
        clock: float | None = None,
        on_timeout: m.Breach = "forfeit",
        connect: str | None = None,
        token: str | None = None,
        together: bool = False,
    ) -> None:
        if len(set(seats)) != len(seats) or not seats:
            raise DovetailError(
                f"the open seats are {list(seats)}; expected one or more, each once"
            )
        self.game, self.games = game, games
        self.description = ""
        self.rules_of_game = plugins.rules(game, configuration)[:LONGEST_RULES]
        self._against, self._parameters = list(against), dict(parameters or {})
        self._configuration, self._seed = dict(configuration or {}), seed
        self._clock, self._connect, self._token = clock, connect, token
        self._on_timeout: m.Breach = on_timeout
        self._players = {seat: _Player(seat) for seat in sorted(seats)}
        self._changed = threading.Condition()
        self._watchers: list[tuple[int, Callable[[], None]]] = []
        self._calls: queue.SimpleQueue[tuple[int, Answer] | None] = queue.SimpleQueue()
        """Answers of the open seats; None wakes the table for any other reason."""
        self._taken: list[tuple[int, Answer]] = []
        """Answers taken from ``_calls`` and not sent yet."""
        self._stop = threading.Event()
        self._together = together
        self._asked: set[int] = set()
        """The seats that want the next game."""
        self._reseeded: int | None = None
        """The master seed from which the next game starts."""
        self._failure: str | None = None
        self._ready = False
        self._begun = 0
        self._spaces: list[Any] = []
        self._thread = threading.Thread(target=self._run, name="table", daemon=True)
        self._thread.start()
        with self._changed:
            ready = self._changed.wait_for(self._is_ready, START)
        if self._failure is not None or not ready:
            self.close()
            raise DovetailError(self._failure or f"the game did not begin within {START:g} s")

    @property
    def seats(self) -> list[int]:
        """The open seats."""
        return list(self._players)

    @property
    def failed(self) -> bool:
        """True once the table has failed or is closed; every call is then refused."""
        return self._failure is not None

    def spaces(self) -> dict[int, Any]:
        """Return each open seat's action space; None if it is unknown before a game."""
        listed = self._spaces
        return {
            each: (listed[each] if len(listed) > 1 else listed[0]) if listed else None
            for each in self.seats
        }

    # -- what callers do ---------------------------------------------------------------------------

    def rules(self, seat: int) -> dict[str, Any]:
        """Return the game's rules and the seat's place in it, as told to a caller before play."""
        player = self._player(seat)
        with self._changed:
            seated = player.seated
        assert seated is not None
        found: dict[str, Any] = {"game": seated.spec.name, "seat": seat, "seats": seated.spec.seats}
        if self.description:
            found["description"] = self.description
        if self.rules_of_game:
            found["rules"] = self.rules_of_game
        found["about"] = about(seated.spec, seat)
        if self._clock is not None:
            found["seconds_for_a_decision"] = self._clock
        return found

    def observe(self, seat: int, wait: float = 0.0) -> dict[str, Any]:
        """Return what a seat sees as soon as it must act, its game is over, or ``wait`` seconds
        passed.

        Raises:
            CallRefused: the table has failed.
        """
        player = self._player(seat)
        with self._changed:
            self._changed.wait_for(
                lambda: player.decision or player.ended or self._failure is not None, wait
            )
            self._check()
            return self._view(player)

    def act(self, seat: int, action: Any, turn: int, *, force: bool = False) -> None:
        """Answer a seat's decision.

        Args:
            action: a legal action or its label in the game.
            turn: the number of the turn being answered.
            force: if true, pass on an illegal action as well; the run's ``on_illegal`` then
                applies.

        Raises:
            CallRefused: it is not this seat's turn, the turn is over, or the action is not legal.
        """
        player = self._player(seat)
        with self._changed:
            self._check()
            decision = player.decision
            if decision is None:
                over = player.ended is not None
                text = "the game is over" if over else "it is not your turn; call observe and wait"
                raise CallRefused(text)
            if turn != decision.turn:
                raise CallRefused(
                    f"turn {turn} is not in progress; turn {decision.turn} is. Call observe first"
                )
            action = chosen(decision, action)
            if not is_legal(decision, action) and not force:
                player.refused += 1
                raise CallRefused(f"{str(action)[:60]!r} is not legal; {self._allowed(decision)}")
            # The broker must see that it is illegal: an agent that crashes has not lost.
            self._calls.put((seat, player.act(action if travels(action) else None)))

    def resign(self, seat: int) -> None:
        """Resign, now or when the seat must next act.

        Raises:
            CallRefused: the game is over.
        """
        player = self._player(seat)
        with self._changed:
            self._check()
            if player.ended is not None:
                raise CallRefused("the game is over")
            answer = player.resign()
            if answer is not None:
                self._calls.put((seat, answer))

    def again(self, seat: int, *, seed: int | None = None, wait: float = START) -> bool:
        """Ask for the next game; return true if it started within ``wait`` seconds.

        Args:
            seed: the master seed of the next games; the first seat to name one decides.
            wait: maximum seconds to wait.

        Raises:
            CallRefused: the current game is not over, or it was the last.
        """
        player = self._player(seat)
        with self._changed:
            self._check()
            if player.game and player.ended is None:
                raise CallRefused("this game is not over; finish it, or resign")
            if self._begun >= self.games:
                raise CallRefused(f"all games are played ({self.games})")
            number = player.game
            self._asked.add(seat)
            if seed is not None and self._reseeded is None:
                self._reseeded = seed
            self._calls.put(None)
            self._changed.wait_for(lambda: player.game > number or self._failure is not None, wait)
            self._check()
            return player.game > number

    def look(self, seat: int, *, since: int = 0) -> tuple[int, Decision | None, End | None]:
        """Return the number of a seat's game, its decision, and the game's end if it is over.

        Args:
            since: ignore the ends of games numbered ``since`` or lower.

        Raises:
            CallRefused: the table has failed.
        """
        player = self._player(seat)
        with self._changed:
            self._check()
            return player.game, player.decision, player.ended if player.game > since else None

    @contextmanager
    def watch(self, seat: int, told: Callable[[], None]) -> Iterator[None]:
        """Call ``told`` from the table's thread whenever a seat's state changes, within the
        context."""
        with self._changed:
            self._watchers.append((seat, told))
        try:
            yield
        finally:
            with self._changed:
                self._watchers.remove((seat, told))

    def _tell(self, *seats: int) -> None:
        """Wake callers that wait for seats; called with the lock free, so that they can take it."""
        with self._changed:
            self._changed.notify_all()
            watchers = [told for seat, told in self._watchers if seat in seats]
        for told in watchers:
            told()

    def close(self) -> None:
        """End the game and leave."""
        self._stop.set()
        self._calls.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(START)

    def _player(self, seat: int) -> _Player:
        if seat not in self._players:
            raise CallRefused(
                f"seat {seat} is not open; open are {', '.join(map(str, self.seats))}"
            )
        return self._players[seat]

    def _check(self) -> None:
        if self._failure is not None:
            raise CallRefused(self._failure)

    def _is_ready(self) -> bool:
        seated = all(each.seated is not None for each in self._players.values())
        return (self._ready if self._together else seated) or self._failure is not None

    def _allowed(self, decision: Decision) -> str:
        listed = choices(decision)
        if listed is None:
            return "see the action space that rules names"
        names = [
            f"{each.action} ({each.label})" if each.label else str(each.action) for each in listed
        ]
        more = total(decision) - 20
        return "legal actions: " + ", ".join(names[:20]) + (f" and {more} more" if more > 0 else "")

    def _view(self, player: _Player) -> dict[str, Any]:
        found: dict[str, Any] = {"seat": player.number, "game": player.game, "games": self.games}
        if player.previous is not None:
            found["previous_game"], player.previous = player.previous, None
        decision, end = player.decision, player.ended
        if end is not None:
            shown = position(end.text, end.observation)
            return found | {"over": True, "position": shown} | result(player, end)
        found |= {"over": False, "your_turn": decision is not None}
        if decision is None:
            return found
        found["turn"] = decision.turn
        found["position"] = position(decision.text, decision.observation)
        found["reward_since_your_last_action"] = decision.reward
        listed = choices(decision)
        if listed is not None:
            found["legal_actions"] = [
                {"action": each.action, "name": each.label}
                if each.label
                else {"action": each.action}
                for each in listed
            ]
            more = total(decision) - len(listed)
            if more > 0:
                found["legal_actions_left_out"] = more
        return found

    # -- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with ExitStack() as stack:
                self._play(stack)
        except (DovetailError, ModuleNotFoundError) as error:
            self._fail(absent(error) or str(error))
        except Exception as error:
            self._fail(f"the table failed: {type(error).__name__}: {' '.join(str(error).split())}")
            raise
        finally:
            self._fail("the table is closed")

    def _fail(self, text: str) -> None:
        with self._changed:
            if self._failure is None:
                self._failure = text
        self._tell(*self.seats)

    def _play(self, stack: ExitStack) -> None:
        experiment, game, others = stack.enter_context(self._place())
        for each in experiment.catalogue()["environments"]:
            if each["name"] == game and self._connect is None:  # else others wrote it
                self.description = str(each.get("description") or "")[:1000]
        hosts: dict[int, tuple[BrokerConnection, AgentHost]] = {}
        agents: list[int | str] = []
        waiting = iter(others)
        for seat in range(len(self._players) + len(others)):
            if seat in self._players:
                name = f"{experiment.name}-seat-{seat}"
                host = AgentHost(single=self._players[seat], name=name)
                link = experiment.join(hello("agent", offers=host.offers()))
                stack.callback(_leave, link)
                hosts[seat] = link, host
                agents.append(name)
            else:
                agents.append(self._create(experiment, next(waiting), seat))
        self._attend(hosts)
        self._ready = True
        self._tell(*self.seats)
        index = 0
        while self._begun < self.games:
            if self._begun or self._together:
                while not self._wanted():
                    if self._stop.is_set():
                        return
                    self._idle(experiment, hosts)
            with self._changed:
                self._asked.clear()
                if self._reseeded is not None:
                    self._seed, self._reseeded, index = self._reseeded, None, 0
                self._begun += 1
            run = experiment.run(
                game,
                agents,
                configuration=self._configuration,
                episodes=1,
                first_index=index,
                seed=self._seed,
                mode="evaluate",
                retries=0,
                answer_timeout=None,
                lookahead=True,
                check=not index,  # the first game, as stages do
                clock={"decision": self._clock} if self._clock is not None else {},
                on_timeout=self._on_timeout,
            )
            index += 1
            while not self._stop.is_set():
                busy = self._send(hosts)
                ended = run.poll(0.0)
                if ended is None:
                    break
                for each in ended:
                    if each.message and not each.scored:
                        log.warning("%s: game %d: %s", game, self._begun, each.message)
                busy = self._attend(hosts) or busy
                self._rest(busy)
            self._finish(hosts)
        while not self._stop.is_set():  # the last result can still be seen
            self._idle(experiment, hosts)

    def _wanted(self) -> bool:
        with self._changed:
            return len(self._asked) >= (len(self._players) if self._together else 1)

    def _rest(self, busy: bool) -> None:
        """Wait for a caller if one must act; else wait briefly for the broker, unless it was
        busy."""
        with self._changed:
            owing = any(each.decision is not None for each in self._players.values())
        if owing or not busy:
            self._wait(PULSE if owing else BRIEF)

    def _wait(self, seconds: float) -> None:
        """Wait for a caller."""
        with suppress(queue.Empty):
            call = self._calls.get(timeout=seconds)
            if call is not None:
                self._taken.append(call)

    def _idle(self, experiment: Experiment, hosts: Hosts) -> None:
        """Keep the connections alive between games until a caller makes a request."""
        self._wait(PULSE)
        experiment.wait(0.0)
        self._attend(hosts)

    def _finish(self, hosts: Hosts) -> None:
        """Wait until every open seat has been told of the end."""
        limit = time.monotonic() + 5.0
        while not self._stop.is_set():
            self._attend(hosts)
            with self._changed:
                if all(each.ended is not None for each in self._players.values()):
                    return
            if time.monotonic() > limit:
                raise DovetailError("the game ended, but an open seat did not hear of it")
            self._stop.wait(0.001)

    def _attend(self, hosts: Hosts) -> bool:
        """Handle the broker's messages to the open seats; return true if there were any."""
        heard = []
        for seat, (link, host) in hosts.items():
            messages = link.receive(0.0)  # in this program, agents think in here
            if messages:
                with self._changed:
                    answers = host.handle(messages)
                if answers:
                    link.send(answers)
                heard.append(seat)
        if heard:
            self._tell(*heard)
        return bool(heard)

    def _send(self, hosts: Hosts) -> bool:
        """Send the callers' answers; return true if there were any."""
        with suppress(queue.Empty):
            while True:
                call = self._calls.get_nowait()
                if call is not None:
                    self._taken.append(call)
        calls, self._taken = self._taken, []
        for seat, answer in calls:
            link, host = hosts[seat]
            link.send(host.answer(*answer))
        return bool(calls)

    def _create(self, experiment: Experiment, name: str, seat: int) -> int | str:
        for each in experiment.catalogue()["agents"]:
            if each["name"] == name and each.get("instance"):
                return name
        seed = derive(self._seed, "opponent", seat)
        return experiment.create(name, seed=seed, parameters=self._parameters)

    @contextmanager
    def _place(self) -> Iterator[tuple[Experiment, str, list[str]]]:
        """Yield an experiment, the game's name in it, and the agents of the seats that are not
        open."""
        if self._connect is not None:
            with Experiment.connect(self._connect, token=self._token) as experiment:
                experiment.catalogue()  # brings the experiment's name
                yield experiment, self.game, self._others(None)
            return
        from dovetail.client.inprocess import InProcess
        from dovetail.peer.registry import type_name

        given = f"environment {self.game}"
        kind = preset(plugins.find("environment", self.game), self._configuration, given)
        read = options.read(kind.Configuration, self._configuration, given)
        spec = declared(kind(read))
        self._spaces = list(spec.action_spaces or ())
        others = self._others(spec.seats)
        kinds = {
            name: preset(plugins.find("agent", name), self._parameters, f"agent {name}")
            for name in dict.fromkeys(others)
        }
        with InProcess([kind], list(dict.fromkeys(kinds.values()))) as experiment:
            experiment.catalogue()
            yield experiment, type_name(kind), [type_name(kinds[name]) for name in others]

    def _others(self, count: int | None) -> list[str]:
        """Return an agent for each seat that is not open.

        Args:
            count: the number of seats; None if only the broker knows it.
        """
        against, open_ = self._against, len(self._players)
        if count is None:
            count = max(max(self._players) + 1, open_ + len(against))
        if max(self._players) >= count:
            raise DovetailError(
                f"seat {max(self._players)} does not exist; {self.game} has {count} seats"
            )
        missing = count - open_
        if len(against) == 1:
            return against * missing
        if len(against) != missing:
            raise DovetailError(
                f"{self.game} has {count} seats, {open_} of them open; name {missing} agents with "
                f"--against, not {len(against)}"
            )
        return against


def result(player: _Player, end: End) -> dict[str, Any]:
    """Return a game's result for a seat, without any text that another player wrote."""
    found: dict[str, Any] = {"return": end.total, "reason": end.reason}
    if end.outcome is not None and len(end.outcome) > 1:
        mine, best = end.outcome[player.number], max(end.outcome)
        shared = end.outcome.count(best) > 1
        found["result"] = "lost" if mine < best else "drawn" if shared else "won"
    if player.resigned and end.blame == player.number:
        found["reason"] = "resigned"
    elif end.blame is not None:
        found["seat_at_fault"] = end.blame
    return found


def _leave(link: BrokerConnection) -> None:
    with suppress(DovetailError):
        link.close()
