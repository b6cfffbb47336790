"""A match: an environment with agents seated, and its episode in progress on the wire.

What an ``Episode`` says is sent from here to the peers that hold the environment and the seats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.seat import Seat, SeatAssignment
from dovetail.broker.peers.peers import Peer
from dovetail.broker.rules.account import SeatAccount
from dovetail.broker.rules.clocks import FOREVER, SeatClock
from dovetail.broker.rules.ending import Ending
from dovetail.broker.rules.episode import Episode
from dovetail.protocol import messages as m
from dovetail.protocol.seeds import SeatSeeds
from dovetail.protocol.states import MATCH, Machine, MatchPhase

AHEAD = 10.0
"""Paced watchers may run ahead by this within an episode, so that they see short ones whole."""
JOIN = 1.0
"""Paced watchers wait this long for a new episode rather than join one."""


class Pace(NamedTuple):
    """The sampling of a run that paced watchers ask for."""

    every: float
    """Seconds for each turn of a match that they are shown."""
    scenes: bool


def opening() -> Machine[MatchPhase]:
    """Return the state of a match whose environment was sent ``open``."""
    return Machine(MATCH, "opening")


@dataclass(eq=False, slots=True)
class Match:
    """An environment opened for a run."""

    number: int
    run: int
    environment: Peer
    asked: int
    """The ``seq`` of its ``open``."""
    due: float
    """When the answer to it is overdue."""
    timer: float = FOREVER
    machine: Machine[MatchPhase] = field(default_factory=opening)
    spec: m.Spec = field(default_factory=m.Spec)
    """The environment's description of itself; empty while it is opened."""
    seats: list[Seat] = field(default_factory=list)
    """By seat, from its first episode on."""
    moves: int = 0
    """How often its episodes have moved to another environment."""
    slots: int = 0
    """Of a group; 0 for a single match."""
    moving: bool = False
    """True if ``environment`` is another one that has yet to catch up."""
    play: Play | None = None
    """Its episode in progress."""
    shown: float = 0.0
    """The time until which its paced watchers have had their share of turns."""
    game: str = ""
    """The name of its environment in the offer."""

    @property
    def deadline(self) -> float:
        """When the first answer that is owed, to ``open`` or in the episode, is overdue."""
        return self.due if self.play is None else self.play.episode.deadline

    def opened(self, spec: m.Spec) -> str:
        """Handle the answer to ``open``; return the problem with it, empty if there is none."""
        self.environment.outbox.answered(self.asked)
        self.machine.on("spec")
        self.due = FOREVER
        self.spec = spec
        spec.match = self.number
        for what, spaces in (
            ("observation", spec.observation_spaces),
            ("action", spec.action_spaces),
        ):
            if len(spaces) not in (1, spec.seats):
                return f"{len(spaces)} {what} spaces for {spec.seats} seats; give one, or one each"
        if spec.forfeit is not None and not all(map(math.isfinite, spec.forfeit)):
            return f"`forfeit` is {list(spec.forfeit)}; give two finite rewards"
        return ""

    def begin(
        self,
        episode: int,
        index: int,
        seed: int,
        rules: m.RunRules,
        seated: list[SeatAssignment],
        now: float,
        *,
        watched: bool,
        scenes: bool,
        modes: list[m.Mode],
        draws: SeatSeeds,
        line: list[list[Any]] | None = None,
        pace: Pace | None = None,
    ) -> Play:
        """Seat the instances, ask for the first turn.

        Args:
            episode: its number.
            index: its index in the run.
            seed: the environment's.
            rules: the run's.
            seated: by seat.
            now: the time.
            watched: whether any watcher wants the text of each turn.
            scenes: whether any wants its scene.
            modes: by index in the run's list of agents.
            draws: the seats' seeds.
            line: the joint actions to begin with.
            pace: what watchers at a pace want.
        """
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
            scenes=scenes,
        )
        self.machine.on("start")
        due = pace is not None and self.shown <= now
        sent = start
        if due and pace is not None:
            self.shown = now + pace.every
            if not watched:
                sent = replace(start, watched=True, scenes=pace.scenes, once=True)
        asked = self.environment.outbox.ask(sent)
        begun = Episode(
            *(episode, self.number, index, seed, rules, self.spec, self.machine),
            *(cast("list[SeatAccount]", self.seats), now, line),
        )
        self.play = Play(self, begun, asked, start, seen=due, due=due)
        self.play.pause()
        return self.play

    def _peers(self) -> list[Peer]:
        """Return the programs that hold its seats, each once."""
        return list(dict.fromkeys(seat.instance.peer for seat in self.seats))

    def unseat(self, instance: Instance) -> None:
        """Free the seats of an agent that is lost; no episode is in progress."""
        for seat in self.seats:
            if seat.instance is instance and seat.machine.takes("leave"):
                seat.machine.on("leave")

    def close(self) -> None:
        """Free the environment and the seats; no episode is in progress."""
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
    """True if any clock stands still until a peer is back."""
    late: bool = False
    """True if watchers want more than the environment was asked for."""
    seen: bool = False
    """True if watchers at a pace are shown the episode."""
    due: bool = False
    """True if they are shown the turn that the environment was asked for last."""
    size: int = 0
    """Bytes of its actions, of the frames where these have no thoughts."""
    latest: int = 0
    """Bytes of memory for its latest turn, if they are many."""
    actions: int = 0
    """The same for its actions."""
    held: int = 0
    """How many of these are counted for the experiment; see ``holdings``."""
    rest: float = 0.0
    """No further turn is shown before this time."""

    def stop(self, now: float) -> None:
        """Pause the clocks of peers that the broker's restart disconnected."""
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
        """Resume the clocks of a peer; return whether it has any."""
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
        """Ask the seats that must act."""
        self.ask(self.episode.decide(now))

    def ask(self, decisions: list[m.AgentStart | m.AgentStep]) -> None:
        """Send decisions to the seats that they are for."""
        seats = self.match.seats
        for decision in decisions:
            seat = seats[decision.seat]
            seat.asked = seat.instance.peer.outbox.ask(decision)

    def step(self, now: float, pace: Pace | None) -> None:
        """Hand the actions of all seats to the environment, once it is there to take them.

        Args:
            now: the time.
            pace: of the watchers at a pace, if they are shown the turn that follows.
        """
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
        """Show watchers at a pace nothing more until they have another share of turns."""
        self.rest = self.match.shown - (AHEAD if self.seen else -JOIN)

    def overdue(self, now: float, pace: Pace | None) -> Ending | None:
        """Act upon the answers of seats that are overdue."""
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
        """Tell every seat that the episode is over; return the accounts."""
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

    def seat_of(self, instance: Instance) -> int | None:
        """Return the first seat that an instance holds."""
        return next((s.number for s in self.match.seats if s.instance is instance), None)

    def instances(self) -> set[Instance]:
        """Return those that have its seats."""
        return {seat.instance for seat in self.match.seats}

    def forfeit(self, seat: int, what: str) -> Ending:
        """Return the ending of a seat whose agent is lost."""
        return self.episode.forfeit(seat, "stalled", what)
