"""A match: an environment with agents seated, and its episode in progress.

It sends an ``Episode``'s messages to the peers that hold the environment and the seats.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, cast

from msgspec.structs import replace
from mypy_extensions import mypyc_attr

from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.outbox import Audience
from dovetail.broker.peers.peers import Peer
from dovetail.broker.rules.account import SeatAccount
from dovetail.broker.rules.clocks import FOREVER, SeatClock
from dovetail.broker.rules.ending import Ending
from dovetail.broker.rules.episode import Episode
from dovetail.broker.rules.legality import sensible
from dovetail.protocol import messages as m
from dovetail.protocol.states import MATCH, Machine, MatchPhase

AHEAD = 10.0
"""Seconds by which paced watchers may run ahead in an episode, to see short ones whole."""
JOIN = 1.0
"""Seconds for which paced watchers wait for a new episode before they join one in progress."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Seat(SeatAccount):
    """A seat of a match; the rules use it as a ``SeatAccount``."""

    __slots__ = ("asked", "init", "instance")

    def __init__(self, number: int, instance: Instance) -> None:
        super().__init__(number)
        self.instance = instance
        self.init = 0
        """The ``seq`` of its ``init``; 0 once it has acted or the episode is over."""
        self.asked = 0
        """The ``seq`` of its latest decision; 0 before the first."""

    def sit(self, match: int, instance: Instance, spec: m.Spec, rules: m.RunRules) -> None:
        """Give the seat to an instance."""
        self.instance = instance
        self.asked = 0  # the number of a frame to another peer, perhaps
        self.machine.on("init")
        self.init = instance.peer.outbox.ask(
            m.Init(match, self.number, instance.number, spec, rules.lookahead, instance.agent)
        )

    def result(self) -> m.SeatResult:
        agent, counts = self.instance, (self.breaches, self.ignored, self.refused)
        return m.SeatResult(
            *(agent.agent, agent.number, self.total, self.decisions, self.clock.seconds, *counts),
            measures=self.means(),
            stands_for=self.stands_for,
            since=self.since,
        )


class Pace(NamedTuple):
    """The rate at which paced watchers sample a run."""

    every: float
    """Seconds per turn shown of a match."""
    scenes: bool


@dataclass(eq=False, slots=True)
class Interest:
    """The watchers of a run and their wishes."""

    asked: list[tuple[Peer, m.Watch]]
    all: bool
    """True if any of them wants all turns."""
    scenes: bool
    """True if any of them wants the scenes of all turns."""
    pace: Pace | None
    """The rate for paced watchers; None if there are none."""
    thoughts: tuple[bool, bool]
    """True if any may see thoughts and asks for them: without and with the paced watchers."""
    audiences: dict[tuple[bool, bool, bool], list[tuple[bool, bool, Audience]]] = field(
        default_factory=dict
    )
    """Audiences of turns with or without a scene, thoughts, and paced watchers."""
    others: dict[bool, Audience] = field(default_factory=dict)
    """Audiences of results, with or without paced watchers."""


