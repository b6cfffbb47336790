"""``TurnBased``: the vector environment of a game in which one seat acts at a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from dovetail.peer.environments.environment import Spec
from dovetail.peer.environments.vector import CONTINUES, Column, Transitions, VectorEnvironment
from dovetail.protocol import columns


class TurnBased(VectorEnvironment):
    """Keeps the seats to act, rewards and endings of each slot; a game adds its positions.

    Before ``begin`` and ``play``, the slots that they change are set to continue with no rewards; a
    game writes only what differs.

    Args:
        configuration: the environment's options, as its ``Configuration``.
        slots: the number of simultaneous episodes.
        spec: the result of the scalar environment's ``init``.
    """

    def __init__(self, configuration: Any, slots: int, spec: Spec) -> None:
        super().__init__(configuration, slots)
        self.spec = spec
        self.movers: Column = np.zeros(slots, np.int64)
        """Seat to act while the episode continues."""
        self.over: Column = np.zeros(slots, np.uint8)
        """Endings, as in ``Transitions``."""
        self.rewards: Column = np.zeros((slots, spec.seats))
        """Rewards of the last transition, by seat."""
        self.outcomes: Column = np.full((slots, spec.seats), np.nan)
        """Scores by seat for finished episodes; NaN otherwise."""

    # -- what a game adds --------------------------------------------------------------------------

    @abstractmethod
    def begin(self, slots: Column, seeds: Column) -> None:
        """Start an episode in some slots; arguments as for ``start``."""

    @abstractmethod
    def play(self, slots: Column, actions: Column) -> None:
        """Apply the action of the seat to act in some slots."""

    @abstractmethod
    def observations(self, slots: Column, seats: Column) -> Any:
        """Return a seat's observation in each of some slots, as an array or a list."""

    @abstractmethod
    def legal(self, slots: Column) -> Column:
        """Return the legal actions of the seats to act in some slots: uint8 [slots, bytes]."""

    @abstractmethod
    def afterstates(self, slots: Column, total: int) -> Column:
        """Return the observations of the seats to act after each legal action, slot by slot.

        Args:
            slots: int32.
            total: the number of legal actions over all slots.
        """

    # -- a vector environment ----------------------------------------------------------------------

    def init(self) -> Spec:
        return self.spec

    def start(self, slots: Column, seeds: Column) -> None:
        self._clear(slots)
        self.begin(slots, seeds)

    def step(self, slots: Column, seats: Column, actions: Column) -> None:
        self._clear(slots)
        self.play(slots, actions)

    def _clear(self, slots: Column) -> None:
        self.over[slots] = CONTINUES
        self.rewards[slots] = 0.0
        self.outcomes[slots] = np.nan

    def transitions(self, slots: Column, *, afterstates: bool) -> Transitions:
        over, rewards = self.over[slots], self.rewards[slots]
        rows = slots[over == CONTINUES]
        movers = self.movers[rows]
        found = Transitions(rows, movers.astype(np.int32), None)
        if len(rows):
            found.observations = self.observations(rows, movers)
            found.legal = self.legal(rows)
            if afterstates:
                total = int(columns.counts(found.legal).sum())
                found.afterstates = self.afterstates(rows, total)
        if rewards.any():
            found.rewards = rewards
        if len(rows) < len(slots):
            found.over = over
            ended = slots[over != CONTINUES]
            found.finals = self._finals(ended)
            outcomes = self.outcomes[ended]
            found.outcomes = None if np.isnan(outcomes).all() else outcomes
        return found

    def _finals(self, ended: Column) -> Any:
        count = self.spec.seats
        slots = ended.repeat(count)
        seen = self.observations(slots, np.arange(len(slots)) % count)
        if isinstance(seen, np.ndarray):
            return seen.reshape(len(ended), count, *seen.shape[1:])
        return [seen[first : first + count] for first in range(0, len(seen), count)]
