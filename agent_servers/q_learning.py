"""Tabular Q-learning for any environment with discrete actions, and the core that ``dominion-q`` shares.

The core is ``Table``, ``explore``, ``best`` and ``Learner``: an entry is updated when the same seat's next decision
comes, over the actions that are then legal (Watkins 1989; the delayed form and forced exploration are those of the
Dominion study, sections 2.1 and 2.6).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeGuard

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.agent_servers.agent import Agent, Decision, End, Seat
from dovetail.protocol import plugins, spaces
from dovetail.protocol.errors import DovetailError

Array = NDArray[Any]
Key = int | bytes
"""A state: its number, or bytes."""
Where = tuple[int, int]
"""An episode and a seat."""
NO_RESULT = frozenset(("cancelled", "environment-failed", "disconnected", "crashed"))
"""Endings that say nothing about the decision before them."""
MIB = 1 << 20
STATE = 120
"""Bytes that a sparse table needs for a state beside its entries, and the bytes of its key."""
_MASK = (1 << 64) - 1


# -- the core -----------------------------------------------------------------------------------------------


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


def mix(number: int) -> int:
    """Return 64 bits scattered by another 64 (the end of splitmix64, Steele et al. 2014)."""
    z = number & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _fractions(seed: int, first: int, count: int) -> Array:
    """Return a number from 0 to 1, 1 excluded, for each of ``count`` entries: float32, shape (count,)."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(first & _MASK)
    z += np.uint64(1)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(mix(seed))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)


