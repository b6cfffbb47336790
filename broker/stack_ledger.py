"""The accounts of a group's episodes, in columns: who sits where, what was earned and what was done.

A column has an entry for each slot of the group, or one for each of its seats.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from dovetail.broker.place import MEASURES
from dovetail.protocol import codec
from dovetail.protocol.columns import Column


class Ledger:
    """The accounts of the episodes in all slots.

    Args:
        size: how many slots there are.
        seats: of the game.
    """

    def __init__(self, size: int, seats: int) -> None:
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

    def note(self, rows: Column, seats: Column, actions: Column) -> None:
        """Write the actions down."""
        if not len(rows):
            return
        at = self.played[rows]
        if self.place.shape[1] > 1:  # several seats of a slot are adjacent
            first = np.searchsorted(rows, rows)
            at = at + (np.arange(len(rows)) - first)
        most = int(at.max())
        if most >= self.acts.shape[1]:
            self.acts = np.concatenate([self.acts, np.zeros_like(self.acts)], axis=1)
        self.acts[rows, at] = np.stack([self.turn[rows], seats, actions], axis=1)
        self.played[rows] = at + 1
        self.plain[rows[(actions < 0) | (actions > 127) | (seats > 127)]] = False
        self.plain[rows[1:][rows[1:] == rows[:-1]]] = False

    def credit(self, rewards: Column | None, batch: Column, failed: list[int]) -> None:
        """Credit the rewards of a batch, but in slots whose episode failed."""
        if rewards is None:
            return
        if failed:
            rewards = np.where(np.isin(batch, failed)[:, None], 0.0, rewards)
        self.pending[batch] += rewards
        self.total[batch] += rewards

    def measure(self, slot: int, seat: int, given: Any) -> None:
        if not isinstance(given, dict):
            return
        sums = self.measured.setdefault(slot, {}).setdefault(seat, {})
        for name, value in given.items():
            if isinstance(value, int | float) and (name in sums or len(sums) < MEASURES):
                total, count = sums.get(name, (0.0, 0.0))
                sums[name] = [total + value, count + 1]

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
