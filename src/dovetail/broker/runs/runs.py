"""The runs in progress: schedules their episodes, and handles lost peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

from msgspec.structs import replace

from dovetail.broker.matches.instances import Instance, Instances
from dovetail.broker.matches.match import Match, Play
from dovetail.broker.matches.matches import Matches
from dovetail.broker.matches.run import RunState
from dovetail.broker.matches.stack import Slot
from dovetail.broker.matches.stack_decode import problem as unsuitable
from dovetail.broker.peers.limits import PASSED, REPORTED, charge, quoted
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.rules.ending import Ending
from dovetail.broker.runs.episode_migration import MOVES
from dovetail.broker.runs.episodes import Episodes
from dovetail.broker.runs.events import Orphaned
from dovetail.broker.runs.stacked import Stacked, groups
from dovetail.broker.watch.watching import Watching
from dovetail.protocol import messages as m
from dovetail.protocol.errors import CODES

REMARKS = 3
"""Maximum remarks in the message at the end of a run."""
SHUTDOWN = "the broker is shutting down"

EVENTS: dict[m.DoneReason, Literal["finished", "cancel", "failed"]] = {
    "finished": "finished",
    "drained": "finished",
    "cancelled": "cancel",
    "failed": "failed",
}
"""The event of a run's state machine, by the reason for its end."""
PATIENCE = 2.0
"""Seconds without an episode after which an experiment is told what its run is waiting for."""


