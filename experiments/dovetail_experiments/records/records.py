"""Read a record: the games played, their results, and the agents' states.

>>> from dovetail_experiments.records.records import Records
>>> with Records("out/connect_four_two_learners") as records:
...     frame = records.pandas()  # a row for each seat of each episode that counts
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy as sa

from dovetail.peer.closing import Closing
from dovetail.peer.extras import needed
from dovetail.peer.validation_messages import among
from dovetail.protocol import codec, outside
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.records import damage, database
from dovetail_experiments.records import schema as s

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]

FILE = "results.sqlite"
"""Name of the record in an experiment's folder."""
CHUNK = 10_000
"""Maximum rows held in memory."""

TABLES = (
    *("results", "executions", "settings", "stages", "seatings", "episodes", "seats", "measures"),
    "states",
)
"""Readable tables; ``results`` is a view."""

MEANS = ("return", "score", "turns", "seconds", "value")
"""Columns that are averaged over groups of rows."""
FILLED = ("return", "score", "value")
"""The ones that may be empty."""

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_CONDITION = re.compile(r"^\s*([A-Za-z_]+)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*$")


Where = str | Path | sa.URL
"""A record: the folder of an experiment, a SQLite file, or the URL of a database."""


def url_of(where: Where) -> database.Url:
    """Return the URL of a record."""
    if isinstance(where, sa.URL) or (isinstance(where, str) and "://" in where):
        return where
    path = Path(where)
    return database.url_of(path / FILE if path.is_dir() else path)


@dataclass(frozen=True, slots=True)
class SavedState:
    """A learner's state."""

    execution: int
    variant: str
    seed: int
    agent: str
    type: str
    """The agent's type; empty if it is not recorded."""
    stage: int
    state: bytes
    parameters: dict[str, Any]
    """The agent's parameters."""


