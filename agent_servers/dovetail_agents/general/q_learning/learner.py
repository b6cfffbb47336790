"""The core of Q-learning: an entry is updated at the same seat's next decision.

The maximum is over the actions that are legal then (Watkins 1989; the delayed form and forced
exploration are those of the Dominion study, sections 2.1 and 2.6).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from dovetail.peer.agents.sampling import best
from dovetail.protocol.outside import LimitedNatural
from dovetail_agents.general.q_learning.table import Key, Table
from dovetail_agents.learning.options import Discount, Epsilon
from dovetail_agents.learning.step_size import StepSize


class LearnerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Options for learning a table; the defaults are the Dominion study's."""

    learning_rate: Annotated[
        float, Meta(ge=0, le=1, description="Learning rate (alpha) at the first visit of an entry.")
    ] = 0.2
    rate_power: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="At visit n of an entry the learning rate is divided by n to this power; "
            "0 keeps it.",
        ),
    ] = 0.0
    least_rate: Annotated[
        float, Meta(ge=0, le=1, description="Lower bound of the learning rate.")
    ] = 0.0
    discount: Discount = 0.95
    epsilon: Epsilon = 0.2
    min_visits: Annotated[
        LimitedNatural,
        Meta(
            description="While learning, actions tried fewer times than this in a state come "
            "first; 0 is plain epsilon-greedy.",
        ),
    ] = 10
    table_mib: Annotated[
        int, Meta(ge=1, le=1 << 20, description="MiB that the table may take.")
    ] = 1024


def explore(
    values: list[float],
    visits: Sequence[int],
    min_visits: int,
    epsilon: float,
    rng: random.Random,
) -> int:
    """Return the index of the action to take while learning.

    It is a random one of those with fewer than ``min_visits`` visits (forced exploration, section
    2.6 of the Dominion study). If there is none, it is any action with probability ``epsilon``,
    otherwise the best.
    """
    rare = [place for place, count in enumerate(visits) if count < min_visits]
    if rare:
        return rng.choice(rare)
    if rng.random() < epsilon:
        return rng.choice(range(len(values)))
    return best(values, rng)


class Pending(Struct):
    """A seat's last decision in an episode, to be updated at the next one."""

    row: int = -1
    """Row in the table; -1 before the first decision."""
    column: int = -1


class Learner:
    """Chooses by a table and updates it; each seat of each episode has its own ``Pending``."""

    def __init__(self, parameters: LearnerParameters, table: Table) -> None:
        self.parameters, self.table = parameters, table
        self._step_size = StepSize(
            parameters.learning_rate, power=parameters.rate_power, floor=parameters.least_rate
        )

    def greedy(self, key: Key, columns: Sequence[int], rng: random.Random) -> int:
        """Return the best column without learning."""
        row = self.table.find(key)
        values = self.table.fresh(key)[0] if row is None else self.table.values[row]
        return columns[best(values[list(columns)].tolist(), rng)]

    def step(
        self,
        pending: Pending,
        key: Key,
        columns: Sequence[int],
        reward: float,
        discount: float,
        rng: random.Random,
    ) -> int:
        """Update the last decision, then choose and count the next one.

        Args:
            pending: the seat's last decision; overwritten with this one.
            key: the state.
            columns: the legal columns.
            reward: the reward since the last decision.
            discount: the discount for the value of this state.
            rng: the source of exploration.
        """
        table, given = self.table, self.parameters
        row = table.row(key)
        chosen = list(columns)
        if pending.row >= 0:
            self._update(pending, reward + discount * float(table.values[row, chosen].max()))
        values, visits = table.values[row, chosen].tolist(), table.visits[row, chosen].tolist()
        column = columns[explore(values, visits, given.min_visits, given.epsilon, rng)]
        table.visits[row, column] += 1
        pending.row, pending.column = row, column
        return column

    def end(self, pending: Pending, target: float) -> bool:
        """Update an episode's last decision towards ``target``; return whether there was one."""
        if pending.row < 0:
            return False
        self._update(pending, target)
        return True

    def beyond(self, key: Key) -> float:
        """Return the value of the state in which an episode was truncated.

        It is the value of the best action ever tried there; 0 if none was.
        """
        row = self.table.find(key)
        if row is None or not self.table.visits[row].any():
            return 0.0
        return float(self.table.values[row][self.table.visits[row] > 0].max())

    def _update(self, pending: Pending, target: float) -> None:
        table = self.table
        rate = self._step_size.at(float(table.visits[pending.row, pending.column]))
        error = target - float(table.values[pending.row, pending.column])
        table.values[pending.row, pending.column] += table.dtype.type(rate * error)