class Table:
    """A value and a visit count for each action in each state.

    A dense table has a row for each state number; a sparse one makes a row when a state is first met. First values
    follow from the seed and the entry alone, so that both kinds hold the same.

    Args:
        who: the agent, as errors name it.
        actions: columns.
        states: rows of a dense table; None for a sparse one.
        memory: bytes that the table may take; growing needs half of them more for a moment.
        seed: of the first values.
        first: the least of them.
        spread: how far they reach above it.
        dtype: of the values.

    Raises:
        DovetailError: a dense table needs more memory.
    """

    def __init__(
        self,
        who: str,
        actions: int,
        states: int | None,
        memory: int,
        seed: int = 0,
        first: float = 0.0,
        spread: float = 0.0,
        dtype: Any = np.float64,
    ) -> None:
        self.who, self.actions, self.states = who, actions, states
        self.memory, self.seed, self.first, self.spread = memory, seed, first, spread
        self.dtype = np.dtype(dtype)
        self.rows: dict[Key, int] = {}
        """Of a sparse table: the rows of the states, in the order in which they were met."""
        self._keys = 0
        size = 0 if states is None else states
        needed = size * self.width
        if needed > memory:
            raise DovetailError(
                f"agent {who}, option 'memory': {size:,} states need {-(-needed // MIB):,} MiB, but "
                f"{memory // MIB:,} are allowed; allow more, or take a sparse table"
            )
        self.values: Array = np.empty((size, actions), self.dtype)
        """Shape (rows, actions)."""
        self.visits: NDArray[np.uint32] = np.zeros((size, actions), np.uint32)
        """Shape (rows, actions)."""
        some = max(1, MIB // actions)
        for row in range(0, size, some):
            count = min(some, size - row)
            self.values[row : row + count] = self.fresh(row, count)

    @property
    def width(self) -> int:
        """Bytes of a row's entries."""
        return self.actions * (int(self.dtype.itemsize) + 4)

    def fresh(self, key: Key, count: int = 1) -> Array:
        """Return the first values of states that follow each other: shape (count, actions)."""
        shape = (count, self.actions)
        if not self.spread:
            return np.full(shape, self.first, self.dtype)
        if isinstance(key, bytes):
            key = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")
        found = _fractions(self.seed, key * self.actions, count * self.actions).reshape(shape)
        scaled = found.astype(self.dtype) * self.dtype.type(self.spread)
        return np.asarray(scaled + self.dtype.type(self.first))

    def find(self, key: Key) -> int | None:
        """Return the row of a state, or None if a sparse table has none yet."""
        if self.states is None:
            return self.rows.get(key)
        assert isinstance(key, int)
        return key

    def row(self, key: Key) -> int:
        """Return the row of a state; a sparse table makes it.

        Raises:
            DovetailError: the memory that is allowed is full.
        """
        found = self.find(key)
        if found is not None:
            return found
        found = len(self.rows)
        if found == len(self.values):
            self._grow()
        if isinstance(key, bytes):
            self._keys += len(key)
        self.rows[key] = found
        self.values[found] = self.fresh(key)[0]
        return found

    def _grow(self) -> None:
        now = len(self.values)
        most = (self.memory - self._keys) // (self.width + STATE)
        size = min(max(1024, 2 * now), most)
        if size <= now:
            raise DovetailError(
                f"agent {self.who}, option 'memory': the {self.memory // MIB:,} MiB that are allowed are full "
                f"with {now:,} states; allow more, or take coarser states"
            )
        self.resize(size)

    def resize(self, size: int) -> None:
        """Make room for ``size`` rows of a sparse table."""
        for name in ("values", "visits"):
            old = getattr(self, name)
            new = np.zeros((size, self.actions), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def tried(self) -> int:
        """Return how many entries have been visited."""
        return int(np.count_nonzero(self.visits))


class Entries(Struct, frozen=True):
    """The entries of a table that were ever visited, to be saved; little-endian."""

    actions: int
    states: int | None
    keys: list[Key]
    places: bytes
    """uint64: row * actions + column."""
    values: bytes
    visits: bytes
    """uint32."""


def entries(table: Table) -> Entries:
    """Return what must be saved of a table; the rest follows from its seed."""
    visits = table.visits.reshape(-1)
    tried = np.flatnonzero(visits)
    order = table.dtype.newbyteorder("<")
    return Entries(
        table.actions,
        table.states,
        list(table.rows),
        tried.astype("<u8").tobytes(),
        table.values.reshape(-1)[tried].astype(order).tobytes(),
        visits[tried].astype("<u4").tobytes(),
    )


def restore(table: Table, saved: Entries) -> None:
    """Put saved entries into a new table.

    Raises:
        DovetailError: they are of another table.
    """
    wrong = DovetailError(f"these bytes are not a saved {table.who}: wrong tables")
    if (table.actions, table.states) != (saved.actions, saved.states):
        raise wrong
    if table.states is not None and saved.keys:
        raise wrong
    try:
        for key in saved.keys:
            table.row(key)
        tried = np.frombuffer(saved.places, "<u8")
        table.values.reshape(-1)[tried] = np.frombuffer(saved.values, table.dtype.newbyteorder("<"))
        table.visits.reshape(-1)[tried] = np.frombuffer(saved.visits, "<u4")
    except (ValueError, IndexError):
        raise wrong from None


def best(values: Sequence[float], rng: random.Random) -> int:
    """Return the place of the highest value; among equals by lot."""
    most = max(values)
    equal = [place for place, value in enumerate(values) if value == most]
    return equal[0] if len(equal) == 1 else rng.choice(equal)


def explore(
    values: Sequence[float],
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


# -- states ---------------------------------------------------------------------------------------------------


class Component(Struct, frozen=True, forbid_unknown_fields=True):
    """One number of an observation as a part of a state: clamped, then in steps of ``width``."""

    at: Annotated[int, Meta(ge=0)]
    """Its place in the flattened observation."""
    least: float
    most: float
    width: Annotated[float, Meta(gt=0)] = 1.0

    @property
    def levels(self) -> int:
        """How many values it has."""
        return int((self.most - self.least) // self.width) + 1

    def level(self, number: float) -> int:
        """Return which of them a number is."""
        return int((min(max(number, self.least), self.most) - self.least) // self.width)


Encode = Callable[[Any, Seat], Any]


def whole(observation: Any, seat: Seat) -> bytes:
    """Return the bytes of an observation."""
    if isinstance(observation, np.ndarray | np.generic):
        return observation.tobytes()
    return msgspec.msgpack.encode(observation, enc_hook=lambda each: np.asarray(each).tobytes())


def bucketed(parts: Sequence[Component]) -> Encode:
    """Return a function that numbers states by components, the first of them fastest (mixed radix)."""

    def encode(observation: Any, seat: Seat) -> int:
        flat = np.asarray(observation).reshape(-1)
        number, radix = 0, 1
        for part in parts:
            number += part.level(float(flat[part.at])) * radix
            radix *= part.levels
        return number

    return encode


def _key(state: Any, who: str) -> Key:
    if isinstance(state, bytes):
        return state
    if isinstance(state, int | np.integer) and 0 <= state <= _MASK:
        return int(state)
    raise DovetailError(
        f"agent {who}, option 'encoder': it must return bytes or a number from 0, not {state!r}"[
            :300
        ]
    )


# -- the agent ------------------------------------------------------------------------------------------------


class QLearningParameters(LearnerParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``QLearning``."""

    encoder: Annotated[
        str,
        Meta(
            description="What a state is: bytes, the whole observation; components, those of the next option; "
            "or a function of observation and seat that returns bytes or a number, as module:function or "
            "path/to/file.py:function."
        ),
    ] = "bytes"
    components: Annotated[
        tuple[Component, ...],
        Meta(
            description="Numbers of the flattened observation: at, least, most, and width (1) of the steps "
            "between them."
        ),
    ] = ()
    by_seat: Annotated[bool, Meta(description="Whether each seat has states of its own.")] = False
    table: Annotated[
        Literal["sparse", "dense"],
        Meta(
            description="sparse: only states that were met; dense: all, for components and Discrete "
            "observations."
        ),
    ] = "sparse"
    initial: Annotated[float, Meta(description="The least of the first values.")] = 0.0
    spread: Annotated[
        float, Meta(ge=0, description="First values are drawn up to so much above it.")
    ] = 0.0


class _State(Struct, tag_field="agent", tag="dovetail.q-learning", forbid_unknown_fields=True):
    version: Literal[1]
    parameters: QLearningParameters
    seed: int
    episodes: int
    entries: Entries | None


class QLearning(Agent):
    """Learns the value of each action in each state, in a table.

    With ``s, a`` a seat's last state and action, ``r`` what it earned since and ``s'`` its state now, each decision
    does, before it chooses::

        Q(s, a) <- Q(s, a) + rate * (r + discount * max Q(s', legal actions) - Q(s, a))

    The end has ``r`` alone as the target; where an episode was cut short (truncated), the best action that was ever
    tried in the last state stands for what would have followed. All seats share one table. In ``evaluate`` mode
    nothing changes. An interrupted episode (cancelled, environment-failed, disconnected, crashed) teaches no last
    step.
    """

    name = "q-learning"
    Parameters = QLearningParameters
    parameters: QLearningParameters
    capacity = 0

    def __init__(self, parameters: QLearningParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._prepare()

    def _prepare(self) -> None:
        given, who = self.parameters, f"agent {self.name}"
        self.episodes = 0
        """Learnt from, each seat's counted."""
        self.learner: Learner | None = None
        """Made when the first seat shows how many actions there are."""
        if (given.encoder == "components") != bool(given.components):
            raise DovetailError(
                f"{who}, option 'components': goes with encoder = \"components\", and that with it"
            )
        for each in given.components:
            if not each.least <= each.most < np.inf:
                raise DovetailError(
                    f"{who}, option 'components': least {each.least:g} and most {each.most:g} make no range"
                )
        self._encode: Encode = whole
        if given.encoder == "components":
            self._encode = bucketed(given.components)
        elif given.encoder != "bytes":
            self._encode = plugins.function(given.encoder, f"{who}, option 'encoder'")

    def init(self, seat: Seat) -> None:
        spec = seat.spec
        actions = {(each.n, each.start) for each in spec.action_spaces if _discrete(each)}
        if len(actions) != 1 or not all(map(_discrete, spec.action_spaces)):
            raise DovetailError(
                f"{self.name} needs discrete actions, as many for all seats; {spec.name} has others"
            )
        for space in spec.observation_spaces:
            size = int(np.prod(space.shape)) if isinstance(space, spaces.Box) else None
            for each in self.parameters.components:
                if size is not None and each.at >= size:
                    raise DovetailError(
                        f"agent {self.name}, option 'components': observations of {spec.name} have "
                        f"{size} numbers, the first at 0; there is none at {each.at}"
                    )
        found = self._states(seat)
        ((count, _),) = actions
        if self.learner is None:
            self._make(count, found)
        table = self.learner.table  # type: ignore[union-attr]
        if (table.actions, table.states) != (count, found):
            raise DovetailError(
                f"{self.name} has learned another game than {spec.name}: its table has {table.actions} actions"
                + (f" and {table.states:,} states" if table.states is not None else "")
            )

    def _states(self, seat: Seat) -> int | None:
        """Return how many states a dense table has."""
        if self.parameters.table == "sparse":
            return None
        given, spec = self.parameters, seat.spec
        seats = spec.seats if given.by_seat else 1
        if given.encoder == "components":
            return int(np.prod([each.levels for each in given.components], dtype=object)) * seats
        ends = [
            each.n + each.start
            for each in spec.observation_spaces
            if _discrete(each) and each.start >= 0
        ]
        if given.encoder == "bytes" and ends and len(ends) == len(spec.observation_spaces):
            return max(ends) * seats
        raise DovetailError(
            f"agent {self.name}, option 'table': dense needs components or Discrete observations from 0; "
            "take sparse"
        )

    def _make(self, actions: int, states: int | None) -> None:
        given = self.parameters
        table = Table(
            self.name,
            actions,
            states,
            given.memory * MIB,
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
            key = _key(self._encode(observation, seat), self.name)
        if not self.parameters.by_seat:
            return key
        if isinstance(key, bytes):
            return key + bytes([seat.seat])
        return key * seat.spec.seats + seat.seat

    def step(self, decision: Decision) -> int:
        assert self.learner is not None
        seat = decision.seat
        all_spaces = seat.spec.action_spaces
        space = all_spaces[seat.seat if len(all_spaces) > 1 else 0]
        assert isinstance(space, spaces.Discrete)
        legal = decision.legal
        columns: Sequence[int] = (
            range(space.n) if legal is None else [each - space.start for each in legal]
        )
        key = self._state_of(decision.observation, seat)
        if decision.mode == "evaluate":
            return self.learner.greedy(key, columns, decision.rng) + space.start
        where = (decision.episode, seat.seat)
        discount = self.parameters.discount
        column = self.learner.step(where, key, columns, decision.reward, discount, decision.rng)
        return column + space.start

    def end(self, end: End) -> None:
        where = (end.episode, end.seat.seat)
        if self.learner is None:
            return
        if end.reason in NO_RESULT:
            self.learner.forget(where)
            return
        later = 0.0
        if end.reason == "truncated" and end.observation is not None:
            table = self.learner.table
            row = table.find(self._state_of(end.observation, end.seat))
            if row is not None and table.visits[row].any():
                later = float(table.values[row][table.visits[row] > 0].max())
        if self.learner.end(where, end.reward + self.parameters.discount * later):
            self.episodes += 1

    def message(self, body: Any) -> Any:
        """Answer ``"counts"`` with how many states have rows, and how many entries were tried."""
        if body != "counts" or self.learner is None:
            return None
        table = self.learner.table
        rows = len(table.rows) if table.states is None else table.states
        return {"states": rows, "tried": table.tried(), "episodes": self.episodes}

    def save(self) -> bytes:
        """Return the entries that were ever tried, and counters.  Episodes in progress are not among them."""
        found = None if self.learner is None else entries(self.learner.table)
        return msgspec.msgpack.encode(_State(1, self.parameters, self.seed, self.episodes, found))

    def load(self, state: bytes) -> None:
        """Become the agent that was saved."""
        try:
            found = msgspec.msgpack.decode(state, type=_State)
        except (msgspec.DecodeError, ValueError) as error:
            raise DovetailError(f"these bytes are not a saved q-learning: {error}") from None
        self.parameters, self.seed = found.parameters, found.seed
        self._prepare()
        self.episodes = found.episodes
        if found.entries is not None:
            self._make(found.entries.actions, found.entries.states)
            restore(self.learner.table, found.entries)  # type: ignore[union-attr]


def _discrete(space: spaces.Space) -> TypeGuard[spaces.Discrete]:
    return isinstance(space, spaces.Discrete)
