"""Find damage in a record before anything of it is shown or continued.

SQLite writes a number of any kind into any column, and reads what is left of a file; it has no
checksums, so a digit that became another cannot be found.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.records import database
from dovetail_experiments.records import schema as s

KINDS = {
    bool: ("true or false", ("integer",)),
    int: ("a whole number", ("integer",)),
    float: ("a number", ("real", "integer")),
    str: ("a text", ("text",)),
    bytes: ("bytes", ("blob",)),
}
"""The values of a column by its type in Python, and SQLite's types for them."""


def damaged(url: database.Url, why: str) -> DovetailError:
    """Return the error for a record that contains what Dovetail never writes."""
    return DovetailError(
        f"{database.shown(url)} is damaged: {why}; restore a copy, or play the experiment again "
        "in another folder"
    )


@contextmanager
def readable(url: database.Url) -> Iterator[None]:
    """Raise errors of the database as one line.

    Raises:
        DovetailError: the database cannot be read.
    """
    try:
        yield
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        raise DovetailError(f"cannot read {database.shown(url)}: {database.line(error)}") from None


def check(engine: sa.Engine, url: database.Url) -> None:
    """Read a whole record, in search of damage.

    Raises:
        DovetailError: something in it is damaged or missing.
    """
    with readable(url), engine.begin() as connection:
        for why in _found(connection):
            raise damaged(url, why)


def _found(connection: sa.Connection) -> Iterator[str]:
    """Yield the kinds of damage, those first that cause others."""
    if connection.dialect.name == "sqlite":
        yield from _file(connection)
        for table in s.metadata.sorted_tables:
            yield from _values(connection, table)
    yield from _seats(connection)


def _file(connection: sa.Connection) -> Iterator[str]:
    """Yield damage to a SQLite file, its definitions, and the links between its tables."""
    for (found,) in connection.exec_driver_sql("PRAGMA quick_check(1)"):
        if found != "ok":
            yield " ".join(str(found).split())[:200]
    made = {
        name: (kind, " ".join(str(text).split()))
        for kind, name, text in connection.exec_driver_sql(
            "SELECT type, name, sql FROM sqlite_master"
        )
    }
    for name in s.metadata.tables:
        if made.get(name, ("", ""))[0] != "table":
            yield f"it has no table {name}"
    for name, text in s.VIEWS.items():
        if made.get(name) != ("view", " ".join(text.split())):
            yield f"its view {name} is missing or was changed"
    for name, (kind, _) in made.items():
        if kind == "trigger":
            yield f"it has a trigger {name!r}, which would change what is written"
    for table, _, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"a row of the table {table} belongs to a row that the table {parent} lacks"


def _values(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    """Yield the columns of a table in SQLite that contain values of other types."""
    wrong: list[Any] = []
    for column in table.columns:
        kind = column.type.python_type
        types = KINDS[kind][1] + (("null",) if column.nullable else ())
        bad: sa.ColumnElement[bool] = sa.func.typeof(column).not_in(types)
        if kind is bool:
            bad = bad | (sa.type_coerce(column, sa.Integer) // 2 != 0)
        wrong.append(sa.func.max(sa.case((bad, 1), else_=0)))
    for column, bad in zip(table.columns, connection.execute(sa.select(*wrong)).one(), strict=True):
        if bad:
            what = KINDS[column.type.python_type][0]
            yield f"the table {table.name} has a value of {column.name} that is not {what}"


def _seats(connection: sa.Connection) -> Iterator[str]:
    """Yield an episode with other seats than its stage, or without the score of one."""
    e = s.episodes.c
    seats = _counted(s.seats.c.episode, s.seats.c.seat, s.seats.c.score)
    places = _counted(s.seatings.c.stage, s.seatings.c.place, s.seatings.c.agent)
    have = sa.func.coalesce(seats.c.count, 0)
    want = sa.func.coalesce(places.c.count, 0)
    query = (
        sa.select(e.id, e.stage, have, want, seats.c.last + 1, places.c.last + 1)
        .outerjoin_from(s.episodes, seats, seats.c.of == e.id)
        .outerjoin(places, places.c.of == e.stage)
        .where(
            (have != want)
            | (seats.c.last + 1 != have)
            | (places.c.last + 1 != want)
            | ((seats.c.filled != 0) & (seats.c.filled != have))
        )
        .limit(1)
    )
    for episode, stage, has, wants, top, most in connection.execute(query):
        if has != wants:
            yield (
                f"episode {episode} has {has} rows in the table seats, and stage {stage} has "
                f"{wants} in seatings"
            )
        elif (top, most) != (has, wants):
            yield f"the seats of episode {episode} are not numbered from 0"
        else:
            yield f"episode {episode} lacks the score of a seat"


def _counted(of: sa.Column[Any], number: sa.Column[Any], filled: sa.Column[Any]) -> sa.Subquery:
    """Select for each value of a column the count of rows, the highest number in them, and the
    count of those in which ``filled`` is not empty."""
    return (
        sa.select(
            of.label("of"),
            sa.func.count().label("count"),
            sa.func.max(number).label("last"),
            sa.func.count(filled).label("filled"),
        )
        .group_by(of)
        .subquery()
    )
