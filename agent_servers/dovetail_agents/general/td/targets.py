"""Targets of a position's value: the seat's own next value, or the opponent's."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail_agents.learning.network import Array

Image = NDArray[np.int64]
"""For each place of a symmetric row, the place of the row it comes from."""


class PendingValue:
    """The last position of an episode, whose value is learned next."""

    __slots__ = ("heard", "image", "old", "row", "seat", "sign", "trace")

    def __init__(self, image: Image | None, size: int, dtype: Any) -> None:
        self.image = image
        """How the rows of this episode are turned; None leaves them."""
        self.trace: Array = np.zeros(size, dtype)
        self.row: Array | None = None
        """After the last action."""
        self.old = 0.0
        """The value of ``row`` when it was chosen."""
        self.seat = 0
        """That took the last action."""
        self.sign = 1
        """How errors reach back from ``row``: 1; -1 to an action of the other seat; 0 not at
        all."""
        self.heard = [0.0, 0.0]
        """The rewards of both seats since the last action, for the target ``opponent``."""


class EpisodeMemory(Struct):
    """The memory of an episode: of a seat, or of both."""

    pending: PendingValue | None = None


class Target:
    """The value that the same seat expects after its next action."""

    seats = 0
    """That a game must have; 0 for any number."""

    def slot(self, episode: int, memory: EpisodeMemory) -> EpisodeMemory:
        """Return where an episode's last position is kept."""
        return memory

    def earned(self, pending: PendingValue, seat: int, reward: float) -> tuple[float, int]:
        """Return the reward since the last position, for the seat that made it.

        Also return the sign that the value of the next position has for that seat.

        Args:
            pending: the last position.
            seat: that acts now.
            reward: what it has earned since its last decision.
        """
        return reward, 1

    def take(self, episode: int, seat: int, memory: EpisodeMemory) -> PendingValue | None:
        """Return the last position when an episode ends for a seat, if it made it; forget it."""
        return memory.pending


class OpponentTarget(Target):
    """The negative of what the other seat expects after its action, in games of two seats."""

    seats = 2

    def __init__(self) -> None:
        self.slots: dict[int, EpisodeMemory] = {}
        """By episode: both seats share one."""

    def slot(self, episode: int, memory: EpisodeMemory) -> EpisodeMemory:
        return self.slots.setdefault(episode, EpisodeMemory())

    def earned(self, pending: PendingValue, seat: int, reward: float) -> tuple[float, int]:
        pending.heard[seat] += reward
        if pending.seat == seat:
            return reward, 1
        return -pending.heard[seat] - pending.heard[pending.seat], -1

    def take(self, episode: int, seat: int, memory: EpisodeMemory) -> PendingValue | None:
        slot = self.slots.get(episode)
        if slot is None or slot.pending is None or slot.pending.seat != seat:
            return None
        return self.slots.pop(episode).pending
