"""Runs that play batched matches: passes batches to the rules of ``stack``.

A batched match (a group) plays many episodes at once, one in each of its slots.  Each batch goes to
the environment, then to the agents to act, and back, as a few messages of columns.  Episodes and
their endings are the same as in ``episodes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.match import Match
from dovetail.broker.matches.run import RunState, waits
from dovetail.broker.matches.stack import Over, Slot, Stack
from dovetail.broker.peers.holdings import grow
from dovetail.broker.peers.limits import COUNTED
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.rules.ending import Ending
from dovetail.broker.runs.events import Ended, EnvironmentFailed, Heard
from dovetail.broker.runs.stacked_results import Results
from dovetail.broker.watch.watching import Watching
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError

PAIR = 512
"""Slots from which a run over sockets is split into groups: two, or one for each program that
offers its environment, with at least half as many slots.

Below, a second group costs more than it saves.
"""


def suits(asked: m.Run, agents: list[Instance]) -> bool:
    """Return whether a run's options and agents allow batching."""
    modes = dict(zip(agents, asked.modes, strict=True)) if asked.modes else {}
    return (
        asked.stacked
        and not (asked.stepwise or asked.lookahead or asked.check or asked.save_every)
        and not (asked.openings or asked.opening_turns)
        and not waits(asked)
        and asked.clock.episode is None
        and min(asked.seeds or (), default=0) >= 0
        and all(agent.offer.stacked for agent in agents)
        and all({*agent.offer.wants} <= {"afterstates"} for agent in agents)
        and all(modes[agent] == mode for agent, mode in zip(agents, asked.modes, strict=False))
    )


