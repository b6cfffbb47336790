"""The decisions of the current batch, in columns: a row for each seat to act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.broker.matches.stack_arrays import StackArrays
from dovetail.broker.matches.stack_decode import TurnColumns
from dovetail.protocol import columns
from dovetail.protocol import messages as m
from dovetail.protocol.columns import Column
from dovetail.protocol.seeds import SeatSeeds


@dataclass(eq=False, slots=True)
class Asked:
    """The decisions that a holder has yet to answer."""

    seq: int
    rows: Column
    """Its rows of the batch."""
    sent: float
    stood: float | None = None
    """The time at which its clock was stopped; None while it runs."""

    def stop(self, now: float) -> None:
        """Stop the clock until ``go``."""
        if self.stood is None:
            self.stood = now

    def go(self, now: float) -> None:
        """Resume a stopped clock as if no time had passed."""
        if self.stood is not None:
            self.sent += now - self.stood
            self.stood = None


class Batch(StackArrays):
    """The accounts of all slots, and the decisions of the current batch."""

    def __init__(self, size: int, seats: int, holders: Column, draws: SeatSeeds) -> None:
        super().__init__(size, seats, holders, draws)
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

    def choose(self, read: TurnColumns) -> None:
        """Take over the decisions of a new batch."""
        self.rows, self.seats, self.legal = read.rows, read.seats, read.legal
        self.at = self.rows * np.int64(self.player.shape[1]) + self.seats
        self.observations, self.afterstates = read.observations, read.afterstates
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
