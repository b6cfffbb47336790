"""``Experiment``: run control as a peer of the broker.

>>> with Experiment.connect() as experiment:
...     learner = experiment.create("td", seed=1, parameters={"hidden": 64})
...     other = experiment.create("random")
...     for episode in experiment.run("connect_four", [learner, other], episodes=100):
...         print(episode.index, episode.outcome)
"""

from __future__ import annotations

import itertools
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import msgspec
from msgspec import structs

from dovetail.client.progress_line import Ticker
from dovetail.client.replies import CatalogueBody, body_of, numbered
from dovetail.client.results import ClockPart, Results, unplayed
from dovetail.client.run_options import RunOptions
from dovetail.peer import options, plugins
from dovetail.peer.address import broker
from dovetail.peer.broker_watchdog import GIVE_UP
from dovetail.peer.closing import Closing
from dovetail.peer.coercion import plain, unsendable
from dovetail.peer.inbox import Inbox
from dovetail.peer.link import Link
from dovetail.peer.one_line_exit import in_one_line
from dovetail.peer.session import hello
from dovetail.peer.validation_messages import meant
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError, Refused
from dovetail.transport.keys import Key

if TYPE_CHECKING:
    from dovetail.client.sitting import Opponent, Sitting

_log = logging.getLogger("dovetail")

NAP = 0.002
"""Seconds that an asynchronous iterator sleeps between polls."""
FORGOT = "restarted, or was out of touch with this experiment for too long"
GUESSED = 1 << 48
"""Seeds below this can be found by trying all of them."""
TIMEOUT = 120.0
"""Seconds after which a request of an agent or environment fails."""
PROBLEMS = 1_000
"""Errors that a run keeps."""
LISTED = 30
"""Maximum number of offered names that an error lists or searches for a similar one."""


class BrokerConnection(Protocol):
    """The connection that an experiment needs, over a socket or in process."""

    @property
    def departed(self) -> bool:
        """Return whether the broker has sent ``bye``."""

    def send(self, messages: Sequence[m.Message]) -> None:
        """Send messages to the broker."""

    def receive(self, timeout: float | None) -> list[m.Message]:
        """Return the messages received, waiting up to ``timeout`` seconds for the first."""

    def join(self, hello: m.Hello) -> BrokerConnection:
        """Return another connection to the same broker, for a peer that says ``hello``."""

    def close(self) -> None:
        """Close the connection."""


class RunFailed(DovetailError):
    """A run that ended early; ``code`` is one of SPEC.md's error codes, or one of a later
    version."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, str(self))


class AgentHandle(int):
    """An agent's number at the broker, with methods to save, load, message and release it.

    >>> agent = experiment.create("td", seed=1)  # doctest: +SKIP
    >>> state = agent.save()  # doctest: +SKIP
    """

    agent: str
    """The agent type."""
    _experiment: Experiment

    @classmethod
    def of(cls, number: int, agent: str, experiment: Experiment) -> AgentHandle:
        """Return the handle of an instance."""
        made = cls(number)
        made.agent = agent
        made._experiment = experiment
        return made

    def save(self, state_name: str | None = None) -> bytes:
        """Return the agent's state; with ``state_name`` also store it at the broker."""
        return self._experiment.save(self, state_name)

    def load(self, state: bytes = b"", state_name: str | None = None) -> None:
        """Load a state: the bytes ``state``, or the one stored as ``state_name``."""
        self._experiment.load(self, state, state_name)

    def message(self, body: Any) -> Any:
        """Send the agent a message; return its answer."""
        return self._experiment.message(self, body)

    def cleanup(self) -> None:
        """Release the agent; it cannot be used afterwards."""
        self._experiment.cleanup(self)

    def __repr__(self) -> str:
        return f"<{self.agent}, instance {int(self)}>"

    def __str__(self) -> str:
        return str(int(self))

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


