"""Reports batched episodes' results to seats, journal, experiment and watchers."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from dovetail.broker.matches.stack import Over, Stack
from dovetail.broker.peers.state import BrokerState
from dovetail.broker.rules.account import LONGEST
from dovetail.broker.watch.watching import Watching
from dovetail.protocol import codec, columns
from dovetail.protocol import messages as m
from dovetail.protocol.columns import Column
from dovetail.protocol.display_text import MAX_LINE


@dataclass(eq=False)
class Results:
    """The results of all groups."""

    _broker: BrokerState
    _watching: Watching

    def end(self, stack: Stack, overs: list[Over]) -> None:
        """End episodes: tell the seats, record them, tell the experiment and the watchers."""
        overs = [each for each in overs if stack.live[each.slot]]
        if not overs:
            return
        run = stack.match.run
        slots = np.array([over.slot for over in overs], np.int32)
        results = self._results(stack, overs, slots)
        stack.end(slots)
        self._tell(stack, overs, slots)
        self._broker.counters["episodes"] += len(overs)
        if self._watching.peers:
            for result in results:
                self._watching.tell(run, result, seen=False)
        most = _most(results, self._broker.settings.limits, measured=bool(stack.measured))
        for first in range(0, len(results), most):
            run.experiment.outbox.deliver(m.Episodes(run.number, results[first : first + most]))

    def _results(self, stack: Stack, overs: list[Over], slots: Column) -> list[m.Episode]:
        """Return the results of episodes, and record them."""
        run, instances = stack.match.run, stack.match.run.instances()
        names = [agent.agent for agent in run.agents]
        own = [agent.number for agent in run.agents]
        indices, numbers = stack.index[slots].tolist(), stack.number[slots].tolist()
        seeds, draws = stack.seed[slots].tolist(), stack.draws[slots].tolist()
        # Flat, since thousands of short lists cost more than what is in them.
        accounts = (column[slots].reshape(-1).tolist() for column in stack.accounts())
        every = [
            m.SeatResult(
                names[player], own[player], total, decisions, seconds, breaches, 0, refused
            )
            for player, total, decisions, seconds, breaches, refused in zip(*accounts, strict=True)
        ]
        size = stack.match.spec.seats
        histories = stack.histories(slots)
        found = []
        for row, over in enumerate(overs):
            ending, scored = over.ending, over.ending.scored
            seats = every[row * size : (row + 1) * size]
            actions, turns = histories[row]
            written = run.written + len(actions)
            if stack.measured:
                for seat, result in enumerate(seats):
                    result.measures = stack.means(over.slot, seat)
                    written += len(codec.encode(result.measures))
            episode = m.Episode(
                *(run.number, indices[row], numbers[row], seeds[row], ending.reason, seats),
                *(ending.outcome, ending.blame, turns, scored),
                run.ended(indices[row], instances, scored=scored),
                ending.message,
                digest=sha256(actions).hexdigest()[:16],
            )
            breached = stack.breached.get(over.slot, [])
            record = run.record(episode, actions, breached, draws[row])
            self._broker.record(run.experiment, record, written)
            found.append(episode)
        return found

    def _tell(self, stack: Stack, overs: list[Over], slots: Column) -> None:
        """Send each agent the ends of its seats' episodes."""
        run, seats = stack.match.run, stack.match.spec.seats
        modes = dict(zip(run.agents, run.modes(), strict=True))
        holders = stack.holder[slots].reshape(-1)
        endings = [over.ending for over in overs]
        reasons = [ending.reason for ending in endings]
        differ = any(over.truncated is not None for over in overs)
        blames = np.array([-1 if e.blame is None else e.blame for e in endings], np.int32)
        none = [np.nan] * seats
        scores = np.array([none if e.outcome is None else e.outcome for e in endings], np.float64)
        scored, blamed = not np.isnan(scores).all(), (blames >= 0).any()
        finals = np.array([over.final for over in overs], np.int32)
        whole = isinstance(stack.finals, np.ndarray) and bool((finals >= 0).all())
        for holder in stack.holders:
            [mine] = (holders == holder.number).nonzero()
            if not len(mine):
                continue
            instance = holder.instance
            of, number = np.divmod(mine, seats)
            own, at, rows = slots[of], number.astype(np.int32), of.tolist()
            if whole:
                seen = stack.finals[finals[of], at]
            else:
                pairs = zip(rows, at.tolist(), strict=True)
                seen = columns.stacked([stack.final(overs[row], seat) for row, seat in pairs])
            ends = m.Ends(
                *(stack.match.number, instance.number, own, at),
                stack.number[own],
                stack.pending[own, at],
                stack.total[own, at],
                stack.decisions[own, at],
                [reasons[row] for row in rows],
                observations=seen,
                mode=modes[instance],
            )
            if differ:
                where = zip(rows, at.tolist(), strict=True)
                ends.reasons = [overs[row].reason(seat) for row, seat in where]
            if scored:
                ends.outcomes = scores[of]
            if blamed:
                ends.blames = blames[of]
            instance.peer.outbox.deliver(ends)


def _most(results: list[m.Episode], limits: m.Limits, *, measured: bool) -> int:
    """Return how many results fit into a frame, however long their texts are."""
    seats = results[0].seats
    measures = max(len(s.measures) for each in results for s in each.seats) if measured else 0
    values = 32 + len(seats) * (24 + 2 * measures)
    name = 4 * LONGEST  # in bytes
    size = 4 * MAX_LINE + name + len(seats) * (name + 256 + measures * (name + 16))
    return max(1, min(limits.elements // values, limits.frame // size))
