"""What the end of a group's episodes means for others: the seats, the journal, the experiment, who watches."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from msgspec.structs import replace

from dovetail.broker.run import Run
from dovetail.broker.stack import Over, Stack
from dovetail.broker.tables import Tables
from dovetail.broker.watching import Watching
from dovetail.protocol import columns
from dovetail.protocol import messages as m
from dovetail.protocol.journal import EpisodeRecord


class Results:
    """The results of all groups.

    Args:
        tables: shared with the other parts.
        watching: who is told of results.
    """

    def __init__(self, tables: Tables, watching: Watching) -> None:
        self._tables = tables
        self._watching = watching

    def end(self, run: Run, stack: Stack, overs: list[Over]) -> None:
        """End episodes: tell the seats, write them down, tell the experiment and who watches."""
        overs = [each for each in overs if stack.live[each.slot]]
        if not overs:
            return
        slots = [over.slot for over in overs]
        accounts = [column[slots].tolist() for column in stack.accounts()]
        results = [
            self._result(run, stack, over, account)
            for over, account in zip(overs, zip(*accounts, strict=True), strict=True)
        ]
        stack.live[slots] = False
        self._tell(run, stack, overs)
        self._tables.counters["episodes"] += len(overs)
        for result in results:
            self._watching.tell(run, result, seen=False)
        run.experiment.outbox.deliver(m.Episodes(run.number, results))

    def _result(self, run: Run, stack: Stack, over: Over, account: tuple[Any, ...]) -> m.Episode:
        slot, ending = over.slot, over.ending
        index = int(stack.index[slot])
        again = run.ended(index, run.instances(), scored=ending.scored)
        actions, turns = stack.history(slot)
        result = m.Episode(
            run.number,
            index,
            int(stack.number[slot]),
            stack.seed[slot],
            ending.reason,
            self._seats(run, stack, slot, account),
            ending.outcome,
            ending.blame,
            turns,
            ending.scored,
            again,
            ending.message,
            digest=sha256(actions).hexdigest()[:16],
        )
        asked = run.asked
        self._tables.records.append(
            EpisodeRecord(
                replace(result),
                asked.environment,
                asked.configuration,
                run.rules.mode,
                actions,
                stack.breached.get(slot, []),
                label=asked.label,
            )
        )
        return result

    def _seats(
        self, run: Run, stack: Stack, slot: int, account: tuple[Any, ...]
    ) -> list[m.SeatResult]:
        found = []
        rows = zip(*account, strict=True)
        for seat, (place, total, decisions, seconds, breaches, refused) in enumerate(rows):
            agent = run.agents[place]
            result = m.SeatResult(agent.agent, agent.number, total, decisions, seconds, breaches)
            result.refused = refused
            if stack.measured:
                result.measures = stack.means(slot, seat)
            found.append(result)
        return found

    def _tell(self, run: Run, stack: Stack, overs: list[Over]) -> None:
        """Tell each instance which of its seats' episodes are over."""
        seats = stack.match.spec.seats
        modes = dict(zip(run.agents, run.modes(), strict=True))
        slots: columns.Column = np.repeat(np.array([over.slot for over in overs], np.int32), seats)
        number = np.tile(np.arange(seats, dtype=np.int32), len(overs))
        which = np.repeat(np.arange(len(overs)), seats)
        holders = stack.holders[stack.place[slots, number]]
        blames = np.array(
            [-1 if o.ending.blame is None else o.ending.blame for o in overs], np.int32
        )
        scores = np.full((len(overs), seats), np.nan)
        for row, over in enumerate(overs):
            if over.ending.outcome is not None:
                scores[row] = over.ending.outcome
        finals = np.array([over.final for over in overs], np.int32)
        whole = isinstance(stack.finals, np.ndarray) and bool((finals >= 0).all())
        for holder, instance in enumerate(stack.instances):
            mine: columns.Column = np.flatnonzero(holders == holder)
            if not len(mine):
                continue
            own, at, of = slots[mine], number[mine], which[mine]
            rows = of.tolist()
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
                [overs[row].ending.reason for row in rows],
                observations=seen,
                mode=modes[instance],
            )
            if not np.isnan(scores).all():
                ends.outcomes = scores[of]
            if (blames >= 0).any():
                ends.blames = blames[of]
            instance.peer.outbox.deliver(ends)