@dataclass(eq=False, slots=True)
class Match:
    """An environment opened for a run."""

    number: int
    run: RunState
    environment: Peer
    asked: int
    """The ``seq`` of its ``open``."""
    due: float
    """The deadline of the answer to it."""
    timer: float = FOREVER
    machine: Machine[MatchPhase] = field(default_factory=partial(Machine, MATCH, "opening"))
    spec: m.Spec = field(default_factory=m.Spec)
    """The environment's spec; empty until it is open."""
    seats: list[Seat] = field(default_factory=list)
    """The seats; empty before the first episode."""
    moves: int = 0
    """The number of times its episodes have moved to another environment."""
    slots: int = 0
    """Episodes played at once in a batched match; 0 for a single match."""
    moving: bool = False
    """True if ``environment`` is new to the episode and has yet to catch up."""
    play: Play | None = None
    """The episode in progress."""
    shown: float = 0.0
    """The time until which paced watchers have had their share of turns."""
    every: float = 0.0
    """The pace of that share, in seconds per turn."""
    game: str = ""
    """The name of its environment in the offer."""

    @property
    def deadline(self) -> float:
        """The deadline of the first pending answer, to ``open`` or in the episode."""
        return self.due if self.play is None else self.play.episode.deadline

    def opened(self, spec: m.Spec) -> str:
        """Handle the answer to ``open``; return what is wrong with it, or an empty string."""
        self.environment.outbox.answered(self.asked)
        self.machine.on("spec")
        self.due = FOREVER
        self.spec = spec
        spec.match = self.number
        kinds = ("observation", spec.observation_spaces), ("action", spec.action_spaces)
        for what, spaces in kinds:
            if len(spaces) not in (1, spec.seats):
                return f"{len(spaces)} {what} spaces for {spec.seats} seats; give one, or one each"
        if spec.forfeit is not None and not all(map(sensible, spec.forfeit)):
            return f"`forfeit` is {list(spec.forfeit)}; give two finite rewards, up to 1e100"
        return ""

    def begin(
        self, episode: int, index: int, rules: m.RunRules, interest: Interest, now: float
    ) -> Play:
        """Seat an episode's agents, and ask for the first turn as its watchers want it."""
        run, pace = self.run, interest.pace
        seed, seated = run.schedule.seed(index), run.assignments(index)
        modes, draws = run.modes(), run.draws()
        watched = (rules.stepwise and run.asked.texts) or interest.all
        for agent in {assignment.instance for assignment in seated}:
            agent.busy += 1
        if not self.seats:
            self.seats = [Seat(number, each.instance) for number, each in enumerate(seated)]
        before = self._peers()
        for seat, assignment in zip(self.seats, seated, strict=True):
            if seat.instance is not assignment.instance or seat.machine.state == "free":
                seat.sit(self.number, assignment.instance, self.spec, rules)
        for peer in before:
            if peer not in self._peers():  # of a substitute whose agent is back
                peer.outbox.deliver(m.Leave(self.number))
        for seat, (player, _, stands_for) in zip(self.seats, seated, strict=True):
            seat.begin(
                draws.one(seed, index, player),
                SeatClock(rules.clock, rules.answer_timeout),
                self.spec.action_space(seat.number),
                modes[player] if stands_for is None else "evaluate",
                stands_for,
            )
        wants = [assignment.instance.offer.wants for assignment in seated]
        start = m.EnvironmentStart(
            *(self.number, episode, seed, wants if any(wants) else []),
            watched=watched,
            scenes=interest.scenes,
        )
        self.machine.on("start")
        if pace is not None:
            if pace.every < self.every:  # they look closer now
                self.shown = now + (self.shown - now) * pace.every / self.every
            self.every = pace.every
        due = pace is not None and self.shown <= now
        sent = start
        if due and pace is not None:
            self.shown = now + pace.every
            if not watched:
                sent = replace(start, watched=True, scenes=pace.scenes, once=True)
        asked = self.environment.outbox.ask(sent)
        begun = Episode(
            *(episode, self.number, index, seed, rules, self.spec, self.machine),
            *(cast("list[SeatAccount]", self.seats), now, run.schedule.line(index)),
        )
        begun.think = interest.thoughts[due]
        self.play = Play(self, begun, asked, start, seen=due, due=due)
        self.play.pause()
        return self.play

    def _peers(self) -> list[Peer]:
        """Return the distinct programs that hold its seats."""
        return list(dict.fromkeys(seat.instance.peer for seat in self.seats))

    def unseat(self, instance: Instance) -> None:
        """Free the seats of a lost agent, between episodes."""
        for seat in self.seats:
            if seat.instance is instance and seat.machine.takes("leave"):
                seat.machine.on("leave")

    def close(self) -> None:
        """Release the environment and the seats, between episodes."""
        self.due = FOREVER
        self.environment.outbox.answered(self.asked)
        for seat in self.seats:
            if seat.machine.takes("leave"):
                seat.machine.on("leave")
        for peer in self._peers():
            peer.outbox.deliver(m.Leave(self.number))
        if self.machine.takes("close"):
            self.machine.on("close")
            self.environment.outbox.deliver(m.Close(self.number))


