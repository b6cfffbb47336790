"""The episodes of a group, in columns: the rules of ``episode`` for many of them at once.

Pure, like ``episode``, whose results it must repeat for every slot; tests/broker/test_stacked.py
plays both.  A column has an entry for each slot of the group, or one for each of its seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from dovetail.broker.clocks import FOREVER
from dovetail.broker.episode import Ending
from dovetail.broker.instances import Instance
from dovetail.broker.legality import chosen, refusal
from dovetail.broker.match import Match
from dovetail.broker.place import MEASURES
from dovetail.broker.rules import Rules
from dovetail.protocol import codec, columns
from dovetail.protocol import messages as m
from dovetail.protocol.columns import Column
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Discrete

WIDEST = 4096
"""Bytes of a row's mask at most; in games with more actions a list of the few legal ones is shorter."""
OVER: tuple[m.Reason, ...] = ("terminated", "truncated")


def problem(spec: m.Spec) -> str:
    """Return why a game cannot be played in groups; empty if it can."""
    space = spec.action_spaces[0]
    if not isinstance(space, Discrete) or any(each != space for each in spec.action_spaces):
        return "its seats do not share one Discrete action space"
    if columns.width(space) > WIDEST:
        return f"it has more than {8 * WIDEST:,} actions"
    return ""


@dataclass(eq=False, slots=True)
class Asked:
    """A batch of decisions that an instance owes."""

    seq: int
    rows: Column
    """Which of the group's rows it has."""
    sent: float


@dataclass(eq=False, slots=True)
class Over:
    """An episode of a slot that is over."""

    slot: int
    ending: Ending
    seen: list[Any]
    """What each seat observes at the end, unless the environment said it."""
    final: int = -1
    """The row of ``finals`` that says it."""


