"""Tabular Q-learning as an agent for any environment with discrete actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Decision, End, Needs, Seat
from dovetail.peer.agents.vector import Ends, Rows, VectorAgent
from dovetail.peer.registry import registered
from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import HIGHEST, LimitedReal
from dovetail_agents.general.q_learning.encoders import (
    Component,
    Encode,
    bucketed,
    key_of,
    whole,
)
from dovetail_agents.general.q_learning.learner import Learner, LearnerParameters, Pending
from dovetail_agents.general.q_learning.table import (
    Entries,
    Key,
    Table,
    entries,
    restore,
)
from dovetail_agents.learning.memory import MIB
from dovetail_agents.learning.saving import Counter, become, pack, unpack

if TYPE_CHECKING:
    from dovetail.peer.vector_random import Twisters

Array = NDArray[Any]


class QLearningParameters(LearnerParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``QLearning``."""

    encoder: Annotated[
        str,
        Meta(
            description="Form of a state: bytes, the whole observation; components, those of the "
            "next option; or the name of a registered encoder, a function of observation and "
            "seat that returns bytes or a number."
        ),
    ] = "bytes"
    components: Annotated[
        tuple[Component, ...],
        Meta(
            description="Numbers of the flattened observation: at, least, most, and width (1) of "
            "the steps between them."
        ),
    ] = ()
    by_seat: Annotated[bool, Meta(description="Whether each seat has its own states.")] = False
    table: Annotated[
        Literal["sparse", "dense"],
        Meta(
            description="sparse: only states that were met; dense: all, for components and "
            "Discrete observations."
        ),
    ] = "sparse"
    initial: Annotated[LimitedReal, Meta(description="The lowest initial value.")] = 0.0
    spread: Annotated[
        float,
        Meta(
            ge=0,
            le=HIGHEST,
            description="Initial values are sampled between `initial` and `initial` plus this.",
        ),
    ] = 0.0


class _Settings(Struct, forbid_unknown_fields=True):
    episodes: Counter
    entries: Entries | None


class _Slots:
    """A batch's memory: a generator and the last entry for each seat."""

    def __init__(self, seats: Mapping[int, Seat], chance: Twisters, size: int) -> None:
        self.seats = seats
        self.chance = chance
        self.rows: Array = np.full(size, -1, np.int64)
        self.columns: Array = np.full(size, -1, np.int64)
        self.count = next(iter(seats.values())).spec.seats