class RunHandle:
    """A run in progress: iterate over it for the results, in the order in which episodes end.

    Leaving the loop early, by ``break``, an exception or an interrupt, cancels the run; ``poll``
    and ``take`` return results and leave it as it is.
    """

    def __init__(self, experiment: Experiment, number: int, asked: m.Run) -> None:
        self.number = number
        self.asked = asked
        self.progress = m.Progress(number, 0, 0, asked.episodes)
        self.done: m.Done | None = None
        """The final message about the run, once it has ended."""
        self.problems: deque[str] = deque(maxlen=PROBLEMS)
        """The latest errors, one line each."""
        self._experiment = experiment
        self._asked_for = ""
        """The reason for which this experiment ended the run; empty if it did not."""
        self._results: deque[m.Episode] = deque()
        self._ended = 0
        self._waited_for = ""
        """The last ``waiting`` line shown."""

    def __repr__(self) -> str:
        state = "in progress" if self.done is None else self.done.reason
        progress = f"{self.progress.finished} of {self.asked.episodes} episodes"
        return f"<Run {self.number} of {self.asked.environment}: {state}, {progress}>"

    async def __aiter__(self) -> AsyncIterator[m.Episode]:
        """Like ``__iter__``, without blocking the event loop."""
        import asyncio

        try:
            while (results := self.poll(0.0)) is not None:
                for each in results:
                    yield each
                await asyncio.sleep(0 if results else NAP)
        except BaseException:
            self._leave()
            raise

    async def finished(self) -> Results:
        """Return all results once the run is over, without blocking the event loop."""
        return self._played(Results([each async for each in self]))

    def __iter__(self) -> Iterator[m.Episode]:
        """Yield the result of each episode as it arrives; interrupted ones have ``scored`` False.

        A loop that is left before the last result cancels the run.

        Raises:
            DovetailError: the run failed, or the broker is gone.
        """
        try:
            while (results := self.poll()) is not None:
                yield from results
        except BaseException:  # among them GeneratorExit, after ``break``
            self._leave()
            raise

    def _leave(self) -> None:
        """Cancel a run whose results are no longer read."""
        if self.done is None:
            self._asked_for = "cancelled"
            self._experiment.abandon(self.number)

    def poll(self, timeout: float | None = None) -> list[m.Episode] | None:
        """Return the results received, waiting briefly for the first; None after the last.

        Raises:
            DovetailError: the run failed, or the broker is gone.
        """
        if not self._results and self.done is None:
            self._experiment.wait(timeout)
        if self._results:
            return self.take()
        if self.done is None:
            return []
        if self.done.reason == "failed":
            raise RunFailed(self.done.code, f"the run failed: {line(self.done.message)}")
        if self.done.reason not in ("finished", self._asked_for):
            why = f": {line(self.done.message)}" if self.done.message else ""
            raise DovetailError(
                f"the run was {self.done.reason} after {self.done.finished} of "
                f"{self.asked.episodes} episodes{why}"
            )
        return None

    def wait(self) -> Results:
        """Return all results once the run is over; show progress if standard error is a terminal.

        With ``retries=0``, interrupted episodes are returned like any other results, even if there
        are no others.

        Raises:
            DovetailError: the run failed, no episode could be played, or the broker is gone.
        """
        results = Results()
        with Ticker() as ticker:
            try:
                while (some := self.poll()) is not None:
                    results.extend(some)
                    ticker.show(self.progress.finished, self.progress.total)
            except BaseException:
                self._leave()
                raise
        return self._played(results)

    def _played(self, results: Results) -> Results:
        why = unplayed(results)
        finished = self.done is not None and self.done.reason == "finished"
        if why and finished and self.asked.retries:
            raise DovetailError(f"{self.asked.environment}: {why}")
        return results

    def _heard(self, results: Sequence[m.Episode]) -> None:
        """Record results; the broker reports progress at most once a second."""
        self._results.extend(results)
        self._ended += sum(not each.will_retry for each in results)
        if (more := self._ended - self.progress.finished) > 0:
            running = max(0, self.progress.running - more)
            self.progress = structs.replace(self.progress, finished=self._ended, running=running)

    def take(self) -> list[m.Episode]:
        """Return the results that have arrived, without waiting."""
        results = list(self._results)
        self._results.clear()
        return results

    def pause(self) -> None:
        """Start no new episodes for now."""
        self._experiment.request(m.Pause(0, self.number))

    def resume(self) -> None:
        """Resume after ``pause``."""
        self._experiment.request(m.Pause(0, self.number, paused=False))

    def drain(self) -> None:
        """Finish the episodes in progress and start no more."""
        self._asked_for = "drained"
        self._end(m.Drain(0, self.number))

    def cancel(self) -> None:
        """Cancel the run immediately."""
        self._asked_for = "cancelled"
        self._end(m.Cancel(0, self.number))

    def start(self, *, abandon: bool = False) -> m.WatchedTurn:
        """Stepwise: start the next episode; return its first turn (RL-Glue's ``RL_start``).

        With ``abandon`` an episode in progress is truncated first.
        """
        return self.turn(self._experiment.request(m.ExperimentStart(0, self.number, abandon)))

    def step(self) -> m.WatchedTurn:
        """Stepwise: let the seats act once; return the next turn (``RL_step``)."""
        return self.turn(self._experiment.request(m.ExperimentStep(0, self.number)))

    def message(self, body: Any, *, timeout: float | None = TIMEOUT) -> Any:
        """Send a message to an environment of this run; return its answer."""
        return self._experiment.request(
            m.ExperimentMessage(0, run=self.number, body=body, timeout=timeout)
        )

    @staticmethod
    def turn(body: Any) -> m.WatchedTurn:
        """Return the turn in the body of a reply to ``start`` or ``step``."""
        if isinstance(body, m.WatchedTurn):
            return body
        return body_of("turn", body, m.WatchedTurn, strict=False)

    def _end(self, command: m.Drain | m.Cancel) -> None:
        """Send a command that ends the run; ignore the error if the run is over by then."""
        try:
            self._experiment.request(command)
        except Refused as error:
            if error.code != "unknown" or self.done is None:
                raise


