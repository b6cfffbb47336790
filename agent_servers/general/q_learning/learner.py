"""The core of Q-learning: an entry is updated when the same seat's next decision comes.

Over the actions that are then legal (Watkins 1989; the delayed form and forced exploration are those of the Dominion
study, sections 2.1 and 2.6).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from dovetail.agent_servers.general.q_learning.table import Key, Table
from dovetail.agent_servers.learning.sampling import best

Where = tuple[int, int]
"""An episode and a seat."""


class LearnerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """How a table is learned; the defaults are the Dominion study's."""

    learning_rate: Annotated[
        float, Meta(ge=0, le=1, description="Alpha, or what it is at the first visit of an entry.")
    ] = 0.2
    rate_power: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="At visit n of an entry the learning rate is divided by n to this power; 0 keeps it.",
        ),
    ] = 0.0
    least_rate: Annotated[
        float, Meta(ge=0, le=1, description="Below this the learning rate does not fall.")
    ] = 0.0
    discount: Annotated[
        float, Meta(ge=0, le=1, description="Gamma: what a reward is worth one decision earlier.")
    ] = 0.95
    epsilon: Annotated[
        float, Meta(ge=0, le=1, description="Share of random actions while learning.")
    ] = 0.2
    forced: Annotated[
        int,
        Meta(
            ge=0,
            description="While learning, actions tried fewer times than this in a state come first; 0 is "
            "plain epsilon-greedy.",
        ),
    ] = 10
    memory: Annotated[int, Meta(ge=1, le=1 << 20, description="MiB that the table may take.")] = (
        1024
    )


def explore(
    values: list[float],
    visits: Sequence[int],
    forced: int,
    epsilon: float,
    rng: random.Random,
) -> int:
    """Return the place of the action to take while learning.

    One of those visited fewer than ``forced`` times, by lot (forced exploration, section 2.6 of the Dominion
    study); if there is none, with probability ``epsilon`` any, else the best.
    """
    rare = [place for place, count in enumerate(visits) if count < forced]
    if rare:
        return rng.choice(rare)
    if rng.random() < epsilon:
        return rng.choice(range(len(values)))
    return best(values, rng)


class _Trail(Struct, gc=False):
    """A seat's last decision, to be updated when the next one comes."""

    row: int
    column: int


class Learner:
    """Chooses by a table and updates it; each seat of each episode has its own last decision."""

    def __init__(self, parameters: LearnerParameters, table: Table) -> None:
        self.parameters, self.table = parameters, table
        self._trails: dict[Where, _Trail] = {}

    def greedy(self, key: Key, columns: Sequence[int], rng: random.Random) -> int:
        """Return the best column, and change nothing."""
        row = self.table.find(key)
        values = self.table.fresh(key)[0] if row is None else self.table.values[row]
        return columns[best(values[list(columns)].tolist(), rng)]

    def step(
        self,
        where: Where,
        key: Key,
        columns: Sequence[int],
        reward: float,
        discount: float,
        rng: random.Random,
    ) -> int:
        """Update the last decision, and choose and count the next one.

        Args:
            where: the episode and the seat.
            key: the state.
            columns: what is legal.
            reward: what the last decision has earned since.
            discount: of what follows it.
            rng: explores.
        """
        table, given = self.table, self.parameters
        row = table.row(key)
        chosen = list(columns)
        trail = self._trails.get(where)
        if trail is not None:
            self._update(trail, reward + discount * float(table.values[row, chosen].max()))
        values, visits = table.values[row, chosen].tolist(), table.visits[row, chosen].tolist()
        column = columns[explore(values, visits, given.forced, given.epsilon, rng)]
        table.visits[row, column] += 1
        self._trails[where] = _Trail(row, column)
        return column

    def end(self, where: Where, target: float) -> bool:
        """Update the last decision of an episode towards ``target``; return whether there was one."""
        trail = self._trails.pop(where, None)
        if trail is not None:
            self._update(trail, target)
        return trail is not None

    def forget(self, where: Where) -> None:
        """Learn nothing from the last decision of an episode."""
        self._trails.pop(where, None)

    def _update(self, trail: _Trail, target: float) -> None:
        given, table = self.parameters, self.table
        rate = given.learning_rate
        if given.rate_power > 0:
            visits = float(table.visits[trail.row, trail.column])
            rate = max(given.least_rate, rate / visits**given.rate_power)
        error = target - float(table.values[trail.row, trail.column])
        table.values[trail.row, trail.column] += table.dtype.type(rate * error)