class Runs(BrokerPart):
    """The runs in progress, and their matches."""

    STATE = ("_runs",)

    def __init__(self, broker: BrokerState, instances: Instances, watching: Watching) -> None:
        self._broker = broker
        self._instances = instances
        self._watching = watching
        self._runs: dict[int, RunState] = {}
        self.matches = Matches(broker)
        self.episodes = Episodes(broker, watching, self.matches)
        self.stacked = Stacked(broker, watching)

    def __iter__(self) -> Iterator[RunState]:
        return iter(self._runs.values())

    def get(self, number: int) -> RunState | None:
        """Return a run by number; None if it is not in progress."""
        return self._runs.get(number)

    def of(self, instance: Instance) -> list[RunState]:
        return [self._runs[number] for number in sorted(instance.runs)]

    def add(self, run: RunState, matches: int, now: float) -> None:
        """Start a run with a number of matches."""
        self._runs[run.number] = run
        run.experiment.held += run.size
        for instance in run.instances():
            instance.runs.add(run.number)
        servers = self.matches.with_room(run.asked, stacked=True)
        for slots in groups(run.asked, run.agents, servers, matches) or [0] * matches:
            if run.short or not self.matches.open(run, now, slots=slots):  # or for any after it
                run.short += 1

    def on_spec(self, peer: Peer, spec: m.Spec, now: float) -> None:
        match = self.matches.get(spec.match)
        if match is not None and match.moving and match.environment is peer:
            self.episodes.migrations.opened(match, spec, now)
            return
        if match is None or match.environment is not peer or not match.machine.takes("spec"):
            self._broker.ignore(peer, spec)
            return
        run = match.run
        wrong, code = match.opened(spec), "invalid"
        if not wrong and spec.seats != len(run.agents):
            wrong = (
                f"{run.asked.environment} has {_counted(spec.seats, 'seat')} as configured, "
                f"and the run names {_counted(len(run.agents), 'agent')}"
            )
            code = "seats"
        if wrong:
            self.finish(run, "failed", wrong, now, code=code)
            return
        if not match.slots:
            run.idle.append(match)
        elif not unsuitable(spec):
            self.stacked.opened(match)
        else:  # its episodes are played singly instead
            self._close(match)
            for _ in range(match.slots):
                self.matches.open(run, now)
        self.advance(run, now)

    def refused(self, asked: m.Open | m.Init, error: m.Error, now: float) -> None:
        """Handle a program's refusal to play a match."""
        match = self.matches.get(asked.match)
        assert match is not None  # a match that is closed awaits nothing
        run = match.run
        if isinstance(asked, m.Open):
            if match.moving:
                self.replace_environment(match, error.message, now)
                return
            match.environment.outbox.answered(match.asked)
            match.machine.on("error")
        blame = None
        if isinstance(asked, m.Init):  # a substitute has no index to blame
            numbers = [agent.number for agent in run.agents]
            blame = numbers.index(asked.instance) if asked.instance in numbers else None
        code = error.code if error.code in CODES else "unavailable"
        self.finish(run, "failed", error.message, now, blame=blame, code=code)

    def on_overdue(self, match: Match, now: float) -> None:
        run = match.run
        if match.play is not None:
            self.episodes.overdue(match.play, now)
            return
        patience = run.rules.answer_timeout
        text = f"environment {match.environment.name} did not open within {patience} s"
        self.finish(run, "failed", text, now, code="timeout")

    def _close(self, match: Match) -> None:
        """Close a match without an episode."""
        if match.moving:
            self.episodes.migrations.end(match)
        self.stacked.close(match)
        self.matches.close(match)

    def advance(self, run: RunState, now: float) -> None:
        """Start the episodes that can start, or finish the run."""
        if run.machine.state == "running" and (
            text := self._broker.recorded_too_much(run.experiment)
        ):
            self.finish(run, "failed", text, now, code="limit")
            return
        while run.short and self.matches.open(run, now):
            run.short -= 1
        while run.machine.state == "running" and run.idle and run.schedule:
            if run.rules.stepwise and not run.permits:
                break
            if not run.free():
                break
            run.permits = 0
            self.episodes.begin(run.idle.pop(), now)
        self.stacked.advance(run, now)
        if run.running:
            return
        if run.machine.state == "draining":
            self.finish(run, "drained", SHUTDOWN if self._broker.stopping else "", now)
        elif run.machine.state == "running" and not run.schedule:
            self.finish(run, "finished", "", now)

    def go_on(self, run: RunState, match: Match | None, now: float) -> None:
        """Continue a run after an episode, of a single match or not, and then other runs that may
        have waited for its agents."""
        if match is not None and match.moving:  # it ended before the other had caught up
            text = f"no environment {run.asked.environment!r} is left"
            self.replace_environment(match, text, now)
            return
        if match is not None:
            run.idle.append(match)
        self.advance(run, now)
        self.wake([each for each in run.instances() if each.offer.capacity], now)

    def wake(self, instances: Iterable[Instance], now: float, *, room: bool = False) -> None:
        """Advance the runs that may have waited for some agents or, with ``room``, for an
        environment, oldest first."""
        numbers = {number for each in instances if each.free() for number in each.runs}
        if room:
            numbers.update(run.number for run in self if run.short)
        for number in sorted(numbers):
            run = self._runs.get(number)
            if run is not None and (run.short or (run.ready and run.free())):
                self.advance(run, now)

    def revive(self, peer: Peer, now: float) -> None:
        """Free a peer's stalled agents to be seated again, since the peer was heard."""
        held = self._instances.at(peer)
        self._broker.charge(peer, PASSED * len(held))
        stalled = [each for each in held if each.stalled]
        for instance in stalled:
            instance.stalled = False
        if stalled:
            self.wake(stalled, now)

    def finish(
        self,
        run: RunState,
        reason: m.DoneReason,
        message: str,
        now: float,
        ending: Callable[[Play | Slot], Ending] | None = None,
        blame: int | None = None,
        code: str = "unavailable",
    ) -> None:
        """End a run with its matches, and tell its experiment.  ``ending`` returns the ending of an
        episode in progress, None cancels them; ``blame`` is the index of the agent at fault."""
        run.machine.on(EVENTS[reason])
        cancelled = Ending("cancelled", message=message)
        for play in sorted(run.playing.values(), key=lambda each: each.match.number):
            self.episodes.finish(play, cancelled if ending is None else ending(play))
        for match in list(run.stacks):
            self.stacked.finish(match, ending or (lambda slot: cancelled))
        for match in list(run.matches.values()):
            self._close(match)
        del self._runs[run.number]
        run.experiment.held -= run.size
        for instance in run.instances():
            instance.runs.discard(run.number)
            made = instance.made is not None
            if made and not instance.runs and instance.owner.machine.state == "gone":
                self._broker.events.append(Orphaned(instance))
        if run.request is not None:
            run.experiment.refuse(run.request, "wrong-state", "the run is over")
        message = "; ".join(filter(None, [message, *run.remarks[-REMARKS:]]))
        done = m.Done(run.number, run.finished, reason, message, blame=blame)
        if reason == "failed":
            done.code = code
        self._watching.tell(run, done)
        self._watching.over(run)
        run.experiment.outbox.deliver(replace(done))
        if not self._broker.stopping:
            self.wake([each for each in run.instances() if each.offer.capacity], now, room=True)

    def agent_gone(self, instance: Instance, what: str, now: float) -> None:
        """End the runs of an agent that will not come back, except those that wait for it."""
        for run in [run for run in self.of(instance) if not run.waits]:
            price = run.asked.on_agent_lost
            lost = partial(_loss, instance, price, what)
            self.finish(run, "failed", what, now, lost, blame=run.agents.index(instance))

    def experiment_gone(self, peer: Peer, what: str, now: float) -> None:
        """End the runs of an experiment that will not come back."""
        for run in [run for run in self if run.experiment is peer]:
            self.finish(run, "cancelled", what, now)

    def environment_gone(self, peer: Peer, what: str, now: float) -> None:
        """Replace the environments of a peer that will not come back."""
        for match in self.matches.at(peer):
            if self.matches.get(match.number) is not None:  # its run may have ended with another
                self.replace_environment(match, what, now)

    def replace_environment(self, match: Match, what: str, now: float) -> None:
        """Continue a run without a match's environment.  The episode in progress moves to another
        peer, if any offers it; else it ends, and a new match replaces this one if possible."""
        run = match.run
        if match in run.playing and self._move(match, now):
            return
        ending = Ending("environment-failed", message=what)
        opened = self.matches.open(run, now, match.environment, slots=match.slots)
        if not opened:  # a group continues as single matches
            for _ in range(match.slots):
                opened = self.matches.open(run, now, match.environment)
        if not opened and self.matches.offering(run.asked):  # none has room now
            run.short += 1
            opened = True
        if not opened and len(run.matches) == 1:
            self.finish(run, "failed", what, now, lambda play: ending)
            return
        play = run.playing.get(match)
        if play is not None:
            self.episodes.finish(play, ending)
        self.stacked.finish(match, lambda slot: ending)
        self._close(match)
        self.advance(run, now)

    def _move(self, match: Match, now: float) -> bool:
        """Move the episode in progress to another environment; return whether there is one."""
        run = match.run
        peer = self.matches.server(run.asked, avoid=match.environment)
        if peer is None or peer is match.environment or match.moves >= MOVES:
            return False
        self.matches.move(match, peer)
        self.episodes.migrations.begin(run.playing[match], peer, now)
        return True

    def report(self, now: float) -> None:
        """Send experiments and watchers the progress of runs, where it has changed."""
        playing: dict[Instance, RunState | None] = {}

        def first(instance: Instance) -> RunState | None:
            if instance not in playing:  # once, however many runs wait for it
                found = (self._runs[number] for number in instance.runs)
                busy = (run for run in found if run.running)
                playing[instance] = min(busy, key=lambda run: run.number, default=None)
            return playing[instance]

        for run in self:
            progress = run.progress(waiting(run, first, now))
            if not run.experiment.outbox.reliable:
                charge(run.experiment, REPORTED, now)
            if progress != run.told:
                run.told = progress
                run.experiment.outbox.tell(progress)
                self._watching.tell(run, progress)

    def drain(self, now: float) -> None:
        """Start no more episodes in any run."""
        for run in list(self):
            if run.machine.takes("drain"):
                run.machine.on("drain")
                self.advance(run, now)

    def cancel(self, why: str, now: float) -> None:
        """End every run at once."""
        for run in list(self):
            self.finish(run, "cancelled", why, now)


