"""Nim, a small game for two: take one to three; who takes the last wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dovetail.peer.environments.environment import Environment, Spec, Turn
from dovetail.protocol.spaces import Discrete


class Heap(Struct, frozen=True, forbid_unknown_fields=True):
    heap: int = 7


class Nim(Environment[Heap]):
    """Take one to three; who takes the last wins."""

    name = "nim"

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[Discrete(self.configuration.heap + 1)],
            action_spaces=[Discrete(3, start=1)],
            reward_range=(-1.0, 1.0),
        )

    def start(self, seed: int) -> Turn:
        self.left, self.seat = self.configuration.heap, 0
        return self._turn()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.left -= actions[self.seat]
        if not self.left:
            rewards = [1.0 if seat == self.seat else -1.0 for seat in (0, 1)]
            return Turn.end([0, 0], rewards, winners=[self.seat])
        self.seat = 1 - self.seat
        return self._turn()

    def _turn(self) -> Turn:
        return Turn.ask(self.seat, self.left, [n for n in (1, 2, 3) if n <= self.left])
