"""The accounts of batched episodes, and the decisions of the current batch, in columns.

A column of accounts has an entry per slot, or per slot and seat; one of decisions has a row for
each seat to act.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from dovetail.broker.rules.account import may_measure
from dovetail.protocol import codec, columns
from dovetail.protocol import messages as m
from dovetail.protocol.columns import Column
from dovetail.protocol.seeds import SeatSeeds

NONE = int(np.iinfo(np.int32).min)
"""The entry of ``acts`` for a seat that does not act in a turn."""
MEASURE = 1_300
"""Maximum bytes of a measure, with its name."""


class StackColumns:
    """The accounts and decisions; ``holders`` has the holder of each agent of the run."""

    def __init__(self, size: int, seats: int, holders: Column, draws: SeatSeeds) -> None:
        self._holders = holders
        self.live = np.zeros(size, bool)
        self.playing = 0
        """The number of live slots."""
        self.number = np.zeros(size, np.int64)
        self.index = np.zeros(size, np.int64)
        self.seed = np.zeros(size, np.uint64)
        self.draws = np.zeros((size, seats), np.uint64)
        """The seats' seeds."""
        self._seat_seeds = draws
        self.turn = np.full(size, -1, np.int32)
        self.player, self.holder, self.decisions, self.breaches, self.refused = (
            np.zeros((size, seats), np.int32) for _ in range(5)
        )
        self.pending, self.total, self.seconds = (np.zeros((size, seats)) for _ in range(3))
        self.measured: dict[int, dict[int, dict[str, list[float]]]] = {}
        """By slot, seat and name: the sum and the count of the measured values."""
        self.measures = 0
        """Their number."""
        self.breached: dict[int, list[list[int]]] = {}
        """By slot: ``[turn, seat]`` of each action that the broker chose."""
        self.earned = False
        """True once any seat has earned a reward."""
        self.played = np.zeros(size, np.int32)
        """The number of turns recorded in ``acts``."""
        self.acts = np.full((size, 64, seats), NONE, np.int32)
        """Actions by slot, turn and seat."""
        self.slots = np.zeros(0, np.int32)
        """The slots of the current batch."""
        self.rows = np.zeros(0, np.int32)
        """The slot of each decision."""
        self.seats = np.zeros(0, np.int32)
        self.at = np.zeros(0, np.int64)
        """Its index in a flattened column by slot and seat."""
        self.legal: Column | None = None
        self.observations: Any = None
        self.finals: Any = None
        """Final observations of the episodes that the environment has just ended."""
        self.afterstates: Any = None
        self.actions = np.zeros(0, np.int64)
        """The action of each decision."""

    def begin(
        self, slots: Column, numbers: range, indices: list[int], seeds: Column, players: Column
    ) -> None:
        """Start an episode in each of some slots; ``players`` has a row of seating for each."""
        self.live[slots] = True
        self.playing += len(slots)
        self.number[slots] = numbers
        self.index[slots] = indices
        self.turn[slots] = -1
        self.player[slots] = players
        self.holder[slots] = self._holders[players]
        for column in self.accounts()[1:]:
            column[slots] = 0
        self.pending[slots] = 0
        self.seed[slots] = seeds
        if indices:
            seated = self.player[slots].tolist()
            self.draws[slots] = self._seat_seeds.column(seeds.tolist(), indices, seated)
        self.played[slots] = 0
        self.acts[slots] = NONE
        if self.measured or self.breached:
            for slot in slots.tolist():
                self.measures -= sum(map(len, self.measured.pop(slot, {}).values()))
                self.breached.pop(slot, None)

    def whole(self, slots: Column) -> Any:
        """Return an index of distinct slots: a slice, which is much faster, if they are all."""
        return slice(None) if len(slots) == len(self.live) else slots

    def end(self, slots: Column) -> None:
        """End the episodes of some live slots."""
        self.live[slots] = False
        self.playing -= len(slots)

    def note(self, rows: Column, seats: Column, actions: Column) -> None:
        """Record the seats' actions in the current turns of their slots."""
        turns = self.turn.take(rows)
        size, turn, number = self.acts.shape
        if not columns.every(turns < turn):
            more = np.full((size, turn, number), NONE, np.int32)
            self.acts = np.concatenate([self.acts, more], axis=1)
            turn *= 2
        # At one flat index, which takes a third of the time.
        self.acts.put((rows * np.int64(turn) + turns) * number + seats, actions)
        self.played.put(rows, turns + 1)

    def needs(self, rows: Column) -> int:
        """Return the bytes kept, with the room that ``note`` makes for some slots' actions."""
        full = not columns.every(self.turn.take(rows) < self.acts.shape[1])
        return (self.acts.nbytes << full) + MEASURE * self.measures

    def credit(self, rewards: Column | None, batch: Column, failed: list[int]) -> None:
        """Credit the rewards of a batch, except in slots whose episode failed."""
        if rewards is None:
            return
        self.earned = True
        if failed:
            rewards = np.where(np.isin(batch, failed)[:, None], 0.0, rewards)
        at = self.whole(batch)
        self.pending[at] += rewards
        self.total[at] += rewards

    def refuse(self, slot: int, seat: int, count: int) -> None:
        """Count answers refused at a bridge, up to the column's largest number."""
        most = int(np.iinfo(self.refused.dtype).max)
        self.refused[slot, seat] = min(int(self.refused[slot, seat]) + max(0, count), most)

    def measure(self, slot: int, seat: int, given: Any) -> None:
        if not isinstance(given, dict):
            return
        sums = self.measured.setdefault(slot, {}).setdefault(seat, {})
        for name, value in given.items():
            if not (isinstance(name, str) and isinstance(value, int | float)):
                continue  # neither the journal nor a client could read it
            if may_measure(name, sums):
                self.measures += name not in sums
                total, count = sums.get(name, (0.0, 0.0))
                sums[name] = [total + value, count + 1]

    def accounts(self) -> list[Column]:
        """Return the columns of player, return, decisions, seconds, breaches and refusals."""
        counts = self.breaches, self.refused
        return [self.player, self.total, self.decisions, self.seconds, *counts]

    def histories(self, slots: Column) -> list[tuple[Any, int]]:
        """Return some slots' actions, encoded as in the journal, and their numbers of turns."""
        played = self.played[slots]
        acts = self.acts[slots, : played.max()]
        given = np.zeros(acts.shape[:2], np.uint8)
        seats, actions = np.zeros_like(given), acts[..., 0].copy()
        # Seat by seat, since a reduction along a short axis takes ten times as long.
        for seat in range(acts.shape[2]):
            acted = acts[..., seat] != NONE
            given += acted
            np.maximum(seats, acted * np.uint8(seat), out=seats)
            np.maximum(actions, acts[..., seat], out=actions)
        # A turn with one action from 0 to 127 takes four bytes.
        short = (given == 1) & (actions.view(np.uint32) < 128)
        plain = (short | (np.arange(acts.shape[1]) >= played[:, None])).all(axis=1)
        bodies = np.empty((len(slots), acts.shape[1], 4), np.uint8)
        bodies[..., 0], bodies[..., 1] = 0x91, 0x92  # a turn with one pair
        bodies[..., 2], bodies[..., 3] = seats, actions
        data, size = bodies.tobytes(), 4 * acts.shape[1]
        found: list[tuple[Any, int]] = []
        easy = plain.tolist()
        for row, count in enumerate(played.tolist()):
            if easy[row]:
                encoded = codec.array_head(count) + data[row * size : row * size + 4 * count]
            else:
                turns = acts[row, :count].tolist()
                encoded = codec.encode([[e for e in enumerate(t) if e[1] != NONE] for t in turns])
            found.append((msgspec.Raw(encoded), count))
        return found

    def means(self, slot: int, seat: int) -> dict[str, float]:
        sums = self.measured.get(slot, {}).get(seat, {})
        return {name: total / count for name, (total, count) in sums.items()}

    def choose(self, read: m.Turns) -> None:
        """Take over the decisions and final observations of a new batch."""
        self.rows, self.seats, self.legal = read.rows, read.seats, read.legal
        self.at = self.rows * np.int64(self.player.shape[1]) + self.seats
        self.observations, self.afterstates = read.observations, read.afterstates
        self.finals = read.finals
        self.actions = np.zeros(len(read.rows), np.int64)

    def keep(self, kept: Column) -> None:
        """Drop the rows whose entry in ``kept`` is False."""
        rows = np.flatnonzero(kept)
        if self.afterstates is not None and self.legal is not None:
            self.afterstates = columns.part(self.afterstates, _spread(self.legal, rows))
        self.rows, self.seats, self.at = self.rows[rows], self.seats[rows], self.at[rows]
        self.legal = None if self.legal is None else self.legal[rows]
        self.observations = columns.part(self.observations, rows)
        self.actions = self.actions[rows]

    def ask(self, match: int, batch: int, mine: Column, clock: m.Clock | None) -> m.AgentSteps:
        """Return the message that asks a holder for its decisions."""
        rows, at = self.share(self.rows, mine), self.share(self.at, mine)
        step = m.AgentSteps(
            match, 0, batch, rows, self.share(self.seats, mine), self.turn.take(rows)
        )
        step.observations = self.share(self.observations, mine)
        step.legal = self.share(self.legal, mine)
        if self.afterstates is not None and self.legal is not None:
            step.afterstates = columns.part(self.afterstates, _spread(self.legal, mine))
        if self.earned:
            rewards = self.pending.take(at)
            if rewards.any():
                step.rewards = rewards
            self.pending.put(at, 0.0)
        decisions = self.decisions.take(at)
        self.decisions.put(at, decisions + 1)
        first = (decisions == 0).nonzero()[0].astype(np.int32)
        if len(first):
            starting = rows[first]
            step.starts, step.episodes = first, self.number[starting]
            step.seeds = self.draws.take(at[first])
        step.clock = clock
        return step

    def share(self, column: Any, rows: Column) -> Any:
        """Return some rows of a column; the column itself if they are all."""
        return column if len(rows) == len(self.rows) else columns.part(column, rows)

    def seen(self, slot: int) -> list[Any]:
        """Return each seat's observation of the current turn; None for seats not to act."""
        seen: list[Any] = [None] * self.player.shape[1]
        if self.observations is not None and self.turn[slot] >= 0:
            for row in np.flatnonzero(self.rows == slot).tolist():
                seen[int(self.seats[row])] = self.observations[row]
        return seen

    def named(self, rows: Column) -> list[tuple[int, int]]:
        return list(zip(self.rows[rows].tolist(), self.seats[rows].tolist(), strict=True))

    def allowed(self, rows: Column, space: Any) -> Column:
        """Return which of some actions are legal."""
        actions, legal = self.share(self.actions, rows), self.share(self.legal, rows)
        if legal is not None:
            return columns.allows(legal, actions)
        found: Column = (actions >= space.start) & (actions < space.start + space.n)
        return found


def _spread(legal: Column, rows: Column) -> Column:
    """Return the indices of the afterstates of some rows."""
    counts = columns.counts(legal)
    ends = np.cumsum(counts)
    parts = [np.arange(ends[row] - counts[row], ends[row]) for row in rows.tolist()]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