def _loss(instance: Instance, price: m.AgentLost, what: str, play: Play | Slot) -> Ending:
    """Return the ending of an episode after an agent was lost."""
    seat = play.seat_of(instance)
    if seat is not None and price == "forfeit":
        return play.forfeit(seat, what)
    if seat is not None and price == "truncate":
        return Ending("truncated", seat, message=what)
    return Ending("disconnected", seat, message=what)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def awaited(runs: Runs, peer: Peer, kind: str, about: Mapping[str, Any]) -> int | None:
    """Return the ``seq`` of the request that an answer is for, by its type and readable fields;
    None if none is pending."""
    match = runs.matches.get(about.get("match", 0))
    play = runs.episodes.get(about.get("episode", 0))
    if kind in ("turns", "actions"):
        return runs.stacked.awaited(peer, kind, about.get("match", 0), about.get("instance"))
    if kind == "spec":
        return match.asked if match is not None and match.environment is peer else None
    if kind == "error" or play is None:
        return about.get("answers")
    episode = play.episode
    if kind == "turn":
        owed = episode.awaits(about.get("turn", episode.turn + 1))
        return play.asked if owed and play.match.environment is peer else None
    seat = about.get("seat", -1)
    owed = play.owes(peer, seat, about.get("turn", episode.turn))
    return play.match.seats[seat].asked if owed else None


