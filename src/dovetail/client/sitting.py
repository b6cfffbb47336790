"""``Sitting``: a seat in the caller's own loop, with Gymnasium's ``reset``, ``step`` and ``close``.

>>> from dovetail.client.sitting import sit
>>> with sit("connect_four", against="random", seed=1) as game:
...     observation, info = game.reset()
...     while not info["over"]:
...         observation, reward, terminated, truncated, info = game.step(info["legal"][0])
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Literal, SupportsIndex, get_args

from msgspec import Struct

from dovetail.client.client import Experiment, RunHandle
from dovetail.peer import coercion as given
from dovetail.peer import options, plugins
from dovetail.peer.agents.agent import Agent, Decision, End
from dovetail.peer.agents.agent import Seat as Seated
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.agents.remote_seat import RemoteAgent
from dovetail.peer.closing import Closing
from dovetail.peer.presets import declared
from dovetail.peer.registry import type_name
from dovetail.peer.session import hello
from dovetail.peer.validation_messages import among
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, IllegalAction
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Space

EPISODES = 1 << 40
"""Effectively unlimited; the caller ends the run."""
WAIT = 0.5
"""Maximum wait for one message, in seconds."""
RETURN = 30.0
"""Seconds to wait for a lost seat to come back."""
Illegal = Literal["raise", "forfeit", "random", "truncate"]

_numbers = itertools.count(1)


class Opponent(Struct, frozen=True):
    """An agent for another seat."""

    agent: str
    """The agent type."""
    parameters: dict[str, Any] = {}
    """The agent's options by name; the others keep their defaults."""
    seed: int | None = None
    """The seed of its choices outside episodes; None derives it from the sitting's seed and the
    opponent's position."""
    state: bytes | None = None
    """A saved state to begin from."""


