"""Upgrade the tables of a record to the current version."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seats import seated
from dovetail_experiments.records import schema as s

CHUNK = 5_000
"""Rows converted at a time."""


def version(connection: sa.Connection) -> int:
    """Return the version of a database's tables; 0 if it has none of Dovetail's."""
    tables = sa.inspect(connection).get_table_names()
    if s.schema.name in tables:
        found = connection.execute(sa.select(s.schema.c.version)).scalar()
        return 0 if found is None else int(found)
    return 1 if "executions" in tables and "episodes" in tables else 0


def upgrade(connection: sa.Connection, url: str) -> None:
    """Create the tables of an empty database, or upgrade those of an older version.

    Everything happens in the transaction of ``connection``, so a failure changes nothing.  Errors
    refer to the database by ``url``, which must not contain a password.

    Raises:
        DovetailError: a newer version of Dovetail wrote the database, or a row is damaged.
    """
    found = version(connection)
    if found == s.VERSION:
        return
    if found > s.VERSION:
        raise newer(url, found)
    if found == 0:
        s.metadata.create_all(connection)
        _views(connection)
    for step in range(max(found, 1), s.VERSION if found else 1):
        try:
            STEPS[step](connection)
        except (ValueError, LookupError, TypeError) as error:
            raise DovetailError(
                f"cannot upgrade {url} from version {found} to {s.VERSION}: a row does not have "
                f"the form of that version ({type(error).__name__}: {error}); nothing was changed"
            ) from None
    connection.execute(sa.delete(s.schema))
    connection.execute(sa.insert(s.schema).values(version=s.VERSION))


def newer(url: str, found: int) -> DovetailError:
    """Return the error for a database of a later version."""
    return DovetailError(
        f"{url} has tables of version {found}, and this Dovetail knows version {s.VERSION}; "
        "use the Dovetail that wrote it, or a newer one"
    )


def _views(connection: sa.Connection) -> None:
    for text in s.VIEWS.values():
        connection.execute(sa.text(text))


def _from_1(connection: sa.Connection) -> None:
    """Move seats and outcomes from JSON into tables; version 1 recorded each seat's agent by
    type."""
    for table in ("stages", "episodes", "executions", "states"):
        _run(connection, "ALTER TABLE {} RENAME TO {}", table, f"{table}_1")
    inspector = sa.inspect(connection)
    for table in ("stages_1", "episodes_1", "executions_1"):
        for index in inspector.get_indexes(table):
            _run(connection, "DROP INDEX {}", str(index["name"]))
    s.metadata.create_all(connection)
    connection.execute(
        sa.text(
            "INSERT INTO executions (id, name, file, seed, started, finished) "
            "SELECT id, name, file, seed, started, finished FROM executions_1"
        )
    )
    connection.execute(
        sa.text(
            "INSERT INTO stages (id, execution, number, kind, name, trained, rotate, finished) "
            "SELECT id, execution, number, kind, name, trained, rotate, finished FROM stages_1"
        )
    )
    connection.execute(
        sa.text(
            "INSERT INTO states (execution, agent, stage, state) "
            "SELECT execution, agent, stage, state FROM states_1"
        )
    )
    seating: dict[int, tuple[list[str], bool]] = {}
    for row in connection.execute(sa.text("SELECT id, agents, rotate FROM stages_1")).all():
        seating[row.id] = json.loads(row.agents), bool(row.rotate)
        for place, agent in enumerate(seating[row.id][0]):
            connection.execute(sa.insert(s.seatings).values(stage=row.id, place=place, agent=agent))
    last = 0
    while True:
        query = sa.text("SELECT * FROM episodes_1 WHERE id > :last ORDER BY id LIMIT :chunk")
        found = connection.execute(query, {"last": last, "chunk": CHUNK})
        rows: Sequence[Any] = found.mappings().all()
        if not rows:
            break
        last = rows[-1]["id"]
        episodes, seats = [], []
        for row in rows:
            kept = ("id", "stage", "number", "seed", "reason", "blame", "turns", "message")
            flags = {key: bool(row[key]) for key in ("scored", "again")}
            new = {"digest": row.get("digest", ""), "opening": row.get("opening", "")}
            episodes.append({key: row[key] for key in kept} | flags | new)
            outcome = None if row["outcome"] is None else json.loads(row["outcome"])
            names, rotate = seating[row["stage"]]
            agents = seated(names, row["number"] if rotate else 0)
            for seat, (kind, total, decisions, seconds, breaches) in enumerate(
                json.loads(row["seats"])
            ):
                seats.append(
                    {
                        "episode": row["id"],
                        "seat": seat,
                        "agent": agents[seat],
                        "type": kind,
                        "return": total,
                        "score": None if outcome is None else outcome[seat],
                        "decisions": decisions,
                        "seconds": seconds,
                        "breaches": breaches,
                    }
                )
        connection.execute(sa.insert(s.episodes), episodes)
        connection.execute(sa.insert(s.seats), seats)
    for table in ("states", "episodes", "stages", "executions"):
        _run(connection, "DROP TABLE {}", f"{table}_1")
    if connection.dialect.name == "postgresql":  # explicit ids do not advance the counters
        for table in ("executions", "stages", "episodes"):
            ids = s.metadata.tables[table].c.id
            highest = sa.select(sa.func.coalesce(sa.func.max(ids), 1)).scalar_subquery()
            counter = sa.func.pg_get_serial_sequence(table, "id")
            connection.execute(sa.select(sa.func.setval(counter, highest)))
    _views(connection)


def _from_2(connection: sa.Connection) -> None:
    """Add columns for the software that played an execution and a stage."""
    for column in ("revision", "python", "numpy", "numba"):
        _add(connection, s.executions.c[column])
    _add(connection, s.stages.c.software)
    executions = s.executions.c
    before = sa.select(executions.software).where(executions.id == s.stages.c.execution)
    connection.execute(
        sa.update(s.stages)
        .where(s.stages.c.software == "")
        .values(software=sa.func.coalesce(before.scalar_subquery(), ""))
    )


def _from_3(connection: sa.Connection) -> None:
    """Add the attempt that may write an execution, and make SQLite never reuse ids."""
    for column in (s.executions.c.attempt, s.executions.c.writer):
        _add(connection, column)
    if connection.dialect.name != "sqlite":  # others never reuse them
        return
    for view in s.VIEWS:
        _run(connection, "DROP VIEW IF EXISTS {}", view)
    # Otherwise foreign keys of other tables would follow the renamed table.
    connection.execute(sa.text("PRAGMA legacy_alter_table = ON"))
    for table in (s.executions, s.stages, s.episodes):
        _counted(connection, table)
    connection.execute(sa.text("PRAGMA legacy_alter_table = OFF"))
    _views(connection)


def _counted(connection: sa.Connection, table: sa.Table) -> None:
    """Rebuild a SQLite table without reuse of ids, unless it has that already."""
    query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name"
    made = str(connection.execute(sa.text(query), {"name": table.name}).scalar_one())
    if "AUTOINCREMENT" in made.upper():
        return
    old = f"{table.name}_uncounted"
    _run(connection, "ALTER TABLE {} RENAME TO {}", table.name, old)
    inspector = sa.inspect(connection)
    for index in inspector.get_indexes(old):
        _run(connection, "DROP INDEX {}", str(index["name"]))
    table.create(connection)
    names = [each["name"] for each in inspector.get_columns(old)]
    rows: Any = sa.select(*map(sa.column, names)).select_from(sa.table(old))
    connection.execute(sa.insert(table).from_select(names, rows))
    _run(connection, "DROP TABLE {}", old)


def _run(connection: sa.Connection, statement: str, *names: str) -> None:
    """Execute a statement that SQLAlchemy has no builder for, with names quoted for the
    database."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    connection.execute(sa.text(statement.format(*map(quote, names))))


def _add(connection: sa.Connection, column: sa.Column[Any]) -> None:
    """Add a column to its table, unless an earlier step created the table with it."""
    table = column.table.name
    if column.name not in {each["name"] for each in sa.inspect(connection).get_columns(table)}:
        made = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
        _run(connection, f"ALTER TABLE {{}} ADD COLUMN {made}", table)


STEPS: dict[int, Callable[[sa.Connection], None]] = {1: _from_1, 2: _from_2, 3: _from_3}
"""Function that upgrades each version to the next."""
