"""Runs, from what an experiment asks for to the last result: matches, episodes, turns, clocks.

The game itself is played in ``match``; which episode comes next is known to ``run``.
"""

from __future__ import annotations

import heapq
from typing import cast

from dovetail.broker.match import FOREVER, Match, Over, Rules
from dovetail.broker.peers import Instance, Peer
from dovetail.broker.records import Played
from dovetail.broker.run import Running
from dovetail.broker.state import State
from dovetail.broker.watching import Watching
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.states import RUN, follow

MATCHES_PER_RUN = 4096
SHUTDOWN = "the broker is shutting down"


class Runs:
    """All runs in progress."""

    def __init__(self, state: State, watching: Watching) -> None:
        self._state = state
        self._watching = watching
        self._timers: list[tuple[float, int, Match]] = []

    def on_run(self, peer: Peer, asked: m.Run, now: float) -> None:
        if self._state.repeated(peer, asked.id):
            return
        problem: str | None = None
        agents: list[Instance] = []
        for name in asked.agents:
            instance = self._find_agent(name)
            if instance is None:
                problem = f"there is no agent {name!r}"
                break
            agents.append(instance)
        if asked.seeds is not None and len(asked.seeds) != asked.episodes:
            problem = f"{len(asked.seeds)} seeds for {asked.episodes} episodes; give one each"
        elif not agents and problem is None:
            problem = "a run needs at least one agent"
        elif asked.stepwise and asked.concurrency != 1:
            problem = "a stepwise run plays one episode at a time; concurrency must be 1"
        elif self._state.stopping:
            problem = SHUTDOWN
        if problem is not None:
            self._state.complain(peer, "unknown", problem, id=asked.id)
            return
        rules = Rules(
            asked.mode,
            asked.clock,
            asked.patience,
            asked.max_turns,
            asked.on_timeout,
            asked.on_illegal,
            asked.check,
            asked.stepwise,
            asked.lookahead,
        )
        run = Running(self._state.number(), peer, asked, agents, rules)
        for _ in range(min(asked.concurrency, asked.episodes, MATCHES_PER_RUN)):
            if self._open(run, now) is None:
                self._state.complain(
                    peer,
                    "unknown",
                    f"no environment {asked.environment!r} is offered; start one with "
                    f"`dovetail env {asked.environment}`",
                    id=asked.id,
                )
                return
        self._state.runs[run.number] = run
        self._state.reply(peer, asked.id, {"run": run.number})

    def _find_agent(self, name: int | str) -> Instance | None:
        if isinstance(name, int):
            instance = self._state.instances.get(name)
            return instance if instance is not None and instance.ready else None
        for instance in self._state.instances.values():
            if instance.offer.instance and instance.agent == name:
                return instance
        return None

    def _open(self, run: Running, now: float, avoid: Peer | None = None) -> Match | None:
        """Open a match at the peer with the fewest that offers the environment; None if none does.

        A peer to ``avoid`` is taken only if there is no other.
        """
        asked = run.asked
        offering = [
            peer
            for peer in self._state.sessions.values()
            if peer.role == "environment" and asked.environment in peer.offers
        ]
        if not offering:
            return None
        peer = min(offering, key=lambda each: (each is avoid, len(each.matches)))
        number = self._state.number()
        opening = m.Open(number, asked.environment, asked.configuration)
        match = Match(number, run, peer, run.rules, opening, self._state.send, self._state.resend)
        self._state.matches[match.number] = match
        run.matches.add(match)
        peer.matches.add(match)
        if run.rules.patience is not None:
            match.deadline = now + run.rules.patience
            self._set_timer(match)
        self._state.send(peer, opening, True)
        return match

    def on_spec(self, peer: Peer, spec: m.Spec, now: float) -> None:
        match = self._state.matches.get(spec.match)
        if match is None or match.environment is not peer or not match.allows("spec"):
            self._state.counters["ignored"] += 1
            return
        run: Running = match.run
        problem = match.opened(spec)
        if problem is None and spec.seats != len(run.agents):
            problem = (
                f"{run.asked.environment} has {spec.seats} seats as configured, "
                f"and the run names {len(run.agents)} agents"
            )
        if problem is not None:
            self.finish_run(run, "failed", problem, now)
            return
        match.deadline = FOREVER
        run.idle.append(match)
        self.advance(run, now)

    def on_run_command(self, peer: Peer, command: m.Pause | m.Drain | m.Cancel, now: float) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        kind = cast(str, type(command).__struct_config__.tag)
        if isinstance(command, m.Pause) and command.paused == (run.state == "paused"):
            self._state.reply(peer, command.id, None)
            return
        state = follow(RUN, run.state, kind)
        if state is None:
            self._state.complain(
                peer, "wrong-state", f"cannot {kind} a run that is {run.state}", id=command.id
            )
            return
        self._state.reply(peer, command.id, None)
        if isinstance(command, m.Cancel):
            self.finish_run(run, "cancelled", "the experiment cancelled the run", now)
            return
        run.state = state
        self.advance(run, now)

    def _own_run(self, peer: Peer, command: m.RunCommand) -> Running | None:
        if self._state.repeated(peer, command.id):
            return None
        run = self._state.runs.get(command.run)
        if run is None or run.experiment is not peer:
            self._state.complain(peer, "unknown", f"you have no run {command.run}", id=command.id)
            return None
        return run

    def on_experiment_start(self, peer: Peer, command: m.ExperimentStart, now: float) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        if not run.rules.stepwise or run.playing or run.request is not None or run.permits:
            self._state.complain(
                peer,
                "wrong-state",
                "start begins an episode of a stepwise run, once the last one is over",
                id=command.id,
            )
            return
        run.request = command.id
        run.permits = 1
        self.advance(run, now)

    def on_experiment_step(self, peer: Peer, command: m.ExperimentStep, now: float) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        match = next((each for each in run.matches if each.state == "decision"), None)
        if not run.rules.stepwise or match is None or run.request is not None:
            self._state.complain(
                peer,
                "wrong-state",
                "step goes on with an episode of a stepwise run that `start` began",
                id=command.id,
            )
            return
        run.request = command.id
        match.decide(now)
        self._set_timer(match)

    def on_turn(self, peer: Peer, turn: m.Turn, now: float) -> None:
        match = self._state.episodes.get(turn.episode)
        if (
            match is None
            or match.environment is not peer
            or match.state != "transition"
            or turn.turn != match.turn + 1
        ):
            self._state.counters["ignored"] += 1
            return
        self._state.counters["turns"] += 1
        try:
            over = match.transition(turn, now)
        except ProtocolError as error:
            text = f"{peer.name} sent an invalid turn {turn.turn}: {error}"
            self._state.complain(peer, error.code, text, episode=turn.episode)
            self._finish_episode(match, Over("environment-failed", message=text), now)
            return
        run: Running = match.run
        watchers = self._watching.of(run)
        if watchers or run.request is not None:
            self._watching.show(match, turn, over, watchers)
        if over is not None:
            self._finish_episode(match, over, now)
        elif match.deadline < match.timer:
            self._set_timer(match)

    def on_action(self, peer: Peer, action: m.Action, now: float) -> None:
        match = self._state.episodes.get(action.episode)
        if match is None:
            self._state.counters["ignored"] += 1
            self.revive(peer, now)
            return
        seats = match.seats
        number = action.seat
        seat = seats[number] if 0 <= number < len(seats) else None
        if seat is None or seat.instance is None or seat.instance.peer is not peer:
            self._state.counters["ignored"] += 1
            self._state.complain(
                peer,
                "illegal",
                f"seat {number} of episode {action.episode} is not yours",
                episode=action.episode,
                seat=number,
            )
            return
        if seat.state != "deciding" or action.turn != match.turn:
            self._state.counters["ignored"] += 1
            seat.ignored += 1
            return
        over = match.answer(seat, action, now)
        if over is not None:
            self._finish_episode(match, over, now)
        elif match.deadline < match.timer:
            self._set_timer(match)

    def revive(self, peer: Peer, now: float) -> None:
        """Seat a peer's agents again that had left a decision unanswered: it is heard."""
        stalled = [each for each in peer.instances.values() if each.stalled]
        for instance in stalled:
            instance.stalled = False
        if stalled:
            self.advance_all(now)

    def advance_all(self, now: float) -> None:
        """Begin whatever episodes can begin in any run."""
        for run in list(self._state.runs.values()):
            self.advance(run, now)

    def advance(self, run: Running, now: float) -> None:
        """Begin whatever episodes can begin, or finish the run."""
        while run.state == "running" and run.idle and run.waiting():
            if run.rules.stepwise and not run.permits:
                break
            seating = run.seating(run.peek())
            busy = set(run.agents)
            if not all(instance.free() for instance in busy):
                break
            if run.rules.stepwise:
                run.permits -= 1
            index = run.take()
            match = run.idle.pop()
            for instance in busy:
                instance.busy += 1
            episode = self._state.number()
            self._state.episodes[episode] = match
            run.playing += 1
            watched = run.rules.stepwise or bool(self._watching.of(run))
            match.begin(episode, index, run.seed(index), run.agents, seating, watched, now)
            self._set_timer(match)
        if run.playing == 0 and run.state in ("running", "draining"):
            if run.state == "draining":
                why = SHUTDOWN if self._state.stopping else ""
                self.finish_run(run, "drained", why, now)
            elif not run.waiting():
                self.finish_run(run, "finished", "", now)

    def _finish_episode(self, match: Match, over: Over, now: float) -> None:
        """End an episode: tell the seats, write it down, tell the experiment, go on."""
        run: Running = match.run
        seats = match.end(over)
        del self._state.episodes[match.episode]
        for instance in {seat.instance for seat in match.seats if seat.instance is not None}:
            instance.busy -= 1
        run.playing -= 1
        again = not over.scored and run.interrupted(match.index)
        if not again:
            run.finished += 1
        self._state.counters["episodes"] += 1
        result = m.Episode(
            run.number,
            match.index,
            match.episode,
            match.seed,
            over.reason,
            seats,
            over.outcome,
            over.blame,
            len(match.history),
            over.scored,
            again,
            over.message,
        )
        self._state.records.append(
            Played(
                result,
                run.asked.environment,
                run.asked.configuration,
                run.rules.mode,
                match.history,
                match.breached,
            )
        )
        self._state.send(run.experiment, result, True)
        if over.reason not in ("terminated", "truncated") or over.blame is not None:
            watchers = self._watching.of(run)
            if match.latest is not None and (watchers or run.request is not None):
                self._watching.show(match, match.latest, over, watchers)
        if run.request is not None:
            number, run.request = run.request, None
            self._state.send(
                run.experiment,
                m.Error("wrong-state", f"{over.reason}: {over.message}", id=number),
                True,
            )
        if run.state == "over":
            return
        if match.state == "idle":
            run.idle.append(match)
        self.advance(run, now)
        if len(self._state.runs) > 1:
            self.advance_all(now)

    def finish_run(
        self,
        run: Running,
        reason: m.DoneReason,
        message: str,
        now: float,
        *,
        ending: Over | None = None,
        gone: Instance | None = None,
    ) -> None:
        """End a run: its episodes in progress, its matches, its experiment's wait."""
        if run.state == "over":
            return
        run.state = "over"
        ending = ending or Over("cancelled", message=message)
        for match in sorted(run.matches, key=lambda each: each.number):
            if gone is not None:
                blame = next((s.number for s in match.seats if s.instance is gone), None)
                ending = Over("disconnected", blame, message=message)
            if match.playing:
                self._finish_episode(match, ending, now)
            self._drop(match)
            if match.state != "closed" and match.environment.state != "gone":
                self._state.send(match.environment, m.Close(match.number), True)
            match.state = "closed"
            match.deadline = FOREVER
        self._state.runs.pop(run.number, None)
        if run.request is not None:
            self._state.send(
                run.experiment, m.Error("wrong-state", "the run is over", id=run.request), True
            )
        self._watching.over(run)
        self._state.send(run.experiment, m.Done(run.number, run.finished, reason, message), True)

    def _drop(self, match: Match) -> None:
        """Take a match out of every table, and free its seats."""
        run: Running = match.run
        if self._state.matches.pop(match.number, None) is None:
            return
        match.deadline = FOREVER
        run.matches.discard(match)
        if match in run.idle:
            run.idle.remove(match)
        match.environment.matches.discard(match)
        told = set()
        for seat in match.seats:
            instance = seat.instance
            if instance is not None:
                instance.matches.discard(match)
                if instance.peer not in told and instance.peer.state != "gone":
                    told.add(instance.peer)
                    self._state.send(instance.peer, m.Leave(match.number), True)

    def agent_gone(self, instance: Instance, what: str, now: float) -> None:
        """End the runs of an agent that will not come back."""
        for run in [run for run in self._state.runs.values() if instance in run.agents]:
            self.finish_run(run, "failed", what, now, gone=instance)

    def environment_gone(self, match: Match, what: str, now: float) -> None:
        """Go on without a match, in another one if any peer offers its environment."""
        run: Running = match.run
        if run.state == "over":
            return
        ending = Over("environment-failed", message=what)
        if self._open(run, now, avoid=match.environment) is None and len(run.matches) == 1:
            self.finish_run(run, "failed", what, now, ending=ending)
            return
        if match.playing:
            match.state = "closed"
            self._finish_episode(match, ending, now)
        match.state = "closed"
        self._drop(match)
        if match.environment.state != "gone":
            self._state.send(match.environment, m.Close(match.number), True)

    def failed(self, peer: Peer, error: m.Error, now: float) -> None:
        """Take a peer's word that an episode or a match cannot go on on its side."""
        if error.episode is not None:
            match = self._state.episodes.get(error.episode)
            if match is None:
                return
            if peer.role == "environment" and match.environment is peer:
                over = match.failed(error.code, error.seat, error.message)
                self._finish_episode(match, over, now)
            elif error.seat is not None and 0 <= error.seat < len(match.seats):
                seat = match.seats[error.seat]
                if seat.instance is not None and seat.instance.peer is peer:
                    over = Over("crashed", error.seat, message=error.message)
                    self._finish_episode(match, over, now)
        elif error.match is not None:
            match = self._state.matches.get(error.match)
            if match is None:
                return
            mine = match.environment is peer or any(
                seat.instance is not None and seat.instance.peer is peer for seat in match.seats
            )
            if mine:
                self.finish_run(match.run, "failed", error.message, now)

    def report(self) -> None:
        """Tell each experiment how far its runs are, if that has changed."""
        for run in self._state.runs.values():
            if run.finished != run.told:
                run.told = run.finished
                self._state.send(run.experiment, run.progress())

    def drain(self, now: float) -> None:
        """Begin no more episodes in any run."""
        for run in list(self._state.runs.values()):
            if run.state in ("running", "paused"):
                run.state = "draining"
            self.advance(run, now)

    def cancel(self, why: str, now: float) -> None:
        """End every run at once."""
        for run in list(self._state.runs.values()):
            self.finish_run(run, "cancelled", why, now)

    @property
    def deadline(self) -> float:
        """When the first clock runs out."""
        return self._timers[0][0] if self._timers else FOREVER

    def tick(self, now: float) -> None:
        """Act upon the clocks that have run out."""
        while self._timers and self._timers[0][0] <= now:
            due, _, match = heapq.heappop(self._timers)
            if match.timer != due:
                continue
            match.timer = FOREVER
            if match.deadline <= now:
                self._overdue(match, now)
            self._set_timer(match)

    def _overdue(self, match: Match, now: float) -> None:
        if match.state == "opening":
            text = (
                f"environment {match.environment.name} did not open within {match.rules.patience} s"
            )
            self.finish_run(match.run, "failed", text, now)
        elif match.state == "transition":
            text = f"environment {match.environment.name} was silent for {match.rules.patience} s"
            self.environment_gone(match, text, now)
        elif match.playing:
            over = match.overdue(now)
            if over is not None:
                self._finish_episode(match, over, now)

    def _set_timer(self, match: Match) -> None:
        if match.deadline < match.timer:
            match.timer = match.deadline
            heapq.heappush(self._timers, (match.deadline, self._state.number(), match))