class Sitting(Closing):
    """A seat in a game, played from the caller's own loop.

    ``reset`` begins an episode at any time; an episode in progress is truncated without an outcome.
    The episodes have the same seeds as those of a run with the same master seed.

    Args:
        experiment: the experiment that plays the game.
        game: the name of an offered environment.
        against: the opponents; see ``Experiment.sit``.
        seat: this seat's number, or ``"alternate"`` to take the next seat in each episode; the
            episodes of one full rotation share an environment seed.
        configuration: options of the environment.
        seed: the master seed of the episodes.
        mode: whether the opponents may learn.
        illegal: ``raise`` raises IllegalAction and leaves the decision open; other values are those
            of the run's ``on_illegal``.
        wants: ``text``, ``scene`` and ``afterstates``: extra entries for ``info``.
        max_turns: the turn after which an episode is truncated.
        patience: seconds to wait for environment and opponents; None waits forever.  The caller's
            own time has no limit.
        check: whether to check observations, legal actions and rewards against the game's
            declarations; None checks the first episode only.
        name: this seat's name in results and the journal; unique at the broker.

    Raises:
        DovetailError: the game or an opponent does not exist, or the options are invalid.
    """

    def __init__(
        self,
        experiment: Experiment,
        game: str,
        against: Opponent | int | str | Sequence[Opponent | int | str] | None = None,
        *,
        seat: int | Literal["alternate"] = 0,
        configuration: dict[str, Any] | None = None,
        seed: int = 0,
        mode: m.Mode = "evaluate",
        illegal: Illegal = "raise",
        wants: Sequence[m.Want] = (),
        max_turns: int | None = None,
        patience: float | None = 60.0,
        check: bool | None = None,
        name: str = "",
    ) -> None:
        _among("illegal", illegal, get_args(Illegal))
        _among("mode", mode, get_args(m.Mode))
        if seat != "alternate" and not isinstance(seat, SupportsIndex):
            raise DovetailError(
                f"seat {seat!r} does not exist; give a number, from 0, or 'alternate'"
            )
        self.experiment = experiment
        self.game = game
        self.result: m.Episode | None = None
        """The result of the last finished episode."""
        self._place = ExitStack()
        """Closes the broker or connection that was made for this sitting."""
        self._closing = ExitStack()
        self._configuration = dict(configuration or {})
        self._options: dict[str, Any] = {
            "mode": mode,
            "on_illegal": "forfeit" if illegal == "raise" else illegal,
            "max_turns": max_turns,
            "check": check,
            "rotate": seat == "alternate",
        }
        self._illegal = illegal
        self._patience = patience
        self._run: RunHandle | None = None
        self._posted: int | None = None
        """The request that the next turn will answer."""
        self._episode: int | None = None
        self._awaited = False
        """True if this seat is to act in the turn in progress."""
        self._over = True
        self._seed = seed
        self._first = 0
        """The index of the next episode."""
        self._begun = True
        """True if no ``reset`` asked for the episode in progress."""
        experiment.catalogue()  # brings the experiment's name
        self._sitter: RemoteAgent = type("Sitter", (RemoteAgent,), {"wants": tuple(wants)})()
        self._name = name or f"{experiment.name}-seat-{next(_numbers)}"
        self._host = AgentHost(single=self._sitter, name=self._name)
        self._link = experiment.join(hello("agent", offers=self._host.offers()))
        try:
            self._attend(0.0)
            self._agents = self._seat(against, seat)
            # The first episode begins here, since its ``init`` brings the spec.
            self._run = self._begin()
            self._start()
            self._until(lambda: self._sitter.seated is not None)
        except BaseException:
            self.close()
            raise

    # -- properties ------------------------------------------------------------------------------

    @property
    def spec(self) -> m.Spec:
        """The environment's description of the game."""
        return self._seated().spec

    @property
    def seat(self) -> int:
        """This seat's number in the current episode."""
        return self._seated().seat

    @property
    def observation_space(self) -> Space:
        """The space of this seat's observations."""
        return self.spec.observation_space(self.seat)

    @property
    def action_space(self) -> Space:
        """The space of this seat's actions."""
        return self.spec.action_space(self.seat)

    @property
    def decision(self) -> Decision | None:
        """The decision that ``step`` will answer; None if the episode is over."""
        return self._sitter.decision

    @property
    def end(self) -> End | None:
        """The end of the last episode."""
        return self._sitter.ended

    # -- the loop --------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; return the first observation and ``info``.

        If the episode ends before the seat must act, ``info["over"]`` is true; ``step`` then
        returns the end, whatever the action.

        Args:
            seed: the master seed of this and the following episodes; None continues.

        Raises:
            DovetailError: the episode was interrupted, or the broker is gone.
        """
        self._attend(0.0)
        self.experiment.wait(0.0)
        begun, self._begun = self._begun and self._run is not None, False
        if not begun or (seed is not None and seed != self._seed) or self._lost():
            if seed is not None:
                self._seed, self._first = seed, 0
            if seed is not None or self._lost():
                if self._lost():
                    self._return()
                self._leave()
                self._run = self._begin()
            self._start()
        self._advance()
        seen = self._sitter.decision or self._sitter.ended
        assert seen is not None
        return seen.observation, self._info()

    @property
    def place(self) -> tuple[int, int]:
        """The master seed of the episodes, and the index of the current one."""
        return self._seed, self._first - 1

    def seek(self, seed: int, index: int) -> tuple[Any, dict[str, Any]]:
        """Begin the episode with an index under a master seed, as ``reset`` does.

        Raises:
            DovetailError: the episode was interrupted, or the broker is gone.
        """
        self._leave()
        self._seed, self._first = seed, index
        self._run, self._begun = self._begin(), True
        self._start()
        return self.reset()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act, and continue to the seat's next decision or the end of the episode.

        Returns:
            Observation, reward (the sum since the last decision, opponents' turns included),
            terminated, truncated, info.

        Raises:
            IllegalAction: the action is not legal and ``illegal`` is ``raise``; answer again.
            DovetailError: there is nothing to answer, or the episode was interrupted.
        """
        decision = self._sitter.decision
        if self._begun:
            raise DovetailError("no episode has begun; call reset first")
        if decision is None:
            if self._over:
                raise DovetailError("the episode is over; call reset first")
        else:
            legal = decision.legal
            action = given.action(action, self.action_space, listed=legal is not None)
            if self._illegal == "raise":
                self._check(decision, action)
            self._link.send(self._host.answer(*self._sitter.act(action)))
            self._awaited = False
            self._advance()
        following, end = self._sitter.decision, self._sitter.ended
        if following is not None:
            return following.observation, following.reward, False, False, self._info()
        if end is None:
            raise DovetailError("this game is closed; open another")
        self._over = True
        cut = end.reason == "truncated"
        return end.observation, end.reward, not cut, cut, self._info()

    def message(self, body: Any) -> Any:
        """Send a message to the environment; return its answer."""
        if self._run is None or self._lost():
            raise DovetailError("the game takes messages between reset and close")
        return self._run.message(body)

    def close(self) -> None:
        """Leave the game; an episode in progress is cancelled."""
        with self._place, self._closing, suppress(DovetailError):  # the broker may be gone
            self._leave()
            self._link.close()

    # -- internals -------------------------------------------------------------------------------

    def _seat(
        self,
        against: Opponent | int | str | Sequence[Opponent | int | str] | None,
        seat: int | Literal["alternate"],
    ) -> list[int | str]:
        """Create the opponents; return the agents by seat."""
        if against is None:
            others: list[Opponent | int | str] = []
        elif isinstance(against, Opponent | int | str):
            others = [against] * (self._seat_count() - 1)
        else:
            others = list(against)
        number = 0 if seat == "alternate" else seat
        if not 0 <= number <= len(others):
            raise DovetailError(
                f"seat {number} does not exist: with {len(others)} opponents the seats are 0 to "
                f"{len(others)}"
            )
        return [
            self._name if other is None else self._opponent(place, other)
            for place, other in enumerate([*others[:number], None, *others[number:]])
        ]

    def _opponent(self, place: int, other: Opponent | int | str) -> int | str:
        if isinstance(other, int):
            return other
        offers = {each["name"]: each for each in self.experiment.catalogue()["agents"]}
        given = Opponent(other) if isinstance(other, str) else other
        if offers.get(given.agent, {}).get("instance"):
            return given.agent
        seed = derive(self._seed, "opponent", place) if given.seed is None else given.seed
        number = self.experiment.create(
            given.agent, seed=seed, parameters=given.parameters, state=given.state
        )
        self._closing.callback(self._dismiss, number)
        return number

    def _dismiss(self, number: int) -> None:
        with suppress(DovetailError):  # it may have gone before us
            self.experiment.cleanup(number)

    def _seat_count(self) -> int:
        """Return the game's number of seats if this program knows it, otherwise two."""
        for each in self.experiment.catalogue()["environments"]:
            counts: list[int] = each.get("seats") or []
            if each["name"] == self.game and len(counts) == 1:
                return counts[0]
        if self.game not in plugins.names("environment"):
            return 2
        kind = plugins.find("environment", self.game)
        return _seats(kind, self._configuration)

    def _begin(self) -> RunHandle:
        """Start a run at the next episode's index."""
        return self.experiment.run(
            self.game,
            self._agents,
            configuration=self._configuration,
            episodes=EPISODES,
            first_index=self._first,
            seed=self._seed,
            stepwise=True,
            texts=False,
            retries=0,
            answer_timeout=None,
            **self._options,
        )

    def _lost(self) -> bool:
        """Return whether the run is over, such as after a long break without heartbeats."""
        return self._run is None or self._run.done is not None

    def _return(self) -> None:
        """Wait until the broker knows the seat again, which may have been lost with its run."""
        end = time.monotonic() + RETURN
        while all(each["name"] != self._name for each in self.experiment.catalogue()["agents"]):
            if time.monotonic() > end:
                raise DovetailError(f"the broker has not seated {self._name} again; sit down again")
            self._attend(0.1)

    def _start(self) -> None:
        assert self._run is not None
        self._forget()
        self._sitter.ended = None
        self._over = False
        self._episode, self._awaited = None, False
        self._first += 1
        self._posted = self.experiment.post(m.ExperimentStart(0, self._run.number, abandon=True))

    def _leave(self) -> None:
        run, self._run = self._run, None
        self._forget()
        if run is not None and run.done is None:
            run.cancel()
        self._sitter.decision = None

    def _forget(self) -> None:
        if self._posted is not None:
            self.experiment.forget(self._posted)
            self._posted = None

    def _advance(self) -> None:
        self._until(self._settled)
        assert self._run is not None
        for each in self._run.take():
            self.result = each
        end = self._sitter.ended
        if self._sitter.decision is None and end is not None and end.interrupted:
            self._over = True
            raise DovetailError(f"the episode was interrupted: {self._why()}")

    def _settled(self) -> bool:
        number, sitter = self._episode, self._sitter
        if number is None:
            return False
        if sitter.decision is not None and sitter.decision.episode == number:
            return True
        return sitter.ended is not None and sitter.ended.episode == number

    def _until(self, reached: Callable[[], bool]) -> None:
        limit = None if self._patience is None else time.monotonic() + self._patience
        while not reached():
            if self._posted is not None:
                answer = self.experiment.answer(self._posted)
                if answer is not None:
                    self._posted = None
                    self._answered(answer)
                    continue
            if self._posted is None or self._awaited:
                came = self._attend(WAIT)
                self.experiment.wait(0.0)
            else:
                self.experiment.wait(WAIT)
                came = self._attend(0.0)
            if not came and limit is not None and time.monotonic() > limit:
                raise DovetailError(
                    f"no answer of the game or an opponent within {self._patience:g} s; reset "
                    "begins again"
                )

    def _answered(self, answer: m.Message) -> None:
        """Handle the answer to ``start`` or ``step``: the next turn, or an error."""
        assert self._run is not None
        if isinstance(answer, m.Error):
            if self._episode is None:
                raise DovetailError(self._failure(answer.message))
            return  # the seat hears the end
        assert isinstance(answer, m.Reply)
        turn = self._run.turn(answer.body)
        self._episode = turn.episode
        if turn.to_act:
            self._awaited = any(turn.agents[seat] == self._name for seat in turn.to_act)
            self._posted = self.experiment.post(m.ExperimentStep(0, self._run.number))

    def _failure(self, text: str) -> str:
        """Return why the run or its episode could not begin."""
        assert self._run is not None
        end = time.monotonic() + 1.0
        while self._run.done is None and text == "the run is over" and time.monotonic() < end:
            self.experiment.wait(0.05)
        done = self._run.done
        return text if done is None or not done.message else done.message

    def _why(self) -> str:
        number = self._episode
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            if self._run is not None:
                for each in self._run.take():
                    self.result = each
            if self.result is not None and self.result.episode == number:
                return self.result.message or self.result.reason
            self.experiment.wait(0.05)
        assert self._sitter.ended is not None
        return self._sitter.ended.reason

    def _attend(self, timeout: float) -> bool:
        """Handle the broker's messages for the seat; return whether there were any."""
        messages = self._link.receive(timeout)
        if messages:
            answers = self._host.handle(messages)
            if answers:
                self._link.send(answers)
        return bool(messages)

    def _check(self, decision: Decision, action: Any) -> None:
        legal = decision.legal
        if legal is not None:
            fine = type(action) is int and action in legal
            what = ", ".join(map(str, legal[:10])) + (", ..." if len(legal) > 10 else "")
        else:
            fine, what = self.action_space.contains(action), "any action of the space"
        if not fine:
            self._sitter.refused += 1
            raise IllegalAction(f"action {action!r} is not legal; legal: {what}", self.seat)

    def _info(self) -> dict[str, Any]:
        """Return ``info``: everything about the decision or the end that ``step`` does not return
        itself."""
        decision, end = self._sitter.decision, self._sitter.ended
        seen = decision or end
        assert seen is not None
        info: dict[str, Any] = {"over": decision is None, "seat": seen.seat.seat}
        info["episode"] = seen.episode
        if decision is not None:
            info |= {"turn": decision.turn, "legal": decision.legal}
        elif end is not None:
            info |= {"legal": None, "reason": end.reason, "blame": end.blame}
            info |= {"outcome": end.outcome, "return": end.total, "decisions": end.decisions}
        return info | {key: getattr(seen, key, None) for key in self._sitter.wants}

    def _seated(self) -> Seated:
        assert self._sitter.seated is not None
        return self._sitter.seated


