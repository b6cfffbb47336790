"""Targets for a position's value: the seat's own next value, or the opponent's."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail_agents.learning.memory import room
from dovetail_agents.learning.network import Array

Image = NDArray[np.int64]
"""Source index of each element of a transformed row."""


class PendingValue:
    """The last position of an episode, whose value is updated next."""

    __slots__ = ("heard", "image", "old", "row", "seat", "sign", "trace")

    def __init__(self, image: Image | None, size: int, dtype: Any) -> None:
        self.image = image
        """Symmetry applied to the rows of this episode; None for none."""
        room(size * np.dtype(dtype).itemsize, f"the trace of {size:,} weights in an episode")
        self.trace: Array = np.zeros(size, dtype)
        self.row: Array | None = None
        """Row of the position after the last action."""
        self.old = 0.0
        """Value of ``row`` when it was chosen."""
        self.seat = 0
        """Seat that took the last action."""
        self.sign = 1
        """Factor of errors that reach back from ``row``: 1, -1 to an action of the other seat, or 0
        for none."""
        self.heard = [0.0, 0.0]
        """Rewards of both seats since the last action, for the target ``opponent``."""


class EpisodeMemory(Struct):
    """Memory of an episode, for one seat or for both."""

    pending: PendingValue | None = None


class Target:
    """The target is the value that the same seat expects after its next action."""

    seats = 0
    """Number of seats that a game must have; 0 for any."""

    def slot(self, episode: int, memory: EpisodeMemory) -> EpisodeMemory:
        """Return the memory with an episode's last position."""
        return memory

    def earned(self, pending: PendingValue, seat: int, reward: float) -> tuple[float, int]:
        """Return the reward since the last position, for the seat that made it, and the next
        value's sign.

        Args:
            pending: the last position.
            seat: the seat that acts now.
            reward: that seat's reward since its last decision.
        """
        return reward, 1

    def take(self, episode: int, seat: int, memory: EpisodeMemory) -> PendingValue | None:
        """Return and forget the last position when an episode ends, if ``seat`` made it."""
        return memory.pending


class OpponentTarget(Target):
    """The target is the negative of the other seat's next value, in games of two seats."""

    seats = 2

    def __init__(self) -> None:
        self.slots: dict[int, EpisodeMemory] = {}
        """Memory of each episode, shared by both seats."""

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