class Stack:
    """The episodes of a group.

    Args:
        match: the group, open.
        rules: the run's.
        agents: the run's.
    """

    def __init__(self, match: Match, rules: Rules, agents: list[Instance]) -> None:
        size, seats = match.slots, match.spec.seats
        self.match = match
        self.rules = rules
        self.space: Any = match.spec.action_spaces[0]
        self.deadline = FOREVER
        """When the first answer that is owed is overdue."""
        self.timer = FOREVER
        self.stopped = False
        self.batch = -1
        self.seq = 0
        """Of the last batch to the environment."""
        self.last: float | None = None
        """What the slowest answer to the last decisions took."""
        self.instances = list(dict.fromkeys(agents))
        """Each once; what follows calls them by their number here."""
        self.holders = np.array([self.instances.index(agent) for agent in agents], np.int32)
        """By place in the run's list of agents."""
        self.inits: dict[int, list[int]] = {}
        """By instance: the ``seq`` of each ``init``, until it has acted."""
        self.asked: dict[int, Asked] = {}
        """By instance: the decisions that it owes."""
        self.live = np.zeros(size, bool)
        self.number = np.zeros(size, np.int64)
        self.index = np.zeros(size, np.int64)
        self.seed = [0] * size
        self.turn = np.full(size, -1, np.int32)
        self.place = np.zeros((size, seats), np.int32)
        self.started = np.zeros((size, seats), bool)
        self.pending = np.zeros((size, seats))
        self.total = np.zeros((size, seats))
        self.seconds = np.zeros((size, seats))
        self.decisions = np.zeros((size, seats), np.int32)
        self.breaches = np.zeros((size, seats), np.int32)
        self.refused = np.zeros((size, seats), np.int32)
        self.measured: dict[int, dict[int, dict[str, list[float]]]] = {}
        """By slot, seat and name: sum and number of what was measured."""
        self.breached: dict[int, list[list[int]]] = {}
        """By slot: ``[turn, seat]`` of every action that was chosen for a seat."""
        self.played = np.zeros(size, np.int32)
        """How many actions ``acts`` has of a slot."""
        self.acts = np.zeros((size, 64, 3), np.int32)
        """Turn, seat and action of each."""
        self.plain = np.ones(size, bool)
        """Whether each of its turns has one action, and seat and action are 0 to 127."""
        self.slots = np.zeros(0, np.int32)
        """Those of the batch in progress."""
        self.rows = np.zeros(0, np.int32)
        """The slot of each decision of the batch."""
        self.seats = np.zeros(0, np.int32)
        self.legal: Column | None = None
        self.observations: Any = None
        self.finals: Any = None
        """What the seats observe in the episodes that the environment has just ended."""
        self.afterstates: Any = None
        self.actions = np.zeros(0, np.int64)
        """The answer of each."""
        self.ending: set[int] = set()
        """Slots whose episode a seat has ended in this batch."""

    # -- episodes that begin ---------------------------------------------------------------------

    def begin(
        self, slots: Column, numbers: list[int], indices: list[int], seeds: list[int], places: Any
    ) -> None:
        """Begin an episode in each of some slots; ``places`` says who sits where, by slot and seat."""
        self.live[slots] = True
        self.number[slots] = numbers
        self.index[slots] = indices
        self.turn[slots] = -1
        self.place[slots] = places
        self.started[slots] = False
        per_seat: list[Column] = [self.pending, self.total, self.seconds]
        per_seat += [self.decisions, self.breaches, self.refused]
        for column in per_seat:
            column[slots] = 0
        self.played[slots] = 0
        self.plain[slots] = True
        for slot, seed in zip(slots.tolist(), seeds, strict=True):
            self.seed[slot] = seed
            self.measured.pop(slot, None)
            self.breached.pop(slot, None)

    def step(self, begun: Column, now: float) -> m.EnvironmentSteps:
        """Return the next batch for the environment: the actions, and the episodes that begin."""
        going = self.live.copy()
        going[begun] = False
        goes = going[self.rows]
        rows, seats, actions = self.rows[goes], self.seats[goes], self.actions[goes]
        self._note(rows, seats, actions)
        named = np.zeros(len(self.live), bool)
        named[rows] = named[begun] = True
        self.slots = np.flatnonzero(named).astype(np.int32)
        self.batch += 1
        patience = self.rules.answer_timeout
        self.deadline = FOREVER if patience is None else now + patience
        step = m.EnvironmentSteps(self.match.number, self.batch)
        if len(rows):
            step.slots, step.seats, step.actions = rows, seats, actions
        if len(begun):
            step.restarts, step.episodes = begun, self.number[begun]
            step.seeds = np.array([self.seed[slot] for slot in begun.tolist()], np.uint64)
        return step

    def _note(self, rows: Column, seats: Column, actions: Column) -> None:
        """Write the actions down."""
        if not len(rows):
            return
        at = self.played[rows]
        if self.match.spec.seats > 1:  # several seats of a slot are adjacent
            first = np.searchsorted(rows, rows)
            at = at + (np.arange(len(rows)) - first)
        most = int(at.max())
        if most >= self.acts.shape[1]:
            self.acts = np.concatenate([self.acts, np.zeros_like(self.acts)], axis=1)
        self.acts[rows, at] = np.stack([self.turn[rows], seats, actions], axis=1)
        self.played[rows] = at + 1
        self.plain[rows[(actions < 0) | (actions > 127) | (seats > 127)]] = False
        self.plain[rows[1:][rows[1:] == rows[:-1]]] = False

    # -- the environment's turns -----------------------------------------------------------------

    def turned(self, turns: m.Turns) -> list[Over]:
        """Take the batch that the environment owes; return the episodes that it ends.

        Raises:
            ProtocolError: code ``invalid``: the columns contradict the batch, the spec or each other.
        """
        spec, batch = self.match.spec, self.slots
        size, number = len(batch), spec.seats
        slots = columns.read("slots", turns.slots, np.int32, -1)
        if not np.array_equal(slots, batch):
            raise ProtocolError("invalid", f"`slots`: {_difference(slots, batch)}")
        over = turns.over
        over = np.zeros(size, np.uint8) if over is None else columns.read("over", over, "u1", size)
        if (over > 3).any():
            raise ProtocolError("invalid", f"`over` has a {int(over.max())}; it is 0 to 3")
        rows, seats = self._acting(turns, batch, over)
        legal = None
        if turns.legal is not None:
            width = columns.width(self.space)
            legal = columns.read("legal", turns.legal, np.uint8, len(rows), width)
        observations = columns.values("observations", turns.observations, len(rows))
        afterstates = None
        if turns.afterstates is not m.NIL and turns.afterstates is not None:
            if legal is None:
                raise ProtocolError("invalid", "`afterstates` need `legal`")
            total = int(columns.counts(legal).sum())
            afterstates = columns.values("afterstates", turns.afterstates, total)
        ended = np.flatnonzero((over == 1) | (over == 2))
        finals = columns.values("finals", turns.finals, len(ended))
        if isinstance(finals, np.ndarray):
            whole = finals.ndim > 1 and finals.shape[1] == number
        else:
            whole = all(isinstance(e, list) and len(e) == number for e in finals or ())
        if not whole and len(ended):
            raise ProtocolError(
                "invalid", f"`finals` needs an observation for each of {number} seats"
            )
        outcomes = turns.outcomes
        if outcomes is not None:
            outcomes = columns.read("outcomes", outcomes, np.float64, len(ended), number)
        if len(turns.faults) != int((over == 3).sum()):
            raise ProtocolError("invalid", "`faults` needs an entry for each slot with `over` 3")
        # From here on a mistake is one slot's.
        before = {
            fault.slot: self._seen(fault.slot) for fault in turns.faults if fault.slot in batch
        }
        self.turn[batch] += 1
        wrong = self._credit(turns, batch)
        if legal is not None:
            for slot in rows[~legal.any(axis=1)].tolist():
                wrong.setdefault(slot, f"slot {slot} has a seat to act without a legal action")
        kept = self._choose(rows, seats, legal, observations, afterstates)
        found = [
            self._failed(fault, slot, before)
            for fault, slot in zip(turns.faults, batch[over == 3].tolist(), strict=True)
        ]
        scores: list[list[float] | None] = [None] * len(ended)
        if outcomes is not None:
            given, some = outcomes.tolist(), ~np.isnan(outcomes).all(axis=1)
            scores = [row if scored else None for row, scored in zip(given, some, strict=True)]
            for at in np.flatnonzero(some & ~np.isfinite(outcomes).all(axis=1)).tolist():
                slot = int(batch[ended[at]])
                wrong.setdefault(slot, f"`outcomes` of slot {slot} are {given[at]}")
        self.finals = finals
        kinds, over_slots = over[ended].tolist(), batch[ended].tolist()
        for at, (slot, kind) in enumerate(zip(over_slots, kinds, strict=True)):
            found.append(Over(slot, Ending(OVER[kind - 1], None, scores[at]), [], at))
        for slot, text in wrong.items():
            found = [each for each in found if each.slot != slot]
            found.append(Over(slot, Ending("environment-failed", message=text), self._seen(slot)))
        limit = self.rules.max_turns
        if limit is not None:
            late = kept[self.turn[kept] >= limit]
            text = f"the run allows {limit} turns"
            for slot in sorted(set(late.tolist()) - wrong.keys()):
                found.append(Over(slot, Ending("truncated", message=text), self._seen(slot)))
        return found

    def _acting(self, turns: m.Turns, batch: Column, over: Column) -> tuple[Column, Column]:
        """Return the rows of the seats that must act.

        Raises:
            ProtocolError: a row is doubled, foreign or missing.
        """
        rows = columns.read("rows", turns.rows, np.int32, -1)
        seats = columns.read("seats", turns.seats, np.int32, len(rows))
        number = self.match.spec.seats
        if len(seats) and (int(seats.min()) < 0 or int(seats.max()) >= number):
            raise ProtocolError("invalid", f"`seats` has a seat that is not 0 to {number - 1}")
        key = rows.astype(np.int64) * number + seats
        if (np.diff(key) <= 0).any():
            at = int(np.argmax(np.diff(key) <= 0))
            what = "twice" if key[at] == key[at + 1] else "out of order"
            raise ProtocolError("invalid", f"`rows`: slot {rows[at]}, seat {seats[at]} is {what}")
        go = batch[over == 0]
        acting = rows if number == 1 else rows[np.diff(rows, prepend=-1) != 0]
        if not np.array_equal(acting, go):
            raise ProtocolError("invalid", f"`rows`: {_difference(acting, go)}")
        return rows, seats

    def _credit(self, turns: m.Turns, batch: Column) -> dict[int, str]:
        """Credit the rewards; return what is wrong with those of a slot."""
        if turns.rewards is None:
            return {}
        rewards = columns.read(
            "rewards", turns.rewards, np.float64, len(batch), self.match.spec.seats
        )
        finite = np.isfinite(rewards)
        wrong = {}
        if not finite.all():
            for at in np.flatnonzero(~finite.all(axis=1)).tolist():
                slot = int(batch[at])
                wrong[slot] = f"rewards of slot {slot} are {rewards[at].tolist()}"
            rewards = np.where(finite, rewards, 0.0)
        self.pending[batch] += rewards
        self.total[batch] += rewards
        return wrong

    def _choose(self, rows: Column, seats: Column, legal: Any, seen: Any, after: Any) -> Column:
        self.rows, self.seats, self.legal = rows, seats, legal
        self.observations, self.afterstates = seen, after
        self.actions = np.zeros(len(rows), np.int64)
        self.ending.clear()
        return rows

    def _failed(self, fault: m.Fault, slot: int, before: dict[int, list[Any]]) -> Over:
        seen = before.get(slot, [None] * self.match.spec.seats)
        if fault.slot != slot or fault.code != "illegal":
            return Over(slot, Ending("environment-failed", message=fault.message), seen)
        return Over(slot, self._refused(slot, fault.seat, fault.message), seen)

    def _refused(self, slot: int, seat: int | None, message: str) -> Ending:
        """Take the environment's word that the rules refuse a seat's last action."""
        acted = self.acts[slot, : self.played[slot]]
        last = acted[acted[:, 0] == self.turn[slot] - 1, 1].tolist() if len(acted) else []
        if seat is None or seat not in last:
            return Ending("environment-failed", message=message)
        self.breaches[slot, seat] += 1
        if self.rules.on_illegal == "truncate":
            return Ending("truncated", seat, message=f"illegal-action: {message}")
        return self.forfeit(slot, seat, "illegal-action", message)

    def _seen(self, slot: int) -> list[Any]:
        """Return what each seat observes in the present turn; None for those that do not act."""
        seen: list[Any] = [None] * self.match.spec.seats
        if self.observations is not None and self.turn[slot] >= 0:
            for row in np.flatnonzero(self.rows == slot).tolist():
                seen[int(self.seats[row])] = self.observations[row]
        return seen

    # -- decisions -------------------------------------------------------------------------------

    def decide(self, now: float) -> dict[int, tuple[m.AgentSteps, Column]]:
        """Return the decisions of the batch by instance, with the rows that it has of the batch."""
        alive = self.live[self.rows]
        if not alive.all():
            self._keep(alive)
        rows, seats = self.rows, self.seats
        holders = self.holders[self.place[rows, seats]]
        rule, patience = self.rules.clock, self.rules.answer_timeout
        allowed = patience if rule.decision is None else rule.decision + rule.margin
        self.deadline = FOREVER if allowed is None or not len(rows) else now + allowed
        clock = None if rule.decision is None else m.Clock(rule.decision, None, self.last)
        found = {}
        for holder in range(len(self.instances)):
            mine = np.flatnonzero(holders == holder)
            if not len(mine):
                continue
            found[holder] = self._steps(mine, clock), mine
        self.pending[rows, seats] = 0.0
        self.decisions[rows, seats] += 1
        self.started[rows, seats] = True
        return found

    def _keep(self, kept: Column) -> None:
        """Forget the rows of slots whose episode is over."""
        rows = np.flatnonzero(kept)
        if self.afterstates is not None and self.legal is not None:
            self.afterstates = columns.part(self.afterstates, _spread(self.legal, rows))
        self.rows, self.seats = self.rows[rows], self.seats[rows]
        self.legal = None if self.legal is None else self.legal[rows]
        self.observations = columns.part(self.observations, rows)
        self.actions = self.actions[rows]

    def _steps(self, mine: Column, clock: m.Clock | None) -> m.AgentSteps:
        whole = len(mine) == len(self.rows)
        rows, seats = self.rows[mine], self.seats[mine]
        rewards = self.pending[rows, seats]
        first = np.flatnonzero(~self.started[rows, seats]).astype(np.int32)
        step = m.AgentSteps(self.match.number, 0, self.batch, rows, seats, self.turn[rows])
        step.observations = self.observations if whole else columns.part(self.observations, mine)
        if self.legal is not None:
            step.legal = self.legal if whole else self.legal[mine]
        if self.afterstates is not None and self.legal is not None:
            step.afterstates = columns.part(self.afterstates, _spread(self.legal, mine))
        if rewards.any():
            step.rewards = rewards
        if len(first):
            starting, at = rows[first], seats[first]
            step.starts, step.episodes = first, self.number[starting]
            places = self.place[starting, at].tolist()
            step.seeds = np.array(
                [
                    derive(self.seed[slot], "seat", place)
                    for slot, place in zip(starting.tolist(), places, strict=True)
                ],
                np.uint64,
            )
        step.clock = clock
        return step

    def acted(self, holder: int, answer: m.Actions, now: float) -> list[Over]:
        """Take the answers that an instance owes; return the episodes that they end.

        Raises:
            ProtocolError: code ``invalid``: the rows are not those of the decisions.
        """
        asked = self.asked[holder]
        rows, seats = self.rows[asked.rows], self.seats[asked.rows]
        count = len(rows)
        slots = columns.read("slots", answer.slots, np.int32, -1)
        if not np.array_equal(slots, rows):
            raise ProtocolError("invalid", f"`slots`: {_difference(slots, rows)}")
        if not np.array_equal(columns.read("seats", answer.seats, np.int32, count), seats):
            raise ProtocolError("invalid", "`seats` are not those of the decisions, in their order")
        actions = columns.read("actions", answer.actions, np.int64, count)
        refused = (
            columns.read("refused", answer.refused, np.int32, count)
            if answer.refused is not None
            else None
        )
        measures = answer.measures
        if measures is not None and not (isinstance(measures, list) and len(measures) == count):
            raise ProtocolError("invalid", f"`measures` needs a map for each of {count} rows")
        resigns = answer.resigns
        if any(not 0 <= row < count for row in resigns):
            raise ProtocolError("invalid", f"`resigns` names a row beyond {count - 1}")
        faults = {}
        for fault in answer.faults:
            at = np.flatnonzero((rows == fault.slot) & (seats == fault.seat))
            if not len(at):
                raise ProtocolError(
                    "invalid",
                    f"`faults` names slot {fault.slot}, seat {fault.seat}, which has no row",
                )
            faults[int(at[0])] = fault
        del self.asked[holder]
        took = self._answered(asked, now)
        self.actions[asked.rows] = actions
        rule = self.rules.clock
        late = rule.decision is not None and took > rule.decision + rule.margin
        if late:
            settled = set(range(count))
        else:
            settled = {*resigns, *faults, *np.flatnonzero(~self._allowed(asked.rows)).tolist()}
        found: list[Over] = []
        for row in sorted(settled):
            slot, seat = int(rows[row]), int(seats[row])
            if slot in self.ending:
                continue
            if row in faults:
                found.append(self._over(slot, Ending("crashed", seat, message=faults[row].message)))
            elif late:
                what = f"answered after {took:.3f} s"
                found += self._breach(int(asked.rows[row]), "timeout", what)
            elif row in resigns:
                what = f"seat {seat} resigned at turn {self.turn[slot]}"
                found.append(self._over(slot, self.forfeit(slot, seat, "terminated", what)))
            else:
                found += self._breach(int(asked.rows[row]), "illegal-action")
        if refused is not None or measures is not None:
            ended = {(over.slot, over.ending.blame) for over in found}
            for row, (slot, seat) in enumerate(self._named(asked.rows)):
                if slot in self.ending and (slot, seat) not in ended:
                    continue  # too late
                if refused is not None:
                    self.refused[slot, seat] += max(0, int(refused[row]))
                if measures is not None:
                    self._measure(slot, seat, measures[row])
        return found

    def unreadable(self, holder: int, message: str, now: float) -> list[Over]:
        """Take an answer that is none: the instance has failed at all of its decisions."""
        asked = self.asked.pop(holder)
        self._answered(asked, now)
        return [
            self._over(slot, Ending("crashed", seat, message=message))
            for slot, seat in self._named(asked.rows)
            if slot not in self.ending
        ]

    def overdue(self, holder: int, now: float) -> list[Over]:
        """Act upon the decisions that an instance has not answered in time."""
        asked = self.asked.pop(holder)
        took = self._answered(asked, now)
        found: list[Over] = []
        for row, (slot, seat) in zip(asked.rows.tolist(), self._named(asked.rows), strict=True):
            if slot in self.ending:
                continue
            if self.rules.clock.decision is not None:
                found += self._breach(row, "timeout", f"no answer within {took:.3f} s")
                continue
            what = self._where(slot, seat, f"no answer within {took:.0f} s")
            found.append(self._over(slot, self.forfeit(slot, seat, "stalled", what)))
        return found

    def _named(self, rows: Column) -> list[tuple[int, int]]:
        return list(zip(self.rows[rows].tolist(), self.seats[rows].tolist(), strict=True))

    def _answered(self, asked: Asked, now: float) -> float:
        took = now - asked.sent
        self.last = took
        self.seconds[self.rows[asked.rows], self.seats[asked.rows]] += took
        return took

    def _measure(self, slot: int, seat: int, given: Any) -> None:
        if not isinstance(given, dict):
            return
        sums = self.measured.setdefault(slot, {}).setdefault(seat, {})
        for name, value in given.items():
            if isinstance(value, int | float) and (name in sums or len(sums) < MEASURES):
                total, count = sums.get(name, (0.0, 0.0))
                sums[name] = [total + value, count + 1]

    def _allowed(self, rows: Column) -> Column:
        actions = self.actions[rows]
        if self.legal is not None:
            return columns.allows(self.legal[rows], actions)
        found: Column = (actions >= self.space.start) & (actions < self.space.start + self.space.n)
        return found

    def _breach(self, row: int, reason: m.Reason, what: str = "") -> list[Over]:
        """Charge a seat the run's price for a timeout or an illegal action."""
        price = self.rules.on_timeout if reason == "timeout" else self.rules.on_illegal
        slot, seat = int(self.rows[row]), int(self.seats[row])
        turn = int(self.turn[slot])
        legal = None if self.legal is None else self.legal[row].tobytes()
        self.breaches[slot, seat] += 1
        if price == "random":
            own = derive(self.seed[slot], "seat", int(self.place[slot, seat]))
            choice = chosen(derive(own, "breach", turn), legal, self.space)
            if choice is not None:
                self.breached.setdefault(slot, []).append([turn, seat])
                self.actions[row] = choice
                return []
        given = int(self.actions[row])
        named = "that is not a number" if given == columns.NO_NUMBER else given
        said = self._where(slot, seat, what or refusal(named, legal))
        if price == "truncate":
            return [self._over(slot, Ending("truncated", seat, message=f"{reason}: {said}"))]
        return [self._over(slot, self.forfeit(slot, seat, reason, said))]

    def _where(self, slot: int, seat: int, what: str) -> str:
        return f"seat {seat}, turn {self.turn[slot]}: {what}"

    def _over(self, slot: int, ending: Ending) -> Over:
        self.ending.add(slot)
        return Over(slot, ending, self._seen(slot))

    def forfeit(self, slot: int, seat: int, reason: m.Reason, message: str) -> Ending:
        """Return the ending of a seat that cannot play on."""
        spec = self.match.spec
        if spec.forfeit is not None:
            earned = np.full(spec.seats, spec.forfeit[1])
            earned[seat] = spec.forfeit[0]
            self.pending[slot] += earned
            self.total[slot] += earned
        others = spec.seats - 1
        outcome = (
            [0.0 if each == seat else 1.0 / others for each in range(spec.seats)]
            if others
            else None
        )
        return Ending(reason, seat, outcome, message)

    # -- the end ---------------------------------------------------------------------------------

    def final(self, over: Over, seat: int) -> Any:
        """Return what a seat observes at the end of an episode."""
        if over.final < 0:
            return over.seen[seat]
        return None if self.finals is None else self.finals[over.final][seat]

    def running(self) -> list[Over]:
        """Return every episode in progress as if it ended here."""
        seen = [(slot, self._seen(slot)) for slot in np.flatnonzero(self.live).tolist()]
        return [Over(slot, Ending("cancelled"), each) for slot, each in seen]

    def accounts(self) -> list[Column]:
        """Return, by slot and seat: place, return, decisions, seconds, breaches, refused answers."""
        found: list[Column] = [self.place, self.total, self.decisions, self.seconds]
        return [*found, self.breaches, self.refused]

    def history(self, slot: int) -> tuple[Any, int]:
        """Return the actions of a slot's episode, turn by turn, and the number of turns.

        The actions are encoded as the journal has them.
        """
        acts = self.acts[slot, : self.played[slot]]
        count = len(acts)
        if count and self.plain[slot]:
            if count < 16:
                head = bytes([0x90 + count])
            elif count < 1 << 16:
                head = b"\xdc" + count.to_bytes(2, "big")
            else:
                head = b"\xdd" + count.to_bytes(4, "big")
            body = np.empty((count, 4), np.uint8)
            body[:, 0], body[:, 1] = 0x91, 0x92  # a turn with one pair
            body[:, 2:] = acts[:, 1:]
            return msgspec.Raw(head + body.tobytes()), count
        turns: list[list[tuple[int, int]]] = []
        for turn, seat, action in acts.tolist():
            while len(turns) <= turn:
                turns.append([])
            turns[turn].append((seat, action))
        return msgspec.Raw(codec.encode(turns)), len(turns)

    def means(self, slot: int, seat: int) -> dict[str, float]:
        """Return the mean of each measure of a seat."""
        sums = self.measured.get(slot, {}).get(seat, {})
        return {name: total / count for name, (total, count) in sums.items()}


