"""Dense and sparse tables of values and visits by state and action, and their saved form."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedPositive
from dovetail_agents.learning.finaliser import mix, scatter
from dovetail_agents.learning.memory import MIB, room

Array = NDArray[Any]
Key = int | bytes
"""A state: its number, or bytes."""
STATE = 120
"""Bytes for a state of a sparse table, in addition to its entries and the bytes of its key."""
_MASK = (1 << 64) - 1


def _fractions(seed: int, first: int, count: int) -> Array:
    """Return random numbers in [0, 1) for ``count`` entries: float32, shape (count,)."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(first & _MASK)
    z += np.uint64(1)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(mix(seed))
    found: Array = (scatter(z) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    return found


class Table:
    """A value and a visit count for each action in each state.

    A dense table has a row for each state number; a sparse one adds a row when it meets a state.
    Initial values depend only on the seed and the entry, so both kinds hold the same.

    Args:
        who: the agent's name, for errors.
        actions: the number of columns.
        states: the number of rows of a dense table; None for a sparse one.
        memory: the maximum bytes of the table; growing briefly needs half as many more.
        seed: the seed of the initial values.
        first: the minimum initial value.
        spread: the range of initial values above the minimum.
        dtype: the type of the values.

    Raises:
        DovetailError: a dense table needs more memory, or this machine has less.
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
        """Rows of a sparse table by state, in the order in which states were met."""
        self._keys = 0
        size = 0 if states is None else states
        needed = size * self.width
        if needed > memory:
            raise DovetailError(
                f"agent {who}, option 'table_mib': {size:,} states need {-(-needed // MIB):,} "
                f"MiB, but the limit is {memory // MIB:,}; raise the limit, or use a sparse table"
            )
        room(needed, f"agent {who}: its table of {size:,} states")
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
        """Return the initial values of consecutive states: shape (count, actions)."""
        shape = (count, self.actions)
        if not self.spread:
            return np.full(shape, self.first, self.dtype)
        if isinstance(key, bytes):
            key = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")
        found = _fractions(self.seed, key * self.actions, count * self.actions).reshape(shape)
        scaled = found.astype(self.dtype) * self.dtype.type(self.spread)
        return np.asarray(scaled + self.dtype.type(self.first))

    def find(self, key: Key) -> int | None:
        """Return the row of a state; None if a sparse table has none yet.

        Raises:
            DovetailError: a dense table does not have this state.
        """
        if self.states is None:
            return self.rows.get(key)
        if not isinstance(key, int) or not 0 <= key < self.states:
            raise DovetailError(f"agent {self.who}: the game shows a state beyond {self.states:,}")
        return key

    def row(self, key: Key) -> int:
        """Return the row of a state, adding it to a sparse table if needed.

        Raises:
            DovetailError: the memory limit is reached.
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
                f"agent {self.who}, option 'table_mib': the table reached its limit of "
                f"{self.memory // MIB:,} MiB at {now:,} states; raise the limit, or use coarser "
                "states"
            )
        self.resize(size)

    def resize(self, size: int) -> None:
        """Reallocate a sparse table for ``size`` rows.

        Raises:
            DovetailError: this machine has less memory.
        """
        room(size * self.width, f"agent {self.who}: its table of {size:,} states")
        for name in ("values", "visits"):
            old = getattr(self, name)
            new = np.zeros((size, self.actions), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def tried(self) -> int:
        """Return the number of entries visited."""
        return int(np.count_nonzero(self.visits))


class Entries(Struct, frozen=True):
    """The visited entries of a table, as saved; little-endian."""

    actions: LimitedPositive
    states: LimitedPositive | None
    keys: list[Key]
    places: bytes
    """uint64: row * actions + column."""
    values: bytes
    visits: bytes
    """uint32."""


def entries(table: Table) -> Entries:
    """Return the entries to save of a table; its seed determines the others.

    States are sorted, because with several episodes at once the order in which they were met
    depends on timing.
    """
    visits = table.visits.reshape(-1)
    tried = np.flatnonzero(visits)
    places = tried
    keys = sorted(table.rows, key=lambda key: (isinstance(key, bytes), key))
    if keys:
        row, column = np.divmod(tried, table.actions)
        ranks = np.empty(len(keys), np.int64)
        ranks[[table.rows[key] for key in keys]] = np.arange(len(keys))
        places = ranks[row] * table.actions + column
        rising = np.argsort(places)
        tried, places = tried[rising], places[rising]
    order = table.dtype.newbyteorder("<")
    return Entries(
        table.actions,
        table.states,
        keys,
        places.astype("<u8").tobytes(),
        table.values.reshape(-1)[tried].astype(order).tobytes(),
        visits[tried].astype("<u4").tobytes(),
    )


def restore(table: Table, saved: Entries) -> None:
    """Put saved entries into a new table.

    Raises:
        DovetailError: they are from another table.
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
        rows = len(table.rows) if table.states is None else table.states
        if tried.size and tried.max() >= rows * table.actions:
            raise wrong
        values = np.frombuffer(saved.values, table.dtype.newbyteorder("<"))
        if not np.isfinite(values).all():
            raise wrong
        table.values.reshape(-1)[tried] = values
        visits = np.frombuffer(saved.visits, "<u4")
        if visits.size and visits.max() >> 31:  # it would not count on
            raise wrong
        table.visits.reshape(-1)[tried] = visits
    except (ValueError, IndexError):
        raise wrong from None
