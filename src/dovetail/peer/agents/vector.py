"""``VectorAgent``: an agent that decides for many episodes at once, arrays in and arrays out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Agent, P, Seat
from dovetail.protocol.messages import INTERRUPTED, Mode, Reason

Column = NDArray[Any]


class Places(Struct):
    """Rows, each of a slot and a seat."""

    slots: Column
    """int32 [rows], rising in decisions."""
    seats: Column
    """int32 [rows]."""

    def places(self, seats: int) -> Column:
        """Return the flat index ``slot * seats + seat`` of each row: int64 [rows].

        Args:
            seats: the number of seats of the game.
        """
        found: Column = self.slots.astype(np.int64) * seats + self.seats
        return found


class Rows(Places):
    """Decisions, one in each row."""

    turns: Column
    """int32 [rows]."""
    observations: Any
    """An array [rows, ...], or a list."""
    legal: Column | None
    """uint8 [rows, bytes]: bit masks, action ``a`` at bit ``a % 8`` of byte ``a // 8``; None allows
    all."""
    rewards: Column
    """float64 [rows]: the sum of each seat's rewards since its last decision."""
    starts: Column
    """int32 [first]: the rows that are their seat's first decision of an episode."""
    episodes: Column
    """int64 [first]: the numbers of those episodes."""
    seeds: Column
    """uint64 [first]: the seeds for random choices in them."""
    mode: Mode
    """In ``evaluate`` an agent must not change."""
    afterstates: Any = None
    """An array [legal actions, ...], row by row (if ``needs`` asks)."""


class Ends(Places):
    """Ends of episodes, one row per seat."""

    episodes: Column
    """int64 [ended]."""
    rewards: Column
    """float64 [ended]: the sum of each seat's rewards since its last decision."""
    totals: Column
    """float64 [ended]: the returns."""
    decisions: Column
    """int32 [ended]."""
    reasons: list[Reason]
    outcomes: Column | None
    """float64 [ended, seats]: the scores, NaN for none."""
    blames: Column | None
    """int32 [ended]: the seat at fault, -1 for none."""
    observations: Any
    """An array [ended, ...], or a list: the final observations; None if there are none."""
    mode: Mode

    def interrupted(self, row: int) -> bool:
        """Return whether an episode was interrupted; see ``End.interrupted``."""
        return self.reasons[row] in INTERRUPTED

    def observation(self, row: int) -> Any:
        """Return a seat's final observation, as in single matches; None if there is none."""
        seen = None if self.observations is None else self.observations[row]
        return seen.item() if isinstance(seen, np.generic) else seen

    def beyond(self, row: int) -> Any:
        """Return the final observation of a truncated episode; None for any other."""
        return self.observation(row) if self.reasons[row] == "truncated" else None


class VectorAgent(Agent[P]):
    """An agent that answers all decisions of a batched match in one call.

    In single matches ``start`` and ``step`` are called as for other agents, and must act the same.
    """

    @abstractmethod
    def open_group(self, seats: Mapping[int, Seat], slots: int) -> Any:
        """Return the agent's memory of a batched match, which is passed to every call.

        If None, ``start`` and ``step`` are called for each row instead.

        Args:
            seats: the seats that it holds in each slot, by number.
            slots: the number of episodes played at once.
        """

    @abstractmethod
    def step_rows(self, rows: Rows, memory: Any) -> Column:
        """Return the action number of each row: int64 [rows]."""

    def end_rows(self, ends: Ends, memory: Any) -> None:
        """Handle the ends of episodes."""