def _among(option: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        there = f"{', '.join(choices[:-1])} and {choices[-1]}"
        raise DovetailError(
            f"{option} {value!r} does not exist{among(str(value), choices, f'there are {there}')}"
        )


def sit(
    game: str | type[Any],
    against: Any = None,
    *,
    connect: str | None = None,
    token: str | None = None,
    register: Sequence[str] = (),
    **more: Any,
) -> Sitting:
    """Take a seat in a game, in this program or at a broker.

    Args:
        game: an environment class, or a name as for ``dovetail env``; with ``connect``, the name of
            an offered environment.
        against: the opponents, one per other seat or one for all: names as for ``dovetail agent``,
            agent classes, ``Agent`` objects or ``Opponent``.  None in games of one seat.
        connect: the broker's address; None plays in this program.
        token: the broker's access token.
        register: objects that parameters may name, in the form of ``dovetail agent --register``.
        more: the other arguments of ``Sitting``.

    Raises:
        DovetailError: the game or an opponent does not exist, or the options are invalid.
    """
    if connect is not None:
        experiment = Experiment.connect(connect, token=token)
        name = game if isinstance(game, str) else type_name(game)
        try:
            sitting = Sitting(experiment, name, against, **more)
        except BaseException:
            experiment.close()
            raise
        sitting._place.callback(experiment.close)
        return sitting

    from dovetail.client.inprocess import InProcess

    for each in register:
        plugins.register(each)
    kind = plugins.find("environment", game) if isinstance(game, str) else game
    alone = against is None or isinstance(against, str | Opponent | Agent | type)
    others = [] if against is None else [against] if alone else list(against)
    offered: dict[str, type[Agent] | Agent] = {}
    named = [_rival(each, offered) for each in others]
    if alone and named:
        named = named * (_seats(kind, more.get("configuration")) - 1)
    place = InProcess([kind], list(offered.values()))
    try:
        sitting = Sitting(place.experiment(), type_name(kind), named or None, **more)
    except BaseException:
        place.close()
        raise
    sitting._place.callback(place.close)
    return sitting


def _rival(given: Any, offered: dict[str, type[Agent] | Agent]) -> Opponent:
    """Add an opponent's class or object to the offers; return the opponent by name."""
    named = given if isinstance(given, Opponent) else None
    kind = given
    if not isinstance(given, Agent | type):
        kind = plugins.find("agent", named.agent if named is not None else str(given))
    name = type_name(type(kind) if isinstance(kind, Agent) else kind)
    if offered.setdefault(name, kind) is not kind:
        raise DovetailError(f"two opponents are called {name!r}; give each class its own name")
    if named is None:
        return Opponent(name)
    return Opponent(name, named.parameters, named.seed, named.state)


def _seats(kind: type[Any], configuration: dict[str, Any] | None) -> int:
    read = options.read(kind.Configuration, dict(configuration or {}), type_name(kind))
    return int(declared(kind(read)).seats)