@dataclass(eq=False, slots=True)
class Play:
    """An episode of a match in progress."""

    match: Match
    episode: Episode
    asked: int
    """The ``seq`` of the environment's last ``start`` or ``step``."""
    start: m.EnvironmentStart
    stopped: bool = False
    """True if a clock is stopped until a peer is back."""
    late: bool = False
    """True if a watcher wants more than the environment was asked for."""
    seen: bool = False
    """True if paced watchers are shown the episode."""
    due: bool = False
    """True if they are shown the next turn."""
    size: int = 0
    """Bytes of its actions, as frames unless these have thoughts."""
    latest: int = 0
    """Bytes of memory for its latest turn; 0 if few."""
    actions: int = 0
    """Bytes of memory for its actions."""
    held: int = 0
    """The part of these that is counted for the experiment; see ``holdings``."""
    rest: float = 0.0
    """The time before which paced watchers are shown no further turn."""

    def stop(self, now: float) -> None:
        """Stop the clocks of peers that a restart of the broker disconnected."""
        episode = self.episode
        if episode.machine.state == "transition":
            if self.match.environment.away:
                self.stopped = True
                episode.deadline = FOREVER
            return
        for number in episode.to_act:
            seat = self.match.seats[number]
            if seat.machine.state == "deciding" and seat.instance.peer.away:
                self.stopped = True
                seat.clock.stop(now)
        episode.wait()

    def go(self, peer: Peer, now: float) -> bool:
        """Resume the clocks of a peer; return whether it had any."""
        episode = self.episode
        if episode.machine.state == "transition":
            if self.match.environment is not peer:
                return False
            episode.restart(now)
            self.stopped = False
            return True
        held = [seat for seat in self.match.seats if seat.instance.peer is peer]
        for seat in held:
            seat.clock.go(now)
        episode.wait()
        self.stopped = any(seat.clock.standing for seat in self.match.seats)
        return bool(held)

    def decide(self, now: float) -> None:
        """Ask the seats to act for their decisions."""
        self.ask(self.episode.decide(now))

    def ask(self, decisions: list[m.AgentStart | m.AgentStep]) -> None:
        seats = self.match.seats
        for decision in decisions:
            seat = seats[decision.seat]
            seat.asked = seat.instance.peer.outbox.ask(decision)

    def step(self, now: float, pace: Pace | None) -> None:
        """Send the joint action to the environment, unless it has yet to catch up; without
        ``pace``, paced watchers are not shown the next turn."""
        step = self.episode.step(now)
        self.due = pace is not None
        if pace is not None:
            step.watched, step.scenes, step.once = True, pace.scenes, True
            self.match.shown = max(self.match.shown, now) + pace.every
            self.seen = True
            self.pause()
        if self.late:  # for a watcher that came after the start
            step.watched, step.scenes = self.start.watched, self.start.scenes or step.scenes
            step.once = self.late = False
        if self.match.moving:
            self.episode.deadline = FOREVER
        else:
            self.asked = self.match.environment.outbox.ask(step)

    def pause(self) -> None:
        """Show paced watchers nothing until their next share of turns."""
        self.rest = self.match.shown - (AHEAD if self.seen else -JOIN)

    def overdue(self, now: float, pace: Pace | None) -> Ending | None:
        """Handle seats whose answers are overdue; return the ending, if any."""
        episode = self.episode
        ending = episode.overdue(now)
        for number in episode.to_act:
            seat = self.match.seats[number]
            if seat.machine.state != "deciding":
                seat.instance.peer.outbox.release(seat.asked)
        if ending is None and not episode.owing:
            self.step(now, pace)
        if ending is not None and ending.reason == "stalled" and ending.blame is not None:
            self.match.seats[ending.blame].instance.stalled = True
        return ending

    def end(self, ending: Ending) -> list[m.SeatResult]:
        """Send every seat its ``end``; return the seats' results."""
        self.match.play = None
        if not self.match.moving:
            self.match.environment.outbox.answered(self.asked)
        for seat, end in zip(self.match.seats, self.episode.end(ending), strict=True):
            outbox = seat.instance.peer.outbox
            # Either may have been lost on the way, and a decision has a reward in it.
            outbox.release(seat.asked)
            outbox.release(seat.init)
            seat.init = 0
            outbox.deliver(end)
        return [seat.result() for seat in self.match.seats]

    def owes(self, peer: Peer, seat: int, turn: int) -> bool:
        """Return whether a peer owes a seat's decision of a turn."""
        return self.episode.owes(seat, turn) and self.match.seats[seat].instance.peer is peer

    def seat_of(self, instance: Instance) -> int | None:
        """Return an instance's first seat; None if it has none."""
        return next((s.number for s in self.match.seats if s.instance is instance), None)

    def instances(self) -> set[Instance]:
        return {seat.instance for seat in self.match.seats}

    def forfeit(self, seat: int, what: str) -> Ending:
        """Return the ending after a seat's agent was lost."""
        return self.episode.forfeit(seat, "stalled", what)
