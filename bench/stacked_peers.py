"""The trivial game and agent of ``peers`` as arrays, for the rows of stacked turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench import peers
from dovetail import Seat, Spec
from dovetail.peer.agents.vector import Column, Rows, VectorAgent
from dovetail.peer.environments.vector import Transitions, VectorEnvironment

BITS = sum(1 << action for action in peers.LEGAL)


class Trivials(VectorEnvironment):
    """The trivial game, or ``Frames``, in slots."""

    def __init__(self, game: peers.Trivial | peers.Frames, slots: int) -> None:
        super().__init__(game.configuration, slots)
        self._spec = game.init()
        self._turn = np.zeros(slots, np.int32)
        size = getattr(game.configuration, "size", None)
        self._seen = np.frombuffer(peers.OBSERVATION.encode(), np.uint8)
        if size is not None:
            self._seen = np.arange(size).astype(np.uint8)

    def init(self) -> Spec:
        return self._spec

    def start(self, slots: Column, seeds: Column) -> None:
        self._turn[slots] = 0

    def step(self, slots: Column, seats: Column, actions: Column) -> None:
        self._turn[slots] += 1

    def transitions(self, slots: Column, *, afterstates: bool) -> Transitions:
        turn = self._turn[slots]
        over = turn == peers.TURNS
        rows = slots[~over]
        seen = np.broadcast_to(self._seen, (len(rows), len(self._seen)))
        found = Transitions(rows, turn[~over] % 2, seen, np.full((len(rows), 1), BITS, np.uint8))
        if over.any():
            found.over = over.astype(np.uint8)
            ended = int(over.sum())
            found.finals = np.broadcast_to(self._seen, (ended, 2, len(self._seen)))
            found.outcomes = np.full((ended, 2), 0.5)
        return found


class Trivial(peers.Trivial):
    """The trivial game, played as arrays in batches."""

    @classmethod
    def vector(cls, configuration: Any, slots: int) -> VectorEnvironment:
        return Trivials(cls(configuration), slots)


class Frames(peers.Frames):
    """The game with frames as observations, played as arrays in batches."""

    @classmethod
    def vector(cls, configuration: Any, slots: int) -> VectorEnvironment:
        return Trivials(cls(configuration), slots)


class First(VectorAgent):
    """Takes the first action, which is always legal in this game."""

    name = "first"
    capacity = 0

    def step(self, decision: Any) -> Any:
        return decision.legal[0]

    def open_group(self, seats: Mapping[int, Seat], slots: int) -> Any:
        return True

    def step_rows(self, rows: Rows, memory: Any) -> Column:
        return np.zeros(len(rows.slots), np.int64)
