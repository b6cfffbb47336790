"""The runs in progress: schedules their episodes, and handles lost peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal

from msgspec.structs import replace

from dovetail.broker.matches.instances import Instance, Instances
from dovetail.broker.matches.match import Match, Play
from dovetail.broker.matches.matches import Matches
from dovetail.broker.matches.run import RunState
from dovetail.broker.matches.stack import Slot
from dovetail.broker.matches.stack_decode import problem as unsuitable
from dovetail.broker.peers.limits import PASSED, REPORTED, charge
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.rules.ending import Ending
from dovetail.broker.runs.episode_migration import MOVES
from dovetail.broker.runs.episodes import Episodes
from dovetail.broker.runs.events import BatchEnded, Ended, EnvironmentFailed, Heard, Orphaned
from dovetail.broker.runs.stacked import Stacked, groups
from dovetail.broker.runs.stalled_runs import waiting
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

    # -- matches ---------------------------------------------------------------------------------

    def on_spec(self, peer: Peer, spec: m.Spec, now: float) -> None:
        match = self.matches.get(spec.match)
        if match is not None and match.moving and match.environment is peer:
            self.episodes.migrations.opened(match, spec, now)
            return
        if match is None or match.environment is not peer or not match.machine.takes("spec"):
            self._broker.ignore(peer, spec)
            return
        run = self._runs[match.run]
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
            self.stacked.opened(run, match)
        else:  # its episodes are played singly instead
            self._close(run, match)
            for _ in range(match.slots):
                self.matches.open(run, now)
        self.advance(run, now)

    def refused(self, asked: m.Open | m.Init, error: m.Error, now: float) -> None:
        """Handle a program's refusal to play a match."""
        match = self.matches.get(asked.match)
        assert match is not None  # a match that is closed awaits nothing
        run = self._runs[match.run]
        if isinstance(asked, m.Open):
            if match.moving:
                self._replace_environment(run, match, error.message, now)
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
        run = self._runs[match.run]
        if match.play is not None:
            self.episodes.overdue(run, match.play, now)
            return
        patience = run.rules.answer_timeout
        text = f"environment {match.environment.name} did not open within {patience} s"
        self.finish(run, "failed", text, now, code="timeout")

    def _close(self, run: RunState, match: Match) -> None:
        """Close a match without an episode."""
        if match.moving:
            self.episodes.migrations.end(match)
        self.stacked.close(run, match)
        self.matches.close(run, match)

    # -- scheduling ------------------------------------------------------------------------------

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
            self.episodes.begin(run, run.idle.pop(), now)
        self.stacked.advance(run, now)
        if run.running:
            return
        if run.machine.state == "draining":
            self.finish(run, "drained", SHUTDOWN if self._broker.stopping else "", now)
        elif run.machine.state == "running" and not run.schedule:
            self.finish(run, "finished", "", now)

    def on_ended(self, event: Ended, now: float) -> None:
        self.go_on(event.run, event.match, now)

    def on_batch_ended(self, event: BatchEnded, now: float) -> None:
        self._went_on(event.run, now)

    def on_environment_failed(self, event: EnvironmentFailed, now: float) -> None:
        self._replace_environment(event.run, event.match, event.text, now)

    def on_heard(self, event: Heard, now: float) -> None:
        self.revive(event.peer, now)

    def go_on(self, run: RunState, match: Match, now: float) -> None:
        """Continue a run after an episode of a match."""
        if match.moving:  # it ended before the other environment had caught up
            self._replace_environment(
                run, match, f"no environment {run.asked.environment!r} is left", now
            )
            return
        run.idle.append(match)
        self._went_on(run, now)

    def _went_on(self, run: RunState, now: float) -> None:
        """Continue a run after an episode, and other runs that may have waited for its agents."""
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
        """End a run with its episodes and matches, and tell its experiment. ``ending`` returns the
        ending of an episode in progress, None cancels them; ``blame`` is the index of the agent at
        fault."""
        run.machine.on(EVENTS[reason])
        cancelled = Ending("cancelled", message=message)
        for play in sorted(run.playing.values(), key=lambda each: each.match.number):
            self.episodes.finish(run, play, cancelled if ending is None else ending(play))
        for match in list(run.stacks):
            self.stacked.finish(run, match, ending or (lambda slot: cancelled))
        for match in list(run.matches.values()):
            self._close(run, match)
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

    # -- losses ----------------------------------------------------------------------------------

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
                self._replace_environment(self._runs[match.run], match, what, now)

    def _replace_environment(self, run: RunState, match: Match, what: str, now: float) -> None:
        """Continue a run without a match's environment.

        The episode in progress moves to another peer if one offers the environment.  Otherwise it
        ends, and a new match replaces this one if possible.
        """
        if match in run.playing and self._move(run, match, now):
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
            self.episodes.finish(run, play, ending)
        self.stacked.finish(run, match, lambda slot: ending)
        self._close(run, match)
        self.advance(run, now)

    def _move(self, run: RunState, match: Match, now: float) -> bool:
        """Move the episode in progress to another environment; return whether there is one."""
        peer = self.matches.server(run.asked, avoid=match.environment)
        if peer is None or peer is match.environment or match.moves >= MOVES:
            return False
        self.matches.move(match, peer)
        self.episodes.migrations.begin(run, run.playing[match], peer, now)
        return True

    # -- all runs --------------------------------------------------------------------------------

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