class QLearning(VectorAgent[QLearningParameters]):
    """Learns the value of each action in each state, in a table.

    With ``s, a`` a seat's last state and action, ``r`` its reward since and ``s'`` its current
    state, each decision first does::

        Q(s, a) <- Q(s, a) + rate * (r + discount * max Q(s', legal actions) - Q(s, a))

    At the end the target is ``r`` alone; if the episode was truncated, the target also includes the
    discounted value of the best action ever tried in the last state. All seats share one table. In
    ``evaluate`` mode nothing changes. The last step of an interrupted episode (cancelled,
    environment-failed, disconnected, crashed) is not learned from.
    """

    name = "q-learning"
    Memory = Pending
    needs = Needs(actions="discrete")
    capacity = 0

    def __init__(self, parameters: QLearningParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._prepare()

    def _prepare(self) -> None:
        given, who = self.parameters, f"agent {self.name}"
        self.episodes = 0
        """Number of episodes learned from, counted for each seat."""
        self.learner: Learner | None = None
        """The learner, created when the first seat shows the number of actions."""
        if given.encoder == "components" and not given.components:
            raise DovetailError(
                f"{who}, option 'encoder': with \"components\" the option components must list some"
            )
        if given.components and given.encoder != "components":
            raise DovetailError(
                f"{who}, option 'components': only with encoder = \"components\", not "
                f"{given.encoder!r}"
            )
        for each in given.components:
            if not each.least <= each.most < np.inf:
                raise DovetailError(
                    f"{who}, option 'components': least {each.least:g} and most {each.most:g} "
                    "make no range"
                )
        encoders = {"bytes": whole, "components": bucketed(given.components)}
        self._encode: Encode = registered(
            "encoder", given.encoder, encoders, who=f"{who}, option 'encoder'"
        )

    def init(self, seat: Seat) -> None:
        spec = seat.spec
        space = spec.action_spaces[0]
        assert isinstance(space, spaces.Discrete)
        count = space.n
        for seen in spec.observation_spaces:
            size = int(np.prod(seen.shape)) if isinstance(seen, spaces.Box) else None
            for each in self.parameters.components:
                if size is not None and each.at >= size:
                    raise DovetailError(
                        f"agent {self.name}, option 'components': observations of {spec.name} have "
                        f"{size} numbers, the first at 0; there is none at {each.at}"
                    )
        found = self._states(seat)
        if self.learner is None:
            self._make(count, found)
        table = self.learner.table  # type: ignore[union-attr]
        if (table.actions, table.states) != (count, found):
            raise DovetailError(
                f"{self.name} has learned another game than {spec.name}: its table has "
                f"{table.actions} actions"
                + (f" and {table.states:,} states" if table.states is not None else "")
            )

    def _states(self, seat: Seat) -> int | None:
        """Return the number of states of a dense table."""
        if self.parameters.table == "sparse":
            return None
        given, spec = self.parameters, seat.spec
        seats = spec.seats if given.by_seat else 1
        if given.encoder == "components":
            return int(np.prod([each.levels for each in given.components], dtype=object)) * seats
        ends = [
            each.n + each.start
            for each in spec.observation_spaces
            if isinstance(each, spaces.Discrete) and each.start >= 0
        ]
        if given.encoder == "bytes" and ends and len(ends) == len(spec.observation_spaces):
            return max(ends) * seats
        raise DovetailError(
            f"agent {self.name}, option 'table': dense needs components or Discrete observations "
            "from 0; use sparse"
        )

    def _make(self, actions: int, states: int | None) -> None:
        given = self.parameters
        table = Table(
            self.name,
            actions,
            states,
            given.table_mib * MIB,
            self.seed,
            given.initial,
            given.spread,
        )
        self.learner = Learner(given, table)

    def _state_of(self, observation: Any, seat: Seat) -> Key:
        table = self.learner.table  # type: ignore[union-attr]
        if table.states is not None and self.parameters.encoder == "bytes":
            key: Key = int(observation)
        else:
            key = key_of(self._encode(observation, seat), self.name)
        if not self.parameters.by_seat:
            return key
        if isinstance(key, bytes):
            return key + bytes([seat.seat])
        return key * seat.spec.seats + seat.seat

    def step(self, decision: Decision) -> int:
        assert self.learner is not None
        seat = decision.seat
        space = seat.spec.action_space(seat.seat)
        assert isinstance(space, spaces.Discrete)
        legal = decision.legal
        columns: Sequence[int] = (
            range(space.n) if legal is None else [each - space.start for each in legal]
        )
        key = self._state_of(decision.observation, seat)
        if decision.mode == "evaluate":
            return self.learner.greedy(key, columns, decision.rng) + space.start
        discount = self.parameters.discount
        column = self.learner.step(
            decision.memory, key, columns, decision.reward, discount, decision.rng
        )
        return column + space.start

    def end(self, end: End) -> None:
        if not end.interrupted:
            cut = end.observation if end.reason == "truncated" else None
            self._finish(end.memory, end.reward, cut, end.seat)

    def _finish(self, pending: Pending, reward: float, cut: Any, seat: Seat) -> None:
        """Learn from the end of an episode: its last reward, and its last state if truncated."""
        if self.learner is None:
            return
        later = 0.0 if cut is None else self.learner.beyond(self._state_of(cut, seat))
        if self.learner.end(pending, reward + self.parameters.discount * later):
            self.episodes += 1

    # -- many rows at once -------------------------------------------------------------------------

    def open_group(self, seats: Mapping[int, Seat], slots: int) -> _Slots | None:
        if find_spec("numba") is None:
            return None
        from dovetail.peer.vector_random import Twisters

        size = slots * next(iter(seats.values())).spec.seats
        return _Slots(seats, Twisters(size), size)

    def step_rows(self, rows: Rows, memory: _Slots) -> Array:
        """Choose actions and learn row by row, as ``step`` would."""
        from dovetail_agents.general.q_learning import kernels
        from dovetail_agents.learning.draws import best_of_rows

        assert self.learner is not None
        table, given = self.learner.table, self.parameters
        which = rows.places(memory.count)
        memory.chance.begin(which[rows.starts], rows.seeds)
        memory.rows[which[rows.starts]] = -1
        space = memory.seats[int(rows.seats[0])].spec.action_spaces[0]
        assert isinstance(space, spaces.Discrete)
        legal = np.ones((len(which), space.n), bool)
        if rows.legal is not None:
            bits = np.unpackbits(rows.legal, axis=1, bitorder="little")
            legal = bits[:, space.start : space.start + space.n].astype(bool)
        keys = self._keys(rows, memory.seats)
        columns: Array = np.empty(len(which), np.int64)
        states = memory.chance.states
        if rows.mode == "evaluate":
            values = np.empty((len(which), table.actions), table.dtype)
            for row, key in enumerate(keys):
                found = table.find(key)
                values[row] = table.fresh(key)[0] if found is None else table.values[found]
            best_of_rows(which, values, legal, states, columns)
        else:
            kernels.step(
                which,
                np.array([table.row(key) for key in keys]),
                legal,
                rows.rewards,
                states,
                memory.rows,
                memory.columns,
                table.values,  # after ``table.row``, which may reallocate them
                table.visits,
                given.learning_rate,
                given.rate_power,
                given.least_rate,
                given.discount,
                given.epsilon,
                given.min_visits,
                columns,
            )
        return columns + space.start

    def _keys(self, rows: Rows, seats: Mapping[int, Seat]) -> list[Key]:
        seen = rows.observations
        if seen is None:
            seen = [None] * len(rows.slots)
        elif isinstance(seen, np.ndarray) and seen.ndim == 1:
            seen = seen.tolist()  # plain numbers, as in single matches
        return [
            self._state_of(each, seats[seat])
            for each, seat in zip(seen, rows.seats.tolist(), strict=True)
        ]

    def end_rows(self, ends: Ends, memory: _Slots) -> None:
        for row, place in enumerate(ends.places(memory.count).tolist()):
            pending = Pending(int(memory.rows[place]), int(memory.columns[place]))
            memory.rows[place] = -1
            if not ends.interrupted(row):
                seat = memory.seats[int(ends.seats[row])]
                self._finish(pending, float(ends.rewards[row]), ends.beyond(row), seat)

    def message(self, body: Any) -> Any:
        """Answer ``"counts"`` with the number of states with rows, and of entries tried."""
        if body != "counts" or self.learner is None:
            return None
        table = self.learner.table
        rows = len(table.rows) if table.states is None else table.states
        return {"states": rows, "tried": table.tried(), "episodes": self.episodes}

    def save(self) -> bytes:
        """Return the entries that were tried, and counters.  Episodes in progress are not saved."""
        found = None if self.learner is None else entries(self.learner.table)
        return pack(self.name, 1, self.parameters, self.seed, _Settings(self.episodes, found))

    def load(self, state: bytes) -> None:
        """Restore a saved agent."""
        saved = unpack(self.name, state, 1, QLearningParameters, _Settings)
        found = saved.settings
        other = QLearning(saved.parameters, saved.seed)
        if found.entries is not None:
            other._make(found.entries.actions, found.entries.states)
            restore(other.learner.table, found.entries)  # type: ignore[union-attr]
        other.episodes = found.episodes
        become(self, other)