class Experiment(Closing):
    """An experiment, connected to a broker: create agents, run episodes, watch, save and load."""

    def __init__(self, connection: BrokerConnection) -> None:
        if isinstance(connection, str):
            raise DovetailError(f"use Experiment.connect({connection!r}) to connect to a broker")
        self._connection = connection
        self._ids = itertools.count(1)
        self._answers: dict[int, m.Message] = {}
        self._open: dict[int, m.Message] = {}
        self._runs: dict[int, RunHandle] = {}
        self._warned = False
        """True once the warning about guessable seeds was given."""
        self._inbox = Inbox()
        self._early: dict[int, list[m.Message]] = {}
        self._turns: deque[m.WatchedTurn] = deque(maxlen=100_000)
        self._welcomed = False
        self._entered = 0
        """Number of calls now sending or receiving."""
        self._abandoned: list[int] = []
        """Runs whose loops were left, still to be cancelled."""
        self._unanswered: set[int] = set()
        """Requests whose answers are no longer wanted."""
        self.name = ""
        """This experiment's name at the broker, once it has answered."""
        self.forgotten = False
        """True once the broker has forgotten this experiment, with its agents and runs."""

    @classmethod
    def connect(
        cls,
        address: str | None = None,
        *,
        name: str = "",
        token: str | None = None,
        key: Key | Path | str | None = None,
        wait: float | None = 10.0,
        give_up: float | None = GIVE_UP,
        idle: Callable[[], None] | None = None,
    ) -> Experiment:
        """Connect to a broker at ``address``, by default DOVETAIL_BROKER or the standard address.

        ``token`` defaults to DOVETAIL_TOKEN.

        Args:
            address: a ZeroMQ endpoint.
            name: this experiment's name at the broker.
            token: the broker's access token.
            key: this program's key or key file; None uses the file in DOVETAIL_KEY, if set.
            wait: seconds to wait for the broker's first answer; None waits forever.
            give_up: seconds of silence after which a call that waits for the broker raises
                DovetailError; None waits forever.  The logger ``dovetail`` warns once if the broker
                is silent.
            idle: called periodically while no message arrives; an exception from it ends the wait.

        Raises:
            DovetailError: no broker answers at ``address``, or it refuses this peer.
        """
        in_one_line()
        address, token = broker(address, token)
        greeting = hello("experiment", name, token=token)
        return cls(Link(address, greeting, wait, give_up=give_up, idle=idle, key=key))

    # -- requests -------------------------------------------------------------------

    def catalogue(self) -> dict[str, Any]:
        """Return all peers, agents and runs at the broker, in the form that SPEC.md defines."""
        body, begun = self._catalogue(0), 0
        while (more := body.pop("more", 0)) > begun:
            page, begun = self._catalogue(more), more
            for section, entries in page.items():
                if isinstance(entries, list):
                    body[section] += entries
                else:
                    body[section] = entries
        return body

    def _catalogue(self, start: int) -> dict[str, Any]:
        body: dict[str, Any] = self.request(m.Catalogue(0, start))
        body_of("catalogue", body, CatalogueBody)
        return body

    def expect(
        self, environments: Sequence[str] = (), agents: Sequence[str] = (), timeout: float = 30.0
    ) -> None:
        """Wait until the named environments and agent types are offered.

        Raises:
            DovetailError: some are missing after ``timeout`` seconds; the text lists them and the
                names on offer.
        """
        end = time.monotonic() + timeout
        while True:
            present = self.catalogue()
            missing = [
                each
                for kind, names in (("environment", environments), ("agent", agents))
                for each in _missing(kind, names, {offer["name"] for offer in present[f"{kind}s"]})
            ]
            if not missing:
                return
            if time.monotonic() > end:
                raise DovetailError(f"timed out after {timeout:g} s: {'; '.join(missing)}")
            self.wait(0.05)

    def create(
        self,
        agent: str,
        *,
        seed: int = 0,
        parameters: dict[str, Any] | None = None,
        state: bytes | None = None,
        state_name: str | None = None,
        peer: str | None = None,
        timeout: float | None = TIMEOUT,
        shared: bool = False,
    ) -> AgentHandle:
        """Create an agent; return its number, to be passed to ``run``.

        Args:
            agent: the agent type.
            seed: the seed of the agent's random choices outside episodes.
            parameters: the agent's options by name; the others keep their defaults.
            state: a saved state to start from, as ``save`` returns it.
            state_name: the name of a state stored by the broker, to start from.
            peer: the name of the program that creates it, if several offer the type.
            timeout: seconds to wait for the answer; None waits forever.
            shared: whether other experiments may use the agent, too.

        Raises:
            DovetailError: no program offers the type, or it refuses the parameters.
        """
        if isinstance(state, str):
            raise DovetailError(
                f"create: `state` must be bytes, as `save` returns them, not {state!r}; "
                "dovetail_experiments.records.records.read_state reads them from a file or from "
                "OUT:AGENT"
            )
        chosen = _listed("create", "parameters", parameters or {})
        made = m.ExperimentCreate(0, agent, chosen, seed, state, state_name, peer, timeout, shared)
        try:
            body = self.request(made)
        except Refused as error:
            raise _explained(error, "create", made, "agent", agent) from None
        return AgentHandle.of(numbered(body, "instance"), agent, self)

    def _warn(self, asked: m.Run) -> None:
        """Warn once if other users' programs compete under a guessable seed."""
        programs = {each for each in asked.agents if isinstance(each, str)}
        if len(programs) > 1 and abs(asked.seed) < GUESSED and not self._warned:
            self._warned = True
            _log.warning(
                "%s may find the seed %d by counting, and with it what will be drawn; if they are "
                "not yours, give a seed such as secrets.randbits(63)",
                " and ".join(sorted(programs)),
                asked.seed,
            )

    def run(
        self, environment: str, agents: Sequence[int | str], **options: Unpack[RunOptions]
    ) -> RunHandle:
        """Play episodes; return a handle that yields their results.

        Args:
            environment: the name of an offered environment.
            agents: for each seat an agent from ``create``, or the name of a program that is one
                agent.
            options: any of those below; with ``substitutes``, ``on_agent_lost`` is
                ``substitute`` by default.

        Options:
            agents_seed: The master seed of the seats; None derives it from ``seed``, which a player
                may then find if it can be guessed. Default None.
            answer_timeout: Seconds for any answer without a clock; None waits forever. Default
                60.0.
            check: True to check observations, legal actions and rewards against the declared spaces
                and range; None checks those of the run's first episode, false none. Default None.
            clock: The seats' clocks: seconds for ``decision``, ``episode`` (all decisions
                together), ``increment`` (added after each) and ``margin`` (for the network).
                Default no limit.
            concurrency: Episodes in progress at once, up to the agents' capacity; each is a
                separate match. Default 1.
            configuration: The environment's options by name; the others keep their defaults.
                Default {}.
            derivation: The way the seats' seeds are derived: 2, or 1 to repeat episodes of former
                versions; see Seeds in SPEC.md. Default 2.
            episodes: The number of episodes to play. Default 1.
            first_index: The index of the first episode, to continue an earlier run. Default 0.
            label: The run's name in the journal, recorded with each episode. Default "".
            lookahead: True if agents may ask the environment what would follow; docs/lookahead.md.
                Default False.
            max_turns: The turn after which an episode is truncated. Default None.
            mode: ``learn``: agents may change; ``evaluate``: they must not. Default "learn".
            modes: The mode of each of ``agents``, if they differ; empty to use ``mode`` for all.
                Default [].
            names: The name of each of ``agents`` for watchers, the catalogue and the journal; empty
                for the offered names. Default [].
            on_agent_lost: The consequence if an agent's program does not come back: ``fail``,
                ``forfeit``, ``truncate``, ``wait`` or ``substitute``; see docs/durable.md. Default
                "fail".
            on_crash: The cost of an agent's failure at a decision: the episode is not scored and
                may be played again (``interrupt``), the seat loses (``forfeit``), or the episode is
                truncated (``truncate``). Default "interrupt".
            on_illegal: The cost of an illegal action: a choice as for ``on_timeout``. Default
                "forfeit".
            on_timeout: The cost of a late answer: the seat loses (``forfeit``), a random legal
                action is played (``random``), or the episode is truncated (``truncate``). Default
                "forfeit".
            opening_turns: Without ``openings``: the number of first turns with random legal
                actions. Default 0.
            openings: Lines of joint actions with which the broker begins episodes, in place of the
                seats. Default [].
            peer: The name of the peer that serves the environment, if several offer it; None for
                any. Default None.
            retries: Maximum number of times that an interrupted episode is played again. Default 1.
            rotate: True if agent k sits at seat (k + i) modulo seats in episode i; the episodes of
                one full rotation share an environment seed. Default False.
            save_every: Episodes between the broker's saves of each agent that learns, to recreate
                lost ones from; 0 for never. Default 0.
            secret: True if watching is forbidden. Default False.
            seed: The master seed, from which the seeds of the episodes are derived. Default 0.
            seeds: The environment seed of each episode, in place of derived ones. Default None.
            stacked: True if the turns of many episodes share a message, if environment, agents and
                the other fields allow it; see Stacked turns in SPEC.md. Default False.
            stepwise: True if the experiment drives the run with ``start`` and ``step``. Default
                False.
            substitutes: With ``on_agent_lost`` ``substitute``: the agents that take a lost agent's
                seat until it is back; one for each of ``agents``, or one for all. Default [].
            texts: In a stepwise run: true if each turn has the position as text. Watchers always
                get it. Default True.
            thoughts: True if every watcher may see what the agents think; otherwise only this
                experiment may. Default False.

        Raises:
            DovetailError: the environment or an agent does not exist, or the options are invalid.
        """
        given: dict[str, Any] = dict(options)
        known = RunOptions.__annotations__
        for name in given:
            if name not in known:
                hint = meant(name, known) or f"; there are {', '.join(known)}"
                raise DovetailError(f"run: no option '{name}'{hint}")
            given[name] = _listed("run", name, given[name])
        if "clock" in given:
            given["clock"] = _clock(given["clock"])
        if given.get("substitutes"):
            given["substitutes"] = _numbers(given["substitutes"])
            given.setdefault("on_agent_lost", "substitute")
        asked = m.Run(0, environment, _numbers(agents), **given)
        self._warn(asked)
        try:
            body = self.request(asked)
        except Refused as error:
            raise _explained(error, "run", asked, "environment", environment) from None
        number = numbered(body, "run")
        run = self._runs[number] = RunHandle(self, number, asked)
        for message in self._early.pop(run.number, []):
            self._take(message)
        self._early.clear()
        return run

    def sit(
        self,
        game: str,
        against: Opponent | int | str | Sequence[Opponent | int | str] | None = None,
        **options: Any,
    ) -> Sitting:
        """Take a seat in a game and play it from your own loop.

        >>> with experiment.sit("connect_four", against="random", seed=1) as game:
        ...     observation, info = game.reset()
        ...     while not info["over"]:
        ...         action = info["legal"][0]
        ...         observation, reward, terminated, truncated, info = game.step(action)

        Args:
            game: the name of an offered environment.
            against: the opponents, one per other seat or one for all: agent types, programs that
                are one agent, agents from ``create``, or ``Opponent``.  None in games of one seat.
            options: the other arguments of ``Sitting``.

        Raises:
            DovetailError: the game or an opponent does not exist, or the options are invalid.
        """
        from dovetail.client.sitting import Sitting

        return Sitting(self, game, against, **options)

    def save(
        self,
        instance: int,
        state_name: str | None = None,
        *,
        timeout: float | None = TIMEOUT,
        shared: bool = False,
    ) -> bytes:
        """Return an agent's state; with ``state_name`` also store it at the broker.

        Unless ``shared``, only this experiment can use the stored state while it is connected.
        """
        answer = self._exchange(m.Save(0, int(instance), state_name, timeout, shared))
        if not isinstance(answer, m.Saved):
            raise DovetailError("the broker's answer to save has no state")
        return answer.state

    def load(
        self,
        instance: int,
        state: bytes = b"",
        state_name: str | None = None,
        *,
        timeout: float | None = TIMEOUT,
    ) -> None:
        """Load a state into an agent: the bytes ``state``, or the one stored as ``state_name``."""
        self.request(m.Load(0, int(instance), state, state_name, timeout))

    def cleanup(self, instance: int, *, timeout: float | None = TIMEOUT) -> None:
        """Release an agent; it cannot be used afterwards."""
        self.request(m.Cleanup(0, int(instance), timeout))

    def message(self, instance: int, body: Any, *, timeout: float | None = TIMEOUT) -> Any:
        """Send a message to an agent; return its answer."""
        return self.request(m.ExperimentMessage(0, int(instance), body=body, timeout=timeout))

    def watch(self, run: int | None = None) -> None:
        """Subscribe to the turns of a run, or of all runs; ``turns`` yields them."""
        self.request(m.Watch(0, run))

    def turns(self, timeout: float | None = None) -> Iterator[m.WatchedTurn]:
        """Yield watched turns until none arrives for ``timeout`` seconds."""
        last = time.monotonic()
        while True:
            if self._turns:
                yield self._turns.popleft()
                last = time.monotonic()
                continue
            if timeout is not None and time.monotonic() - last > timeout:
                return
            self.wait(0.1)

    def __repr__(self) -> str:
        return f"<Experiment with {len(self._runs)} runs in progress>"

    def close(self) -> None:
        """Disconnect; the broker cancels runs in progress."""
        self._connection.close()

    # -- the exchange ----------------------------------------------------------------------------

    def request(self, message: Any) -> Any:
        """Send a request and return the body of the reply.

        Raises:
            Refused: the answer is an error; see its ``code``.
            DovetailError: the broker is gone.
        """
        answer = self._exchange(message)
        return answer.body if isinstance(answer, m.Reply) else None

    def post(self, message: Any) -> int:
        """Send a request without waiting; return its number for ``answer``."""
        number: int = next(self._ids)
        message.id = number
        self._open[number] = message
        try:
            with self._inside():
                self._connection.send([message])
        except BaseException as error:  # it must not be sent again after a break
            del self._open[number]
            if isinstance(error, codec.UNSENDABLE):
                kind = str(type(message).__struct_config__.tag)
                for name in type(message).__struct_fields__:
                    _travels(kind, name, getattr(message, name))
            raise
        return number

    def answer(self, number: int) -> m.Message | None:
        """Return the answer to a posted request, once; None until ``wait`` has received it."""
        answer = self._answers.pop(number, None)
        if answer is not None:
            del self._open[number]
        return answer

    def forget(self, number: int) -> None:
        """Drop the answer to a posted request, whether or not it has arrived."""
        self._open.pop(number, None)
        self._answers.pop(number, None)

    def abandon(self, run: int) -> None:
        """Cancel a run without waiting for the answer.

        A generator may be closed in the middle of another call; the message is then sent when that
        call ends.
        """
        self._abandoned.append(run)
        if not self._entered:
            self._cancel_abandoned()

    def _cancel_abandoned(self) -> None:
        while self._abandoned:
            run = self._abandoned.pop()
            with suppress(DovetailError):  # without a connection the broker cancels it by itself
                if run in self._runs:
                    self._unanswered.add(self.post(m.Cancel(0, run)))

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Count a call as using the connection, for ``abandon``."""
        self._entered += 1
        try:
            yield
        finally:
            self._entered -= 1
            if self._abandoned and not self._entered:
                self._cancel_abandoned()

    def join(self, hello: m.Hello) -> BrokerConnection:
        """Return another connection to this broker, for a peer that says ``hello``."""
        return self._connection.join(hello)

    def _exchange(self, message: Any) -> m.Message:
        number = self.post(message)
        try:
            while (answer := self.answer(number)) is None:
                self.wait()
        finally:
            self.forget(number)
        if isinstance(answer, m.Error):
            raise Refused(answer.code, line(answer.message))
        return answer

    def wait(self, timeout: float | None = None) -> None:
        """Process the broker's messages, waiting for one if there are none.

        Raises:
            DovetailError: the broker is gone, was silent too long, or lost this session.
        """
        repeats: list[m.Message] = []
        with self._inside():
            messages = self._connection.receive(timeout)
            for message in messages:
                if self._inbox.take(getattr(message, "seq", 0), repeats):
                    self._take(message)
        if self._connection.departed and not messages:  # messages that came before ``bye`` count
            raise DovetailError("the broker has left")

    def _take(self, message: m.Message) -> None:
        match message:
            case m.Reply() | m.Error() if message.id in self._unanswered:
                self._unanswered.discard(message.id)
                self._open.pop(message.id, None)
            case m.Reply() | m.Saved():
                if message.id in self._open:
                    self._answers[message.id] = message
            case m.Error():
                if message.id is not None:
                    if message.id in self._open:
                        self._answers[message.id] = message
                else:
                    for run in self._runs.values():
                        run.problems.append(line(message.message))
            case m.Episode() | m.Episodes() | m.Progress() | m.Done():
                if (known := self._runs.get(message.run)) is not None:
                    self._heard(known, message)
                elif any(isinstance(each, m.Run) for each in self._open.values()):
                    self._early.setdefault(message.run, []).append(message)
            case m.WatchedTurn():
                self._turns.append(message)
            case m.Welcome():
                self._greeted(message)
            case _:
                pass

    def _heard(self, run: RunHandle, message: m.Episode | m.Episodes | m.Progress | m.Done) -> None:
        if isinstance(message, m.Progress):
            run.progress = message if message.finished >= run.progress.finished else run.progress
            if message.waiting and message.waiting != run._waited_for:
                _log.warning("run %d waits: %s", run.number, line(message.waiting))
            run._waited_for = message.waiting
        elif isinstance(message, m.Done):
            run.done = message
            del self._runs[run.number]
        elif isinstance(message, m.Episodes):
            run._heard(message.results)
        else:
            run._heard([message])

    def _greeted(self, welcome: m.Welcome) -> None:
        self._inbox.begin(welcome)
        self.name = welcome.name
        if not self._welcomed:
            self._welcomed = True
            return
        if welcome.resumed:
            self._connection.send(list(self._open.values()))
            return
        for number in self._unanswered:
            self._open.pop(number, None)
        self._unanswered.clear()
        self.forgotten = True
        for run in list(self._runs.values()):
            finished, why = run.progress.finished, f"the broker {FORGOT}"
            run.done = m.Done(run.number, finished, "failed", why, code="unavailable")
        self._runs.clear()
        if self._open:
            raise DovetailError(
                f"the broker {FORGOT}, and no longer recognises it; run the experiment again"
            )


def _explained(
    error: Refused, method: str, asked: m.Run | m.ExperimentCreate, kind: plugins.Kind, name: str
) -> Refused:
    """Explain a refusal in terms of the method that was called."""
    if error.code == "invalid":
        try:
            options.read(type(asked), structs.asdict(asked), method)
        except options.WrongOption as wrong:
            return Refused(error.code, str(wrong))
    text = str(error)
    before, start, _ = text.partition("; start one with")
    if error.code == "unknown" and start and name not in (known := plugins.names(kind)):
        hint = meant(name, known)
        return Refused(error.code, f"{before}{hint}" if hint else text)
    return error


class _Clocked(msgspec.Struct):
    """A wrapper for a ``ClockPart``, so that validation errors name ``clock``."""

    clock: ClockPart


def _clock(given: Any) -> ClockPart:
    table = structs.asdict(given) if isinstance(given, m.ClockRule) else given
    return options.read(_Clocked, {"clock": table}, "run").clock


def _listed(method: str, name: str, value: Any) -> Any:
    """Return an option with arrays, ranges and iterators as lists; refuse what cannot be sent."""
    try:
        found = plain(value)
    except DovetailError as error:
        raise DovetailError(f"{method}, option {name!r}: {error}") from None
    _travels(method, name, found)
    return found


def _travels(method: str, name: str, value: Any) -> None:
    try:
        codec.check_values(value)
        codec.encode(value)
    except codec.UNSENDABLE as error:
        raise DovetailError(f"{method}, option {name!r}: {unsendable(error)}") from None


def _numbers(agents: Sequence[int | str]) -> list[int | str]:
    """Return agents for a message, with plain numbers in place of ``AgentHandle`` objects."""
    if agents is None or isinstance(agents, int | str):
        raise DovetailError(f"run: agents must be a list, one for each seat, not {agents!r}")
    return [int(each) if isinstance(each, int) else each for each in agents]


def _missing(kind: str, names: Sequence[str], offered: set[str]) -> Iterator[str]:
    """Yield a line with the names that are missing, if any, and those on offer."""
    known = sorted(offered)
    missing = [
        repr(name) + (f" ({hint[2:]})" if (hint := meant(name, known[:LISTED])) else "")
        for name in names
        if name not in offered
    ]
    if missing:
        there = ", ".join(map(repr, known[:LISTED])) or "none"
        there += f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
        yield f"no connected program offers {kind} {', '.join(missing)}; {kind}s on offer: {there}"
