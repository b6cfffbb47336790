"""Runs: an experiment's request, its progress, and the order of its episodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from mypy_extensions import mypyc_attr

from dovetail.broker.matches.instances import Instance, SeatAssignment
from dovetail.broker.peers.limits import QUOTED, quoted
from dovetail.broker.peers.peers import Peer
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.journal import EpisodeRecord
from dovetail.protocol.seats import seated
from dovetail.protocol.seeds import SeatSeeds, derive, derived
from dovetail.protocol.states import RUN, Machine, RunPhase

if TYPE_CHECKING:
    from dovetail.broker.matches.match import Match, Play
    from dovetail.broker.matches.stack import Stack

INDICES = 1 << 63
"""The number of episode indices; every client reads integers below it."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Schedule:
    """The episodes of a run that are still to play, with their seeds and openings.  Pure."""

    __slots__ = ("_again", "_asked", "_forgiven", "_last", "_next", "_tries")

    def __init__(self, asked: m.Run) -> None:
        self._asked = asked
        self._next = asked.first_index  # the lowest index that was never started
        self._last = asked.first_index + asked.episodes
        self._again: deque[int] = deque()  # indices of interrupted episodes to be played again
        self._tries: dict[int, int] = {}
        self._forgiven: set[int] = set()  # indices whose next interruption does not count as a try

    def __bool__(self) -> bool:
        return bool(self._again) or self._next < self._last

    def take(self) -> int:
        """Remove and return the index of the next episode."""
        if self._again:
            return self._again.popleft()
        self._next += 1
        return self._next - 1

    @property
    def first(self) -> int:
        """The index that ``take`` would return."""
        return self._again[0] if self._again else self._next

    def some(self, most: int) -> list[int]:
        """Remove and return up to ``most`` indices."""
        again = [self._again.popleft() for _ in range(min(most, len(self._again)))]
        first = self._next
        self._next = max(first, min(first + most - len(again), self._last))
        return [*again, *range(first, self._next)]

    def retry(self, index: int) -> bool:
        """Record an interrupted episode; return whether it will be played again."""
        if index in self._forgiven:
            self._forgiven.discard(index)
            self._again.append(index)
            return True
        tries = self._tries.get(index, 0)
        if tries >= self._asked.retries:
            self._tries.pop(index, None)
            return False
        self._tries[index] = tries + 1
        self._again.append(index)
        return True

    def forgive(self, index: int) -> None:
        """Do not count the next interruption of an episode as a retry."""
        self._forgiven.add(index)

    def seating(self, index: int) -> list[int]:
        """Return the seating of an episode: the index of each seat's agent in the run's list."""
        shift = index if self._asked.rotate else 0
        return seated(range(len(self._asked.agents)), shift)

    def seed(self, index: int) -> int:
        asked = self._asked
        if asked.seeds is not None:
            return asked.seeds[index - asked.first_index]
        return derive(asked.seed, "episode", self._round(index))

    def seeds(self, indices: list[int]) -> Any:
        """Return the environment's seeds for several episodes, as a column."""
        asked = self._asked
        if asked.seeds is not None:
            return np.array([self.seed(index) for index in indices], np.uint64)
        return derived(repeat(asked.seed, len(indices)), "episode", map(self._round, indices))

    def players(self, indices: list[int]) -> Any:
        """Return the seatings of several episodes as rows; a single row if all are the same."""
        seats = len(self._asked.agents)
        shift = np.array(indices)[:, None] % seats if self._asked.rotate else 0
        return (np.arange(seats) - shift) % seats

    def line(self, index: int) -> list[list[Any]] | None:
        """Return the joint actions of an episode's opening; None if the run has no openings."""
        lines = self._asked.openings
        return lines[self._round(index) % len(lines)] if lines else None

    def _round(self, index: int) -> int:
        return index // len(self._asked.agents) if self._asked.rotate else index


