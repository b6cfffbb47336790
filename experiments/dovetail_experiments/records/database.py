"""Connections to a record: SQLite by default, or any database URL that SQLAlchemy supports."""

from __future__ import annotations

import os
import sqlite3
import weakref
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.records import migrations
from dovetail_experiments.records.schema import VERSION

BUSY_SECONDS = 60.0
"""Seconds to wait for another program that writes the same SQLite file."""

_engines: weakref.WeakSet[sa.Engine] = weakref.WeakSet()
_parents: list[sa.Pool] = []
"""Connections of the parent process, kept alive in a forked child."""


Url = str | sa.URL
"""Database URL, as text or parsed."""


def url_of(path: Path) -> sa.URL:
    """Return the URL of a SQLite file.

    >>> url_of(Path("feature%2Fx", "a?b.sqlite")).database
    'feature%2Fx/a?b.sqlite'
    """
    # As text, a URL would lose anything after a ? and have its % decoded.
    return sa.URL.create("sqlite", database=str(path))


def shown(url: Url | Path) -> str:
    """Return a URL for messages and pages: without its password; for a SQLite file, the path."""
    if isinstance(url, sa.URL):
        if url.get_backend_name() == "sqlite" and not url.query:
            return str(url.database)
        return url.render_as_string(hide_password=True)
    text = str(url)
    if isinstance(url, Path) or "://" not in text:
        return text
    try:
        parsed = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):  # the port is not a number
        return f"{text.partition('://')[0]}://***"
    host = parsed.host or ""
    if parsed.password is None and "password" not in parsed.query and "@" not in host:
        return text
    if "password" in parsed.query:
        parsed = parsed.update_query_dict({"password": "hidden"})
    # An @ in the password should have been quoted.
    return parsed.set(host=host.rpartition("@")[2]).render_as_string(hide_password=True)


def writing(url: Url) -> sa.Engine:
    """Open a record for writing; create or upgrade its tables.

    Raises:
        DovetailError: there is no database at the URL, or a newer version wrote it.
    """
    try:
        parsed = sa.make_url(url)
        sqlite = parsed.get_backend_name() == "sqlite"
        if sqlite and parsed.database not in (None, ":memory:"):
            Path(str(parsed.database)).parent.mkdir(parents=True, exist_ok=True)
        opened = engine(parsed, "BEGIN IMMEDIATE" if sqlite else "")
        with opened.begin() as connection:
            migrations.upgrade(connection, shown(url))
    except (sa.exc.SQLAlchemyError, OSError, ImportError, ValueError) as error:
        hint = ""
        if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("psycopg"):
            hint = "; install dovetail[postgres]"
        raise DovetailError(f"cannot use the store {shown(url)}: {line(error)}{hint}") from None
    return opened


def share(writer: sa.Engine) -> None:
    """Let other programs read a SQLite file while it is written, without blocking either side."""
    if writer.dialect.name == "sqlite":
        with writer.connect() as connection:
            _journal(connection.connection.dbapi_connection, "wal")


def settle(url: Url) -> None:
    """Merge a closed SQLite database into a single file, which can be read anywhere."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite" and Path(str(parsed.database)).is_file():
        with suppress(sqlite3.Error), closing(sqlite3.connect(str(parsed.database))) as connection:
            _journal(connection, "delete")


def _journal(connection: Any, mode: str) -> None:
    """Set SQLite's journal mode, unless the file is in use."""
    connection.execute("PRAGMA busy_timeout = 0")
    with suppress(sqlite3.OperationalError):
        connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    connection.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}")


def reading(url: Url) -> sa.Engine:
    """Open an existing record, after upgrading an older one.

    Raises:
        DovetailError: there is no record at the URL, or a newer version wrote it.
    """
    try:
        parsed = sa.make_url(url)
        if parsed.get_backend_name() == "sqlite" and not Path(str(parsed.database)).is_file():
            raise DovetailError(f"{parsed.database} does not exist; `dovetail run` writes it")
        opened = engine(parsed, "BEGIN")
        with opened.begin() as connection:
            found = migrations.version(connection)
    except (sa.exc.SQLAlchemyError, ImportError, ValueError) as error:
        raise DovetailError(f"cannot read {shown(url)}: {line(error)}") from None
    if found == 0:
        raise DovetailError(f"{shown(url)} is not a record of Dovetail: it has none of its tables")
    if found != VERSION:
        opened.dispose()
        return writing(url)
    return opened


def engine(url: sa.URL, begin: str) -> sa.Engine:
    """Return an engine whose SQLite transactions start with ``begin``; nothing is opened yet."""
    sqlite = url.get_backend_name() == "sqlite"
    made = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS} if sqlite else {})
    _engines.add(made)
    if not sqlite:
        return made

    # Python's sqlite3 begins transactions late and not before DDL, so we begin them ourselves.
    @sa.event.listens_for(made, "connect")
    def _connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(made, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return made


def _forked() -> None:
    """Make a forked child open its own connections and leave the parent's alone."""
    for made in list(_engines):
        _parents.append(made.pool)  # garbage collection would close its connections
        made.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def inserted(connection: sa.Connection, row: sa.Insert) -> int:
    """Insert a row; return its id."""
    key = connection.execute(row).inserted_primary_key
    assert key is not None
    return int(key[0])


def line(error: Exception) -> str:
    """Return a database error as one line."""
    if type(error) in (sa.exc.ArgumentError, ValueError):  # ValueError is about the port
        return "it is not the URL of a database, such as sqlite:///results.sqlite"
    return " ".join(str(getattr(error, "orig", None) or error).split())[:200]
