"""Access to an arena's database: connections, transactions and its log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError, attempting
from dovetail_experiments.arena import schema as s
from dovetail_experiments.files import secrets as sealing
from dovetail_experiments.files.file import keyed
from dovetail_experiments.records import database

SECRETS = "secrets"
"""Folder beside the database with 128 random bits for each season."""
BY = "by"
"""Key under which a connection stores the origin of its actions."""

PENDING = s.units.c.played.is_(None) & s.units.c.dropped.is_(None)
"""The condition that a unit is still to be played."""


class ArenaTables:
    """An arena's database, which other programs may read while it is written.

    Args:
        by: the origin to record for actions.
    """

    def __init__(self, path: Path, by: str = "arena") -> None:
        self.path = path
        self.by = by
        url = database.url_of(path)
        self._engine = database.engine(url, "BEGIN IMMEDIATE")
        self._reader = database.engine(url, "BEGIN")

    def close(self) -> None:
        self._engine.dispose()
        self._reader.dispose()

    def master(self, season: int, seed: int) -> int:
        """Return the seed from which all seeds of a season derive.

        Args:
            seed: the arena's seed, which alone would let an entrant predict it.

        Raises:
            DovetailError: the season's secret cannot be stored.
        """
        path = self.path.parent / SECRETS / f"season-{season}"
        with attempting(f"keep a secret in {path}"):
            return keyed(sealing.kept(path), seed)

    def _rows(self, query: sa.Executable) -> Sequence[Any]:
        """Return the rows that a query finds."""
        with self._reader.begin() as connection:
            return connection.execute(query).all()

    def _value(self, query: sa.Executable) -> Any:
        """Return the first value of the first row that a query finds; None if there is no row."""
        with self._reader.begin() as connection:
            return connection.execute(query).scalar()

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                connection.info[BY] = self.by
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise DovetailError(f"cannot write {self.path}: {database.line(error)}") from None


def named(entrant: str, program: str) -> str:
    """Return a program's name in tables; a baseline has no entrant."""
    return f"{entrant}/{program}" if entrant else program


def change(
    connection: sa.Connection, table: sa.Table, *where: sa.ColumnElement[bool], **values: Any
) -> int:
    """Set values in the rows that meet all conditions; return their number."""
    return connection.execute(sa.update(table).where(*where).values(**values)).rowcount


def add_line(connection: sa.Connection, what: str, about: str, text: str) -> None:
    """Write a line to the log, within a transaction."""
    by = connection.info.get(BY)
    values = {"at": time.time(), "what": what, "about": about, "text": text, "by": by}
    connection.execute(sa.insert(s.log).values(values))
