"""The tables of an arena's file: how they are read and written, and their log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import keyed
from dovetail_experiments.arena import schema as s
from dovetail_experiments.files import secrets as sealing
from dovetail_experiments.records import database

SECRETS = "secrets"
"""The folder beside the database with 128 random bits for each season."""
BY = "by"
"""Where a connection keeps what its acts come from."""


class ArenaTables:
    """An arena's database, which others look at while it is written.

    Args:
        path: the file.
        by: where the acts that it writes come from, as its log names it.
    """

    def __init__(self, path: Path, by: str = "arena") -> None:
        self.path = path
        self.by = by
        url = database.url_of(path)
        self._engine = database.engine(url, "BEGIN IMMEDIATE")
        self._reader = database.engine(url, "BEGIN")

    def close(self) -> None:
        """Close it."""
        self._engine.dispose()
        self._reader.dispose()

    def master(self, season: int, seed: int) -> int:
        """Return what all seeds of a season are derived from.

        Args:
            season: its number.
            seed: the arena's, from which alone an entrant could find it.

        Raises:
            DovetailError: the season's secret cannot be kept.
        """
        path = self.path.parent / SECRETS / f"season-{season}"
        try:
            return keyed(sealing.kept(path), seed)
        except OSError as error:
            raise DovetailError(f"cannot keep a secret in {path}: {error.strerror}") from None

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                connection.info[BY] = self.by
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise DovetailError(f"cannot write {self.path}: {database.line(error)}") from None


def named(entrant: str, program: str) -> str:
    """Return what tables call a program; a baseline has no entrant."""
    return f"{entrant}/{program}" if entrant else program


def add_line(connection: sa.Connection, what: str, about: str, text: str) -> None:
    """Write a line into the log, as part of a change."""
    by = connection.info.get(BY)
    values = {"at": time.time(), "what": what, "about": about, "text": text, "by": by}
    connection.execute(sa.insert(s.log).values(values))