class Slot:
    """The episode in progress in a slot."""

    def __init__(self, stack: Stack, number: int) -> None:
        self._stack = stack
        self._number = number

    def loss(self, instance: Instance, price: m.AgentLost, what: str) -> Ending:
        """Return how the episode ends if an agent is lost."""
        stack, slot = self._stack, self._number
        holders = stack.holders[stack.place[slot]].tolist()
        lost = stack.instances.index(instance)
        seat = holders.index(lost) if lost in holders else None
        if seat is not None and price == "forfeit":
            return stack.forfeit(slot, seat, "stalled", what)
        if seat is not None and price == "truncate":
            return Ending("truncated", seat, message=what)
        return Ending("disconnected", seat, message=what)


def _spread(legal: Column, rows: Column) -> Column:
    """Return which afterstates belong to some rows."""
    counts = columns.counts(legal)
    ends = np.cumsum(counts)
    parts = [np.arange(ends[row] - counts[row], ends[row]) for row in rows.tolist()]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _difference(found: Column, wanted: Column) -> str:
    """Return how the slots that came differ from those that were asked for."""
    came, asked = found.tolist(), wanted.tolist()
    seen: set[int] = set()
    twice = {each for each in came if each in seen or seen.add(each)}  # type: ignore[func-returns-value]
    doubled = sorted(twice - {each for each in asked if asked.count(each) > 1})
    foreign, missing = sorted(set(came) - set(asked)), sorted(set(asked) - set(came))
    for what, slots in (("foreign", foreign), ("missing", missing), ("doubled", doubled)):
        if slots:
            names = ", ".join(map(str, slots[:5])) + (", ..." if len(slots) > 5 else "")
            return f"slot {names} {what}; expected those of the batch, in their order"
    return "out of order; expected those of the batch, in their order"
