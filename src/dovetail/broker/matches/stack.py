"""The episodes of a batched match, in columns: the rules of ``episode`` for many at once.

Pure, like ``episode``, and equal to it in every slot; tests/broker/test_stacked.py compares them.
A column has an entry per slot, or per slot and seat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dovetail.broker.matches import stack_decode as reading
from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.match import Match
from dovetail.broker.matches.stack_columns import NONE, StackColumns
from dovetail.broker.rules import ending as endings
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.rules.ending import Ending
from dovetail.broker.rules.legality import refusal, replacement
from dovetail.protocol import columns
from dovetail.protocol import messages as m
from dovetail.protocol.columns import Column


@dataclass(eq=False, slots=True)
class Over:
    """An ended episode of a slot."""

    slot: int
    ending: Ending
    seen: list[Any]
    """The latest observation of each seat; unused if the environment sent final ones."""
    final: int = -1
    """The row of the final ones in ``finals``; -1 if there are none."""
    truncated: list[int] | None = None
    """By seat: 1 if truncated, 0 if terminated; None if the ending holds for all."""

    def reason(self, seat: int) -> m.Reason:
        return (
            self.ending.reason
            if self.truncated is None
            else endings.SEAT_REASONS[self.truncated[seat]]
        )


@dataclass(eq=False, slots=True)
class Holder:
    """An agent with seats in a batched match, and its decisions of the current batch."""

    number: int
    """Its entry in the column ``holder``."""
    instance: Instance
    inits: list[int] = field(default_factory=list)
    """The ``seq`` of each ``init``, until it has acted."""
    rows: Column | None = None
    """The rows of the batch that it has yet to answer; None if there are none."""
    seq: int = 0
    """The ``seq`` of these decisions."""
    sent: float = 0.0
    stood: float | None = None
    """The time at which its clock was stopped; None while it runs."""
    last: float | None = None
    """Seconds of its latest answer."""

    def stop(self, now: float) -> None:
        """Stop the clock until ``go``."""
        if self.stood is None:
            self.stood = now

    def go(self, now: float) -> None:
        """Resume a stopped clock as if no time had passed."""
        if self.stood is not None:
            self.sent += now - self.stood
            self.stood = None

    def answered(self, now: float) -> tuple[Column, float]:
        """Return the rows that were pending, and the seconds of the answer."""
        rows, self.rows, self.last = self.rows, None, now - self.sent
        assert rows is not None
        return rows, self.last


class Stack(StackColumns):
    """The episodes of a batched match."""

    def __init__(self, match: Match) -> None:
        run, rules = match.run, match.run.rules
        agents = list(dict.fromkeys(run.agents))
        self.holders = [Holder(number, agent) for number, agent in enumerate(agents)]
        holders = np.array([agents.index(agent) for agent in run.agents], np.int32)
        super().__init__(match.slots, match.spec.seats, holders, run.draws())
        self.match = match
        self.rules = rules
        self.space: Any = match.spec.action_spaces[0]
        self.held = 0
        """Bytes counted for the experiment; see ``holdings``."""
        self.deadline = FOREVER
        """The deadline of the first pending answer."""
        self.timer = FOREVER
        rule = rules.clock
        self.most = rules.patience if rule.decision is None else rule.decision + rule.margin
        """Maximum seconds for the answer to a batch of decisions."""
        self.batch = -1
        self.seq = 0
        """The ``seq`` of the latest batch to the environment."""
        self.overs: list[Over] = []
        """Ended episodes that were not reported yet."""
        self.moves = 0
        """How often it asked its agents or its environment."""
        self.undecided = False
        """True from the environment's turns until the agents are asked."""
        self.ending: set[int] = set()
        """Slots whose episode a seat ended in this batch."""

    @property
    def asked(self) -> list[Holder]:
        """The holders whose decisions are pending."""
        return [each for each in self.holders if each.rows is not None]

    def step(self, begun: Column, now: float) -> m.EnvironmentSteps:
        """Return the next batch for the environment: actions, and episodes to start."""
        going = self.live
        if len(begun):
            going = going.copy()
            going[begun] = False
        goes = going.take(self.rows)
        if not columns.every(goes):
            self.keep(goes)
        rows, seats, actions = self.rows, self.seats, self.actions
        self.note(rows, seats, actions)
        self.slots = self.live.nonzero()[0].astype(np.int32)
        self.batch += 1
        self.deadline = now + self.rules.patience
        step = m.EnvironmentSteps(self.match.number, self.batch)
        if len(rows):
            step.slots, step.seats, step.actions = rows, seats, actions
        if len(begun):
            step.restarts, step.episodes = begun, self.number[begun]
            step.seeds = self.seed[begun]
        return step

    def turned(self, turns: m.Turns) -> list[Over]:
        """Handle the environment's answer to the batch; return the episodes that it ends.  Raises
        ProtocolError (``invalid``): the columns contradict the batch, the spec or each other."""
        batch = self.slots
        ended = reading.turns(turns, batch, self.match.spec, self.space)
        over, rows, outcomes, cut = turns.over, turns.rows, turns.outcomes, turns.truncated
        # From here on a fault affects its own slot only.
        wrong = reading.wrong(turns, batch, ended)
        faulty = [] if over is None else batch[over == 3].tolist()
        failed = [*faulty, *wrong]
        before = {slot: self.seen(slot) for slot in failed}
        self.turn[self.whole(batch)] += 1
        self.credit(turns.rewards, batch, failed)
        self.choose(turns)
        self.ending.clear()
        found = [
            self._failed(fault, slot, before[slot])
            for fault, slot in zip(turns.faults, faulty, strict=True)
        ]
        scores: list[list[float] | None] = [None] * len(ended)
        if outcomes is not None:
            some: Any = ~np.isnan(outcomes).all(axis=1)
            given = outcomes.tolist()
            scores = [row if scored else None for row, scored in zip(given, some, strict=True)]
        kinds = [] if over is None else over[ended].tolist()
        cut = None if cut is None else cut.tolist()
        for at, slot in enumerate(batch[ended].tolist()):
            ending = Ending(endings.SEAT_REASONS[kinds[at] - 1], None, scores[at])
            found.append(Over(slot, ending, [], at, None if cut is None else cut[at]))
        found = [each for each in found if each.slot not in wrong]
        for slot, text in wrong.items():
            ending = Ending("environment-failed", message=text)
            found.append(Over(slot, ending, before[slot]))
        limit = self.rules.max_turns
        if limit is not None:
            late = rows[self.turn[rows] >= limit]
            for slot in sorted(set(late.tolist()) - wrong.keys()):
                found.append(Over(slot, endings.too_long(limit), self.seen(slot)))
        return found

    def _failed(self, fault: m.Fault, slot: int, seen: list[Any]) -> Over:
        if fault.slot != slot or fault.code != "illegal":
            return Over(slot, Ending("environment-failed", message=fault.message), seen)
        return Over(slot, self._refused(slot, fault.seat, fault.message), seen)

    def _refused(self, slot: int, seat: int | None, message: str) -> Ending:
        """Handle a seat's last action, refused by the environment; return the ending."""
        turn = int(self.turn[slot]) - 1
        if seat is None or not 0 <= seat < self.match.spec.seats:
            return Ending("environment-failed", message=message)
        if turn < 0 or self.acts[slot, turn, seat] == NONE:
            return Ending("environment-failed", message=message)
        self.breaches[slot, seat] += 1
        price, forfeit = self.rules.on_illegal, partial(self.forfeit, slot)
        return endings.breach(price, seat, "illegal-action", message, forfeit)

    def decide(self, now: float) -> Iterator[tuple[Holder, m.AgentSteps]]:
        """Yield each holder that is to act in the batch, with its decisions."""
        alive = self.live.take(self.rows)
        if not columns.every(alive):
            self.keep(alive)
        holders = self.holder.take(self.at)
        self.deadline = now + self.most if len(self.rows) else FOREVER
        limit = self.rules.clock.decision
        for each in self.holders:
            [mine] = (holders == each.number).nonzero()
            if len(mine):
                each.rows, each.sent, each.stood = mine, now, None
                clock = None if limit is None else m.Clock(limit, None, each.last)
                yield each, self.ask(self.match.number, self.batch, mine, clock)

    def acted(self, holder: Holder, answer: m.Actions, now: float) -> list[Over]:
        """Handle a holder's answers; return the episodes that they end.  Raises ProtocolError
        (``invalid``): the rows are not those of the decisions."""
        mine = holder.rows
        assert mine is not None
        rows, seats = self.share(self.rows, mine), self.share(self.seats, mine)
        count = len(rows)
        faults = reading.actions(answer, rows, seats)
        mine, took = self._answered(holder, now)
        self.actions[mine] = answer.actions
        late = self.rules.clock.decision is not None and took > self.most
        if late:
            settled = set(range(count))
        else:
            settled = {*answer.resigns, *faults}
            allowed = self.allowed(mine, self.space)
            if not columns.every(allowed):
                settled.update(np.flatnonzero(~allowed).tolist())
        found: list[Over] = []
        for row in sorted(settled):
            slot, seat = int(rows[row]), int(seats[row])
            if slot in self.ending:
                continue
            if row in faults and faults[row].code == "timeout":
                found += self._breach(int(mine[row]), "timeout", faults[row].message)
            elif row in faults:
                found.append(self._over(slot, self._crash(slot, seat, faults[row])))
            elif late:
                what = f"answered after {took:.3f} s"
                found += self._breach(int(mine[row]), "timeout", what)
            elif row in answer.resigns:
                forfeit = partial(self.forfeit, slot)
                found.append(
                    self._over(slot, endings.resigned(seat, int(self.turn[slot]), forfeit))
                )
            else:
                found += self._breach(int(mine[row]), "illegal-action")
        refused, measures = answer.refused, answer.measures
        if refused is not None or measures is not None:
            ended: dict[int, Any] = {over.slot: over.ending.blame for over in found}
            for row, (slot, seat) in enumerate(self.named(mine)):
                if slot in self.ending and seat > ended.get(slot, -1):
                    continue  # too late
                if refused is not None:
                    self.refuse(slot, seat, int(refused[row]))
                if measures is not None:
                    self.measure(slot, seat, measures[row])
        return found

    def unreadable(self, holder: Holder, message: str, now: float) -> list[Over]:
        """Handle an unreadable answer as a crash at each of the holder's decisions."""
        mine, _ = self._answered(holder, now)
        return [
            self._over(slot, self._crash(slot, seat, m.Error("crashed", message)))
            for slot, seat in self.named(mine)
            if slot not in self.ending
        ]

    def _crash(self, slot: int, seat: int, error: m.Error | m.Fault) -> Ending:
        self.breaches[slot, seat] += 1
        return endings.crash(self.rules.on_crash, seat, error, partial(self.forfeit, slot))

    def overdue(self, holder: Holder, now: float) -> list[Over]:
        """Handle a holder's overdue decisions; return the episodes that end."""
        mine, took = self._answered(holder, now)
        found: list[Over] = []
        for row, (slot, seat) in zip(mine.tolist(), self.named(mine), strict=True):
            if slot in self.ending:
                continue
            if self.rules.clock.decision is not None:
                found += self._breach(row, "timeout", f"no answer within {took:.3f} s")
                continue
            what = endings.where(seat, int(self.turn[slot]), f"no answer within {took:.0f} s")
            found.append(self._over(slot, self.forfeit(slot, seat, "stalled", what)))
        return found

    def _answered(self, holder: Holder, now: float) -> tuple[Column, float]:
        mine, took = holder.answered(now)
        at = self.share(self.at, mine)
        self.seconds.put(at, self.seconds.take(at) + took)
        return mine, took

    def _breach(self, row: int, reason: m.Reason, what: str = "") -> list[Over]:
        """Apply the run's rule for a timeout or an illegal action."""
        price = self.rules.on_timeout if reason == "timeout" else self.rules.on_illegal
        slot, seat = int(self.rows[row]), int(self.seats[row])
        turn = int(self.turn[slot])
        legal = None if self.legal is None else self.legal[row].tobytes()
        self.breaches[slot, seat] += 1
        choice = replacement(price, int(self.draws[slot, seat]), turn, legal, self.space)
        if choice is not None:
            self.breached.setdefault(slot, []).append([turn, seat])
            self.actions[row] = choice
            return []
        given = int(self.actions[row])
        named = "that is not a number" if given == columns.NO_NUMBER else given
        said = endings.where(seat, turn, what or refusal(named, legal, self.space))
        return [
            self._over(slot, endings.breach(price, seat, reason, said, partial(self.forfeit, slot)))
        ]

    def _over(self, slot: int, ending: Ending) -> Over:
        self.ending.add(slot)
        return Over(slot, ending, self.seen(slot))

    def forfeit(self, slot: int, seat: int, reason: m.Reason, message: str) -> Ending:
        """Credit the forfeit rewards, and return the ending."""
        spec = self.match.spec
        if spec.forfeit is not None:
            earned = np.full(spec.seats, spec.forfeit[1])
            earned[seat] = spec.forfeit[0]
            self.credit(earned[None], np.array([slot]), [])
        return Ending(reason, seat, endings.others_win(spec.seats, seat), message)

    def final(self, over: Over, seat: int) -> Any:
        if over.final < 0:
            return over.seen[seat]
        return None if self.finals is None else self.finals[over.final][seat]

    def running(self) -> list[Over]:
        """Return every episode in progress, as if cancelled now."""
        seen = [(slot, self.seen(slot)) for slot in np.flatnonzero(self.live).tolist()]
        return [Over(slot, Ending("cancelled"), each) for slot, each in seen]


class Slot:
    """The episode in progress in a slot."""

    def __init__(self, stack: Stack, number: int) -> None:
        self._stack = stack
        self._number = number

    def seat_of(self, instance: Instance) -> int | None:
        """Return an instance's first seat; None if it has none."""
        stack = self._stack
        holders = stack.holder[self._number].tolist()
        number = next(each.number for each in stack.holders if each.instance is instance)
        return holders.index(number) if number in holders else None

    def forfeit(self, seat: int, what: str) -> Ending:
        """Return the ending after a seat's agent was lost."""
        return self._stack.forfeit(self._number, seat, "stalled", what)