@dataclass(eq=False, slots=True)
class RunState:
    """A run in progress."""

    number: int
    experiment: Peer
    asked: m.Run
    agents: list[Instance]
    rules: m.RunRules
    schedule: Schedule
    told: m.Progress
    """The last ``progress``."""
    machine: Machine[RunPhase] = field(default_factory=partial(Machine, RUN, "running"))
    matches: dict[int, Match] = field(default_factory=dict)
    idle: list[Match] = field(default_factory=list)
    playing: dict[Match, Play] = field(default_factory=dict)
    stacks: dict[Match, Stack] = field(default_factory=dict)
    """Its batched matches."""
    written: int = 0
    """Bytes recorded with each of its episodes."""
    size: int = 0
    """Bytes charged to its experiment; see ``holdings``."""
    short: int = 0
    """Matches still without an environment that has room."""
    finished: int = 0
    permits: int = 0
    """Episodes of a stepwise run that the experiment has asked to start."""
    request: int | None = None
    """The request of a stepwise run that the next turn answers."""
    substitutes: list[Instance] = field(default_factory=list)
    """The substitute of each agent, in order; empty if there are none."""
    remarks: list[str] = field(default_factory=list)
    """A line for each loss."""
    held: float | None = None
    """The time since which it has been waiting without an episode in progress."""

    @property
    def waits(self) -> bool:
        """True if it waits for lost agents, even while substitutes play."""
        return waits(self.asked)

    def modes(self) -> list[m.Mode]:
        return self.asked.modes or [self.rules.mode] * len(self.agents)

    def draws(self) -> SeatSeeds:
        master = self.asked.agents_seed
        if master is None:
            master = derive(self.asked.seed, "agents")
        return SeatSeeds(self.asked.derivation, master)

    def instances(self) -> set[Instance]:
        """Return its distinct agents and substitutes."""
        return {*self.agents, *self.substitutes}

    def assignments(self, index: int) -> list[SeatAssignment]:
        """Return the assignment of each seat in an episode now, with substitutes for the lost."""
        return [self._assigned(player) for player in self.schedule.seating(index)]

    def record(
        self, result: m.Episode, actions: Any, breached: list[list[int]], seeds: list[int]
    ) -> EpisodeRecord:
        """Return the record of an episode, with the run's names for the players, by seat."""
        asked, names = self.asked, []
        if asked.names:
            players = zip(self.schedule.seating(result.index), result.seats, strict=True)
            names = [
                asked.names[each] if seat.stands_for is None else seat.agent
                for each, seat in players
            ]
        return EpisodeRecord(
            *(result, asked.environment, asked.configuration, self.rules.mode, actions, breached),
            label=asked.label,
            names=names,
            derivation=asked.derivation,
            seeds=seeds,
        )

    def _assigned(self, player: int) -> SeatAssignment:
        agent = self.agents[player]
        if agent.lost and self.substitutes:
            return SeatAssignment(player, self.substitutes[player], agent.number)
        return SeatAssignment(player, agent, None)

    @property
    def ready(self) -> bool:
        """True if it has an episode to start, and a match to play it in."""
        going = self.machine.state == "running" and bool(self.schedule)
        return going and bool(self.idle or self.stacks)

    def free(self) -> bool:
        """Return whether all agents that would be seated now can start another episode."""
        return all(self._assigned(player).instance.free() for player in range(len(self.agents)))

    def ended(self, index: int, seated: Iterable[Instance], *, scored: bool) -> bool:
        """Account for an ended episode and its agents; return whether it will be played again."""
        for instance in seated:
            instance.busy -= 1
        goes_on = self.machine.state in ("running", "paused")
        again = not scored and goes_on and self.schedule.retry(index)
        self.finished += not again
        return again

    def progress(self, waiting: str = "") -> m.Progress:
        """Return the run's progress, with the reason if it is waiting."""
        total = self.asked.episodes
        return m.Progress(self.number, self.finished, self.running, total, waiting)

    @property
    def running(self) -> int:
        """The number of episodes in progress."""
        return len(self.playing) + sum(stack.playing for stack in self.stacks.values())


def begun(number: int, experiment: Peer, asked: m.Run, found: list[Instance]) -> RunState:
    """Return a new run as requested; ``found`` lists its agents, then its substitutes."""
    told = m.Progress(number, 0, 0, asked.episodes)
    seats = len(asked.agents)
    rules = msgspec.convert(asked, m.RunRules, from_attributes=True)
    run = RunState(number, experiment, asked, found[:seats], rules, Schedule(asked), told)
    run.substitutes = found[seats:] * (seats if len(found) == seats + 1 else 1)
    return run


def waits(asked: m.Run) -> bool:
    """Return whether a run waits for lost agents."""
    return asked.on_agent_lost in ("wait", "substitute")


def fixed(asked: m.Run, offers: Mapping[str, m.Offer]) -> dict[str, Any]:
    """Return a run's configuration, completed with the defaults of the offers, given by peer name.
    All of its matches then play the same game, whichever peer serves them.  Raises ProtocolError
    (``unknown``): the defaults differ."""
    found = dict(asked.configuration)
    peers = list(offers)
    for option in offers[peers[0]].parameters if peers else ():
        schemas = [offers[peer].parameters.get(option) for peer in peers]
        if option in found or not all(
            isinstance(each, dict) and "default" in each for each in schemas
        ):
            continue  # also one that not all of them have
        defaults = [each["default"] for each in schemas if each is not None]
        for peer, default in zip(peers, defaults, strict=True):
            if default != defaults[0]:
                one = f"{_short(defaults[0])} at {quoted(peers[0])}"
                other = f"{_short(default)} at {quoted(peer)}"
                raise ProtocolError(
                    "unknown",
                    f"{quoted(asked.environment)} is offered with different defaults: "
                    f"{quoted(option)} is {one} and {other}; "
                    "give it in `configuration`, or name the program as `peer`",
                )
        found[option] = defaults[0]
    return found


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def problem(asked: m.Run) -> str:
    """Return what is inconsistent in a requested run, or an empty string."""
    if not asked.agents:
        return "a run needs at least one agent"
    if asked.first_index + asked.episodes > INDICES:
        text = f"{asked.episodes} episodes from index {asked.first_index}"
        return f"{text}; indices may be 0 to 2^63 - 1"
    if asked.seeds is not None and len(asked.seeds) != asked.episodes:
        return f"{len(asked.seeds)} seeds for {asked.episodes} episodes; give one each"
    if asked.modes and len(asked.modes) != len(asked.agents):
        return f"{len(asked.modes)} modes for {len(asked.agents)} agents; give one each"
    if asked.names and len(asked.names) != len(asked.agents):
        return f"{len(asked.names)} names for {len(asked.agents)} agents; give one each"
    if asked.stepwise and asked.concurrency != 1:
        return "a stepwise run plays one episode at a time; concurrency must be 1"
    if (asked.on_agent_lost == "substitute") != bool(asked.substitutes):
        return "`on_agent_lost` `substitute` and `substitutes` go together; give both or neither"
    if asked.substitutes and len(asked.substitutes) not in (1, len(asked.agents)):
        count = len(asked.substitutes)
        return f"{count} substitutes for {len(asked.agents)} agents; give one, or one each"
    return ""