class Records(Closing):
    """A record open for reading.

    Args:
        where: the folder of an experiment, a SQLite file, or the URL of a database.
        check: False to save the time for reading all of it once, in search of damage.

    Raises:
        DovetailError: there is no record, it is damaged, or a newer version of Dovetail wrote it.
    """

    def __init__(self, where: Where, *, check: bool = True) -> None:
        self.url = url_of(where)
        if (
            isinstance(where, str | Path)
            and Path(where).is_dir()
            and not Path(where, FILE).is_file()
        ):
            raise DovetailError(
                f"{where} has no {FILE}; name the folder that `dovetail run` wrote, such as "
                "out/NAME"
            )
        self._engine = database.reading(self.url)
        meta = sa.MetaData()
        if check:
            self.check()
        with self.connection() as connection:
            self._tables = {
                name: sa.Table(name, meta, autoload_with=connection)
                if name in s.VIEWS
                else s.metadata.tables[name]
                for name in TABLES
            }

    def __repr__(self) -> str:
        return f"Records({database.shown(self.url)!r})"

    def check(self) -> None:
        """Read all of the record once, in search of damage.

        Raises:
            DovetailError: something is damaged or missing.
        """
        damage.check(self._engine, self.url)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """Return a transaction for your own SQLAlchemy queries."""
        with damage.readable(self.url), self._engine.begin() as connection:
            yield connection

    def columns(self, table: str = "results") -> list[str]:
        """Return the columns of a table; ``states`` has sizes instead of bytes."""
        names = [each.name for each in self._table(table).columns]
        return ["bytes" if name == "state" and table == "states" else name for name in names]

    def types(
        self, table: str = "results", *, columns: Sequence[str] = (), by: Sequence[str] = ()
    ) -> dict[str, type]:
        """Return the types of the values in ``rows``, by column."""
        source = self._table(table)
        names = list(by or columns) or self.columns(table)
        found = {name: self._column(source, name).type.python_type for name in names}
        if by:
            found["count"] = int
            given = {*source.columns.keys()} - {*by}
            found |= {name: float for name in MEANS if name in given}
            found |= {f"with_{name}": int for name in FILLED if name in given}
        return found

    def rows(
        self,
        table: str = "results",
        *,
        columns: Sequence[str] = (),
        where: Sequence[str] = (),
        by: Sequence[str] = (),
        limit: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table as mappings.

        Args:
            table: one of ``TABLES``.
            columns: the columns to return, in this order; all if empty.
            where: conditions such as ``agent=td`` or ``trained>=1000``; all must hold.
            by: columns to group by. Each group has ``count``, the means of ``return``, ``score``,
                ``turns``, ``seconds`` and ``value`` where the table has them, and ``with_score``
                etc. with the number of rows that have one.
            limit: the maximum number of rows.

        Raises:
            DovetailError: there is no such table or column, or a condition is malformed.
        """
        source = self._table(table)
        found = [self._column(source, name) for name in columns]
        if by:
            keys = [self._column(source, name) for name in by]
            given = {name: each for name, each in source.columns.items() if name not in by}
            means = [sa.func.avg(given[name]).label(name) for name in MEANS if name in given]
            # A mean covers the rows with a value, so readers need their number.
            filled = [
                sa.func.count(given[name]).label(f"with_{name}") for name in FILLED if name in given
            ]
            query = sa.select(*keys, sa.func.count().label("count"), *means, *filled)
            query = query.group_by(*keys).order_by(*keys)
        else:
            query = sa.select(*(found or [self._column(source, n) for n in self.columns(table)]))
            order = list(source.primary_key.columns)
            query = query.order_by(*order) if order else query
        for condition in where:
            query = query.where(self._condition(source, condition))
        if limit is not None:
            query = query.limit(limit)
        with self.connection() as connection:
            result = connection.execution_options(yield_per=CHUNK).execute(query)
            for row in result.mappings():
                yield dict(row)

    def pandas(self, table: str = "results", **selection: Any) -> pandas.DataFrame:
        """Return rows as a pandas frame; ``selection`` is as for ``rows``."""
        module = needed("pandas")
        columns = list(selection.get("columns") or self.columns(table))
        frame: pandas.DataFrame = module.DataFrame.from_records(
            list(self.rows(table, **selection)), columns=None if selection.get("by") else columns
        )
        return frame

    def polars(self, table: str = "results", **selection: Any) -> polars.DataFrame:
        """Return rows as a polars frame; ``selection`` is as for ``rows``."""
        module = needed("polars")
        columns = list(selection.get("columns") or self.columns(table))
        frame: polars.DataFrame = module.DataFrame(
            list(self.rows(table, **selection)),
            schema=None if selection.get("by") else columns,
            infer_schema_length=None,
        )
        return frame

    def states(self, execution: int | None = None) -> list[SavedState]:
        """Return the learners' states, of one execution or of all, oldest first."""
        e, t = s.executions, s.states
        query = (
            sa.select(t, e.c.variant, e.c.seed, e.c.file)
            .join(e, t.c.execution == e.c.id)
            .order_by(e.c.id, t.c.agent)
        )
        if execution is not None:
            query = query.where(e.c.id == execution)
        with self.connection() as connection:
            return [
                SavedState(
                    row["execution"],
                    row["variant"],
                    row["seed"],
                    row["agent"],
                    str(part.get("type", "")),
                    row["stage"],
                    bytes(row["state"]),
                    part.get("parameters") or {},
                )
                for row in connection.execute(query).mappings()
                for part in [_part(row["file"], row["agent"])]
            ]

    def state(self, agent: str, execution: int | None = None) -> SavedState:
        """Return an agent's state, from the last execution that has one.

        Raises:
            DovetailError: no execution has one.
        """
        found = self.states()
        mine = [
            each for each in found if each.agent == agent and execution in (None, each.execution)
        ]
        if mine:
            return mine[-1]
        there = ", ".join(dict.fromkeys(f"{each.agent}@{each.execution}" for each in found))
        which = agent if execution is None else f"{agent}@{execution}"
        raise DovetailError(
            f"{database.shown(self.url)} has no state of {which!r}"
            + among(agent, [each.agent for each in found], f"it has {there or 'none'}")
        )

    def _table(self, name: str) -> sa.Table:
        if name not in self._tables:
            there = f"there are {', '.join(TABLES)}"
            raise DovetailError(f"there is no table {name!r}{among(name, TABLES, there)}")
        return self._tables[name]

    def _column(self, table: sa.Table, name: str) -> sa.ColumnElement[Any]:
        if name == "bytes" and table.name == "states":
            return sa.func.length(table.columns["state"]).label("bytes")
        if name not in table.columns:
            names = [each.name for each in table.columns]
            raise DovetailError(
                f"the table {table.name} has no column {name!r}"
                + among(name, names, f"it has {', '.join(names)}")
            )
        return table.columns[name]

    def _condition(self, table: sa.Table, text: str) -> sa.ColumnElement[bool]:
        parts = _CONDITION.match(text)
        if parts is None:
            raise DovetailError(
                f"{text!r} is not a condition; write COLUMN=VALUE, or with !=, <, <=, > or >="
            )
        name, sign, given = parts.groups()
        column = self._column(table, name)
        value: Any = given
        if not isinstance(column.type, sa.String):
            try:
                value = float(given) if not given.lstrip("-").isdecimal() else int(given)
            except ValueError:
                lower = given.lower()
                if lower not in ("true", "false", "null"):
                    raise DovetailError(f"{text!r}: {name} is a number, not {given!r}") from None
                value = {"true": True, "false": False, "null": None}[lower]
        condition: sa.ColumnElement[bool] = _SIGNS[sign](column, value)
        return condition


def read_state(text: str) -> bytes:
    """Read a saved state from a file or from the record of an experiment.

    Args:
        text: a path, or ``WHERE:AGENT`` or ``WHERE:AGENT@EXECUTION`` with the folder or database of
            an experiment.

    Raises:
        DovetailError: there is no such file or state.
    """
    path = Path(text)
    where, colon, agent = text.rpartition(":")
    if colon and not path.exists() and (Path(where).exists() or "://" in where):
        return saved(where, agent).state
    try:
        data = outside.data(path, outside.STATE)
    except OSError as error:
        hint = "; a state in a record is written FOLDER:AGENT, such as out/NAME:first"
        more = hint if not colon or not Path(where).exists() else ""
        raise DovetailError(f"cannot read the state {text}: {error.strerror}{more}") from None
    if data.startswith(b"SQLite format 3\0"):
        raise DovetailError(f"{text} is a record, not a state; write {text}:AGENT")
    return data


def saved(where: Where, name: str) -> SavedState:
    """Return the state of ``AGENT`` or ``AGENT@EXECUTION`` in a record."""
    agent, at, number = name.partition("@")
    if at and not number.isdecimal():
        raise DovetailError(f"{name!r}: expected the number of an execution after @")
    with Records(where) as records:
        return records.state(agent, int(number) if at else None)


def _part(file: str, agent: str) -> dict[str, Any]:
    """Return ``[agents.NAME]`` of an experiment in JSON; empty if there is none."""
    try:
        found: dict[str, Any] = msgspec.json.decode(file)["agents"][agent]
    except (*codec.UNREADABLE, LookupError, TypeError):
        return {}
    return found


def plain(value: Any) -> Any:
    """Return a value that files can hold: None for non-finite numbers."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