def groups(asked: m.Run, agents: list[Instance], peers: list[Peer], most: int) -> list[int]:
    """Return the slots of each group of a run, ``most`` together; empty if it is not batched."""
    if not peers or not suits(asked, agents):
        return []
    slots = min([most, *(agent.offer.capacity for agent in agents if agent.offer.capacity)])
    if slots < 2:
        return []
    served = [*peers, *(agent.peer for agent in agents)]
    if slots < PAIR or all(peer.outbox.reliable for peer in served):
        return [slots]
    count = max(2, min(len(peers), 2 * slots // PAIR))
    return [len(range(each, slots, count)) for each in range(count)]


class Stacked(BrokerPart):
    """The groups of all runs.  If an agent learns, the groups of a run proceed in a fixed order, so
    that it hears and learns the same whichever environment answers first."""

    STATE = ("_all",)

    def __init__(self, broker: BrokerState, watching: Watching) -> None:
        self._broker = broker
        self._results = Results(broker, watching)
        self._all: dict[int, Stack] = {}  # groups by the number of the match

    def __len__(self) -> int:
        return sum(stack.playing for stack in self._all.values())

    def opened(self, match: Match) -> None:
        """Seat the agents in a group that the environment has opened."""
        run = match.run
        stack = self._all[match.number] = run.stacks[match] = Stack(match)
        seats = range(match.spec.seats)
        for holder in stack.holders:
            agent = holder.instance
            players = [player for player, each in enumerate(run.agents) if each is agent]
            for seat in seats if run.asked.rotate else players:
                init = m.Init(match.number, seat, agent.number, match.spec, False, agent.agent)
                init.slots = match.slots
                holder.inits.append(agent.peer.outbox.ask(init))

    def advance(self, run: RunState, now: float) -> None:
        """Start the episodes that can start in idle groups."""
        for match, stack in run.stacks.items():
            if match.machine.state == "idle" and (stack.moves or not _in_turn(run)):
                stack.moves = max(each.moves for each in run.stacks.values())
                self._move(stack, now)
        self._move_due(run, now)

    def close(self, match: Match) -> None:
        """Remove a group without episodes."""
        stack = match.run.stacks.pop(match, None)
        if stack is None:
            return
        del self._all[match.number]
        match.run.experiment.held -= stack.held
        stack.deadline = FOREVER
        match.environment.outbox.answered(stack.seq)
        for holder in stack.holders:
            for seq in holder.inits:
                holder.instance.peer.outbox.release(seq)
        for peer in dict.fromkeys(holder.instance.peer for holder in stack.holders):
            peer.outbox.deliver(m.Leave(match.number))
        if match.machine.takes("give up"):
            match.machine.on("give up")

    def finish(self, match: Match, ending: Callable[[Slot], Ending]) -> None:
        """End all episodes of a group."""
        stack = match.run.stacks.get(match)
        if stack is None:
            return
        for holder in stack.asked:
            holder.instance.peer.outbox.release(holder.seq)
            holder.rows = None
        stack.deadline = FOREVER
        self._end(stack)
        overs = stack.running()
        for over in overs:
            over.ending = ending(Slot(stack, over.slot))
        self._results.end(stack, overs)

    def on_turns(self, peer: Peer, turns: m.Turns, now: float) -> None:
        stack = self._all.get(turns.match)
        if stack is None or stack.match.environment is not peer:
            self._broker.ignore(peer, turns)
            if stack is not None:
                peer.complain("illegal", f"group {turns.match} is not yours")
            return
        if stack.match.machine.state != "transition" or turns.batch != stack.batch:
            self._broker.ignore(peer, turns)
            return
        peer.outbox.answered(stack.seq)
        try:
            overs = stack.turned(turns)
        except ProtocolError as error:
            text = f"{peer.name} sent invalid turns of batch {turns.batch}: {error}"
            peer.complain(error.code, text)
            self._failed_batch(stack, text, now)
            return
        overs += self._counted(stack, peer.size, overs)
        self._broker.counters["turns"] += len(stack.slots)
        stack.match.machine.on("turn")
        stack.undecided = True
        self._go_on(stack, overs, now)

    def _counted(self, stack: Stack, size: int, overs: list[Over]) -> list[Over]:
        """Count the bytes kept of a group after turns of ``size`` bytes; return the episodes that
        end if they are too many, besides ``overs``."""
        more = stack.needs(stack.rows) + size - stack.held
        if not size or abs(more) <= COUNTED:
            return []
        stack.held += more
        text = grow(self._broker, stack.match.run.experiment, more)
        ended = {over.slot for over in overs}
        found = [each for each in stack.running() if text and each.slot not in ended]
        for each in found:
            each.ending = Ending("truncated", message=text)
        return found

    def on_actions(self, peer: Peer, answer: m.Actions, now: float) -> None:
        stack = self._all.get(answer.match)
        if stack is None:
            self._broker.ignore(peer, answer)
            self._broker.events.append(Heard(peer))
            return
        named = (each for each in stack.holders if each.instance.number == answer.instance)
        holder = next(named, None)
        if holder is None or holder.instance.peer is not peer:
            self._broker.ignore(peer, answer)
            text = f"instance {answer.instance} in group {answer.match} is not yours"
            peer.complain("illegal", text)
            return
        if holder.rows is None or answer.batch != stack.batch:
            self._broker.ignore(peer, answer)
            return
        for seq in (holder.seq, *holder.inits):
            peer.outbox.answered(seq)
        holder.inits.clear()
        try:
            overs = stack.acted(holder, answer, now)
        except ProtocolError as error:
            text = f"{peer.name} sent invalid actions of batch {answer.batch}: {error}"
            peer.complain(error.code, text)
            overs = stack.unreadable(holder, text, now)
        self._go_on(stack, overs, now)

    def failed(self, asked: m.EnvironmentSteps | m.AgentSteps, error: m.Error, now: float) -> None:
        stack = self._all[asked.match]
        if isinstance(asked, m.EnvironmentSteps):
            stack.match.environment.outbox.answered(asked.seq)
            self._failed_batch(stack, error.message, now)
            return
        for holder in stack.asked:
            if holder.seq == asked.seq and holder.instance.number == asked.instance:
                holder.instance.peer.outbox.answered(asked.seq)
                overs = stack.unreadable(holder, error.message, now)
                self._go_on(stack, overs, now)

    def awaited(self, peer: Peer, kind: str, match: int, instance: int | None) -> int | None:
        """Return the ``seq`` of the batch that a peer's unreadable answer was for; None if none."""
        stack = self._all.get(match)
        if stack is None:
            return None
        if kind == "turns":
            owed = stack.match.machine.state == "transition" and stack.match.environment is peer
            return stack.seq if owed else None
        owes = [
            each.seq
            for each in stack.asked
            if each.instance.peer is peer and instance in (None, each.instance.number)
        ]
        return owes[0] if len(owes) == 1 else None

    def _failed_batch(self, stack: Stack, text: str, now: float) -> None:
        """End all episodes of a batch that the environment could not answer."""
        stack.match.machine.on("turn")
        stack.undecided = True
        overs = stack.running()
        for over in overs:
            over.ending = Ending("environment-failed", message=text)
        self._go_on(stack, overs, now)

    def _go_on(self, stack: Stack, overs: list[Over], now: float) -> None:
        """Continue a group after an answer, now or when its turn comes."""
        stack.overs += overs
        if not _in_turn(stack.match.run):
            self._move(stack, now)
            return
        if not stack.asked:
            stack.deadline = FOREVER
        self._move_due(stack.match.run, now)

    def _move_due(self, run: RunState, now: float) -> None:
        """Continue the groups of a run in turn, up to one that waits for an answer."""
        while all(each in run.stacks for each in run.matches.values() if each.slots):
            going = [
                s for s in run.stacks.values() if s.match.machine.state != "idle" or not s.moves
            ]
            due = min(going, key=lambda each: (each.moves, each.match.number), default=None)
            if due is None or due.asked or due.match.machine.state == "transition":
                return
            self._move(due, now)

    def _move(self, stack: Stack, now: float) -> None:
        """Report a group's ended episodes; unless it waits for answers, ask the agents for their
        decisions, or the environment if there are none to make."""
        run = stack.match.run
        self._end(stack)
        if stack.asked:
            return
        stack.moves += 1
        if stack.undecided:
            stack.undecided = False
            modes = dict(zip(run.agents, run.modes(), strict=True))
            for holder, steps in stack.decide(now):
                agent = holder.instance
                steps.instance, steps.mode = agent.number, modes[agent]
                holder.seq = agent.peer.outbox.ask(steps)
        if stack.asked:
            self._broker.timers.watch(stack)
        else:
            self._step(stack, now)

    def _end(self, stack: Stack) -> None:
        overs, stack.overs = stack.overs, []
        self._results.end(stack, overs)
        if overs:
            self._broker.events.append(Ended(stack.match.run))

    def _step(self, stack: Stack, now: float) -> None:
        """Send the environment the actions, and the episodes to start."""
        match = stack.match
        step = stack.step(self._begin(stack), now)
        if not len(stack.slots):
            stack.deadline = FOREVER
            if match.machine.takes("give up"):
                match.machine.on("give up")
            return
        match.machine.on("start" if match.machine.state == "idle" else "step")
        stack.seq = match.environment.outbox.ask(step)
        self._broker.timers.watch(stack)

    def _begin(self, stack: Stack) -> Any:
        """Start an episode in each free slot while the run has any left."""
        run = stack.match.run
        if run.machine.state != "running" or stack.playing == len(stack.live):
            return stack.slots[:0]
        idle = np.flatnonzero(~stack.live).astype(np.int32)
        schedule, agents = run.schedule, run.instances()
        indices = schedule.some(min(instance.room(len(idle)) for instance in agents))
        begun = idle[: len(indices)]
        if indices:
            for instance in agents:
                instance.busy += len(indices)
            numbers = self._broker.numbers(len(indices))
            stack.begin(begun, numbers, indices, schedule.seeds(indices), schedule.players(indices))
        return begun

    def on_overdue(self, stack: Stack, now: float) -> None:
        if stack.match.machine.state == "transition":
            what = f"was silent for {stack.rules.answer_timeout} s"
            text = f"environment {stack.match.environment.name} {what}"
            self._broker.events.append(EnvironmentFailed(stack.match, text))
            return
        overs: list[Over] = []
        for holder in stack.asked:
            holder.instance.peer.outbox.release(holder.seq)
            if stack.rules.clock.decision is None:
                holder.instance.stalled = True
            overs += stack.overdue(holder, now)
        self._go_on(stack, overs, now)

    def timed(self) -> Iterable[Stack]:
        return self._all.values()

    def restarted(self, now: float) -> None:
        """Stop the clocks until the peers have come back."""
        for stack in self._all.values():
            stack.deadline = FOREVER
            for holder in stack.asked:
                holder.stop(now)

    def back(self, peer: Peer, now: float) -> None:
        """Resume the clocks of a peer that has come back."""
        for stack in self._all.values():
            for holder in stack.asked:
                if holder.instance.peer is peer:
                    holder.go(now)
            if stack.deadline < FOREVER:
                continue
            if stack.match.machine.state == "transition" and stack.match.environment is peer:
                stack.deadline = now + stack.rules.patience
            elif (asked := stack.asked) and all(each.stood is None for each in asked):
                stack.deadline = max(each.sent for each in asked) + stack.most
            self._broker.timers.watch(stack)


def _in_turn(run: RunState) -> bool:
    """Return whether the groups of a run proceed in turn: an agent learns in several.  One
    environment's program and one of the agents keep the order by themselves."""
    if len(run.matches) < 2 or "learn" not in run.modes():
        return False
    peers = {match.environment for match in run.matches.values()}
    return len(peers.union(agent.peer for agent in run.agents)) > 2
