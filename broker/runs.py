"""Runs, from what an experiment asks for to the last result: which match plays which episode when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from msgspec.structs import replace

from dovetail.broker.clocks import FOREVER
from dovetail.broker.episode import Ending
from dovetail.broker.episodes import Episodes
from dovetail.broker.instances import Instance, Instances
from dovetail.broker.limits import MATCH, MATCHES
from dovetail.broker.match import Match, Play
from dovetail.broker.peers import Peer
from dovetail.broker.rebuild import MOVES
from dovetail.broker.run import Run, begun, problem
from dovetail.broker.tables import Tables
from dovetail.broker.watching import Watching
from dovetail.protocol import messages as m

REMARKS = 3
"""How many of the agents that were made again the end of a run names."""
SHUTDOWN = "the broker is shutting down"

EVENTS: dict[m.DoneReason, Literal["finished", "cancel", "failed"]] = {
    "finished": "finished",
    "drained": "finished",
    "cancelled": "cancel",
    "failed": "failed",
}
"""The event of a run's machine by the reason why it is over."""


class Runs:
    """All runs in progress and their matches."""

    def __init__(self, tables: Tables, instances: Instances, watching: Watching) -> None:
        self._tables = tables
        self._instances = instances
        self._watching = watching
        self._runs: dict[int, Run] = {}
        self._matches: dict[int, Match] = {}
        self._served: dict[Peer, dict[int, Match]] = {}
        """Matches by the peer that serves their environment."""
        self.ended: Callable[[Run], None] = lambda run: None
        """Called after each episode of a run whose agents are saved, or made again."""
        self.episodes = Episodes(tables, watching, self.go_on, self._replace, self.revive)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs.values())

    def get(self, number: int) -> Run | None:
        """Return a run in progress."""
        return self._runs.get(number)

    def match(self, number: int) -> Match | None:
        """Return a match of any run."""
        return self._matches.get(number)

    def uses(self, instance: Instance) -> bool:
        """Whether an instance is in any run."""
        return any(instance in run.agents for run in self)

    # -- what experiments ask for ----------------------------------------------------------------

    def on_run(self, peer: Peer, asked: m.Run, now: float) -> None:
        if not peer.asks(asked.id):
            return
        agents = [self._instances.find(name) for name in asked.agents]
        found = [agent for agent in agents if agent is not None]
        foreign = next((agent for agent in found if not agent.open_to(peer)), None)
        if foreign is not None:
            text = (
                f"agent {foreign.number} is another experiment's, which may create it as `shared`"
            )
            peer.refuse(asked.id, "access", text)
            return
        wrong = self._problem(asked, agents)
        if wrong:
            peer.refuse(asked.id, "unknown", wrong)
            return
        room = MATCHES - sum(len(run.matches) for run in self if run.experiment is peer)
        if room <= 0:
            text = f"your runs have {MATCHES:,} matches open, and may not have more; wait for a run"
            peer.refuse(asked.id, "limit", text)
            return
        run = begun(self._tables.number(), peer, asked, found)
        self._runs[run.number] = run
        matches = min(asked.concurrency, asked.episodes, room)
        self._tables.charge(peer, MATCH * matches)
        for _ in range(matches):
            self._open(run, now)
        peer.reply(asked.id, {"run": run.number})

    def _problem(self, asked: m.Run, agents: list[Instance | None]) -> str:
        if self._tables.stopping:
            return SHUTDOWN
        for name, agent in zip(asked.agents, agents, strict=True):
            if agent is None:
                return f"there is no agent {name!r}"
        if not self._offering(asked):
            name = asked.environment
            where = f" at {asked.peer!r}" if asked.peer else ""
            return (
                f"no environment {name!r} is offered{where}; start one with `dovetail env {name}`"
            )
        return problem(asked)

    def on_command(self, peer: Peer, command: m.Pause | m.Drain, now: float) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        event = "drain"
        if isinstance(command, m.Pause):
            event = "pause" if command.paused else "unpause"
        if not run.machine.takes(event):
            text = f"cannot {event} a run that is {run.machine.state}"
            peer.refuse(command.id, "wrong-state", text)
            return
        peer.reply(command.id)
        run.machine.on(event)
        self._advance(run, now)

    def on_cancel(self, peer: Peer, request: int, number: int, now: float) -> None:
        """End everything of a run now."""
        run = self._runs.get(number)
        if run is None or run.experiment is not peer:
            peer.refuse(request, "unknown", f"you have no run {number}")
            return
        peer.reply(request)
        self.finish(run, "cancelled", "the experiment cancelled the run", now)

    def _own_run(self, peer: Peer, command: m.RunCommand) -> Run | None:
        if not peer.asks(command.id):
            return None
        run = self._runs.get(command.run)
        if run is None or run.experiment is not peer:
            peer.refuse(command.id, "unknown", f"you have no run {command.run}")
            return None
        return run

    def on_start(self, peer: Peer, command: m.ExperimentStart, now: float) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        if command.abandon and run.rules.stepwise:
            for match, play in list(run.playing.items()):
                text = "the experiment abandoned the episode"
                self.episodes.finish(run, play, Ending("truncated", message=text))
                run.idle.append(match)
        if not run.rules.stepwise or run.playing or run.request is not None or run.permits:
            text = "start begins an episode of a stepwise run, once the last one is over"
            peer.refuse(command.id, "wrong-state", text)
            return
        if run.schedule:
            run.request = command.id
            run.permits = 1
        else:
            peer.refuse(command.id, "wrong-state", "that was the last episode of the run")
        self._advance(run, now)

    def on_step(self, peer: Peer, command: m.ExperimentStep, now: float) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        plays = [play for play in run.playing.values() if play.match.machine.state == "decision"]
        if not run.rules.stepwise or not plays or run.request is not None:
            text = "step continues an episode of a stepwise run that `start` began"
            peer.refuse(command.id, "wrong-state", text)
            return
        run.request = command.id
        self.episodes.decide(plays[0], now)

    # -- matches ---------------------------------------------------------------------------------

    def _offering(self, asked: m.Run) -> list[Peer]:
        return [
            peer
            for peer in self._tables.sessions.values()
            if peer.role == "environment"
            and asked.environment in peer.offers
            and (asked.peer is None or asked.peer == peer.name)
        ]

    def _open(self, run: Run, now: float, avoid: Peer | None = None) -> bool:
        """Open a match at the peer with the fewest that offers the environment; False if none does.

        A peer to ``avoid`` is taken only if there is no other.
        """
        asked = run.asked
        offering = self._offering(asked)
        if not offering:
            return False
        peer = min(offering, key=lambda each: (each is avoid, len(self._served.get(each, ()))))
        number = self._tables.number()
        seq = peer.outbox.ask(m.Open(number, asked.environment, asked.configuration))
        patience = FOREVER if asked.answer_timeout is None else asked.answer_timeout
        match = Match(number, run.number, peer, seq, now + patience)
        self._matches[number] = run.matches[number] = match
        self._served.setdefault(peer, {})[number] = match
        self._tables.timers.watch(match, self._not_opened)
        return True

    def on_spec(self, peer: Peer, spec: m.Spec, now: float) -> None:
        match = self._matches.get(spec.match)
        if match is not None and match.moving and match.environment is peer:
            self.episodes.rebuilding.opened(match, spec, now)
            return
        if match is None or match.environment is not peer or not match.machine.takes("spec"):
            self._tables.ignore(peer)
            return
        run = self._runs[match.run]
        wrong = match.opened(spec)
        if not wrong and spec.seats != len(run.agents):
            wrong = (
                f"{run.asked.environment} has {spec.seats} seats as configured, "
                f"and the run names {len(run.agents)} agents"
            )
        if wrong:
            self.finish(run, "failed", wrong, now)
            return
        run.idle.append(match)
        self._advance(run, now)

    def refused(self, asked: m.Open | m.Init, text: str, now: float) -> None:
        """Take the word of a program that it cannot play a match."""
        match = self._matches[asked.match]
        if isinstance(asked, m.Open):
            if match.moving:
                self._replace(self._runs[match.run], match, text, now)
                return
            match.environment.outbox.asked.pop(match.asked, None)
            match.machine.on("error")
        self.finish(self._runs[match.run], "failed", text, now)

    def _not_opened(self, match: Match, now: float) -> None:
        run = self._runs[match.run]
        patience = run.rules.answer_timeout
        text = f"environment {match.environment.name} did not open within {patience} s"
        self.finish(run, "failed", text, now)

    def _close(self, run: Run, match: Match) -> None:
        """Take a match that plays nothing out of every table."""
        if match.moving:
            self.episodes.rebuilding.end(match)
        del self._matches[match.number], run.matches[match.number]
        self._unserve(match)
        if match in run.idle:
            run.idle.remove(match)
        match.close()

    def _unserve(self, match: Match) -> None:
        del self._served[match.environment][match.number]
        if not self._served[match.environment]:
            del self._served[match.environment]

    # -- on and on -------------------------------------------------------------------------------

    def _advance(self, run: Run, now: float) -> None:
        """Begin whatever episodes can begin, or finish the run."""
        while run.machine.state == "running" and run.idle and run.schedule:
            if run.rules.stepwise and not run.permits:
                break
            if not all(instance.free() for instance in run.agents):
                break
            run.permits = 0
            self.episodes.begin(run, run.idle.pop(), now)
        if run.playing:
            return
        if run.machine.state == "draining":
            self.finish(run, "drained", SHUTDOWN if self._tables.stopping else "", now)
        elif run.machine.state == "running" and not run.schedule:
            self.finish(run, "finished", "", now)

    def advance_all(self, now: float) -> None:
        for run in list(self):
            self._advance(run, now)

    def go_on(self, run: Run, match: Match, now: float) -> None:
        """Continue after an episode."""
        if run.asked.save_every or run.waits:
            self.ended(run)
        if match.moving:  # it ended before the other environment had caught up
            self._replace(run, match, f"no environment {run.asked.environment!r} is left", now)
            return
        run.idle.append(match)
        self._advance(run, now)
        if len(self._runs) > 1:
            self.advance_all(now)

    def revive(self, peer: Peer, now: float) -> None:
        """Seat a peer's agents again that had left a decision unanswered: it is heard."""
        stalled = [each for each in self._instances.at(peer) if each.stalled]
        for instance in stalled:
            instance.stalled = False
        if stalled:
            self.advance_all(now)

    def finish(
        self,
        run: Run,
        reason: m.DoneReason,
        message: str,
        now: float,
        ending: Callable[[Play], Ending] | None = None,
    ) -> None:
        """End a run: its episodes in progress, its matches, its experiment's wait.

        ``ending`` says how its episodes end, if they are not just cancelled with it.
        """
        run.machine.on(EVENTS[reason])
        for play in sorted(run.playing.values(), key=lambda each: each.match.number):
            cancelled = Ending("cancelled", message=message)
            self.episodes.finish(run, play, cancelled if ending is None else ending(play))
        for match in list(run.matches.values()):
            self._close(run, match)
        del self._runs[run.number]
        if run.request is not None:
            run.experiment.refuse(run.request, "wrong-state", "the run is over")
        message = "; ".join(filter(None, [message, *run.remarks[-REMARKS:]]))
        done = m.Done(run.number, run.finished, reason, message)
        self._watching.tell(run, done)
        self._watching.over(run)
        run.experiment.outbox.deliver(replace(done))
        if not self._tables.stopping:
            self.advance_all(now)

    # -- who is gone -----------------------------------------------------------------------------

    def agent_gone(self, instance: Instance, what: str, now: float) -> None:
        """End the runs of an agent that will not come back, but those that wait for it."""
        for run in [run for run in self if instance in run.agents and not run.waits]:
            price = run.asked.on_agent_lost
            self.finish(run, "failed", what, now, partial(_loss, instance, price, what))

    def experiment_gone(self, peer: Peer, what: str, now: float) -> None:
        """End the runs of an experiment that will not come back."""
        for run in [run for run in self if run.experiment is peer]:
            self.finish(run, "cancelled", what, now)

    def environment_gone(self, peer: Peer, what: str, now: float) -> None:
        """Continue without the matches of a peer that will not come back."""
        for match in list(self._served.get(peer, {}).values()):
            if match.number in self._matches:
                self._replace(self._runs[match.run], match, what, now)

    def _replace(self, run: Run, match: Match, what: str, now: float) -> None:
        """Continue without the environment of a match.

        If another peer offers it, the episode in progress moves there; otherwise it ends, and a new
        match takes the place of this one if there can be one.
        """
        if match in run.playing and self._move(run, match, now):
            return
        ending = Ending("environment-failed", message=what)
        if not self._open(run, now, avoid=match.environment) and len(run.matches) == 1:
            self.finish(run, "failed", what, now, lambda play: ending)
            return
        play = run.playing.get(match)
        if play is not None:
            self.episodes.finish(run, play, ending)
        self._close(run, match)
        self._advance(run, now)

    def _move(self, run: Run, match: Match, now: float) -> bool:
        """Move the episode in progress to another environment; False if there is none."""
        others = [p for p in self._offering(run.asked) if p is not match.environment]
        if not others or match.moves >= MOVES:
            return False
        peer = min(others, key=lambda each: len(self._served.get(each, ())))
        self._unserve(match)
        self._served.setdefault(peer, {})[match.number] = match
        self.episodes.rebuilding.begin(run, run.playing[match], peer, now)
        return True

    def rewatch(self) -> None:
        """Watch the deadline of each match that is being opened again."""
        for match in self._matches.values():
            self._tables.timers.rewatch(match, self._not_opened)

    # -- all of them -----------------------------------------------------------------------------

    def report(self) -> None:
        """Tell each experiment, and who watches, how far its runs are, if that has changed."""
        for run in self:
            progress = run.progress()
            if progress != run.told:
                run.told = progress
                run.experiment.outbox.tell(progress)
                self._watching.tell(run, progress)

    def drain(self, now: float) -> None:
        """Begin no more episodes in any run."""
        for run in list(self):
            if run.machine.takes("drain"):
                run.machine.on("drain")
                self._advance(run, now)

    def cancel(self, why: str, now: float) -> None:
        """End every run at once."""
        for run in list(self):
            self.finish(run, "cancelled", why, now)


def _loss(instance: Instance, price: m.AgentLost, what: str, play: Play) -> Ending:
    return play.loss(instance, price, what)