def answered(runs: Runs, peer: Peer | None, answer: m.Message) -> int | None:
    """Return the ``seq`` of the request that a peer's message answers, if any."""
    if peer is None:
        return None
    names = ("match", "instance", "episode", "turn", "seat", "answers")
    about = {name: getattr(answer, name) for name in names if hasattr(answer, name)}
    return awaited(runs, peer, str(type(answer).__struct_config__.tag), about)


def waiting(run: RunState, playing: Callable[[Instance], RunState | None], now: float) -> str:
    """Return a line that says what a run is waiting for; empty if it has not waited long.
    ``playing`` returns the oldest run in which an agent plays an episode."""
    asked_for = run.permits or not run.rules.stepwise
    if run.machine.state != "running" or run.running or not run.schedule or not asked_for:
        run.held = None
        return ""
    if run.held is None:
        run.held = now
    if now - run.held < PATIENCE:
        return ""
    for assignment in run.assignments(run.schedule.first):
        if not assignment.instance.free():
            return _agent(assignment.instance, playing)
    if run.short and not run.matches:
        name = quoted(run.asked.environment)
        return f"environment {name} plays as many matches as it can; wait until a run is over"
    if not run.idle:
        return f"environment {quoted(run.asked.environment)} has not opened a match yet"
    return ""


def _agent(instance: Instance, playing: Callable[[Instance], RunState | None]) -> str:
    """Return a line that says why an agent cannot be seated."""
    agent = f"agent {instance.number} ({quoted(instance.agent)})"
    if instance.lost:
        return f"{agent} was lost with its program and is not back yet"
    if instance.stalled:
        return f"{agent} left a decision unanswered, and its program is silent"
    other = playing(instance)
    if other is not None:
        where = f"run {other.number} of {quoted(other.experiment.name)}"
        game, left = quoted(other.asked.environment), other.asked.episodes - other.finished
        text = f"{agent} plays in {where} ({game}, {left} episodes left)"
        return f"{text}; wait until that run is over, or cancel it"
    return f"{agent} cannot begin another episode yet"
