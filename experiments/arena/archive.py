"""An arena as one file: export, and import into a new folder.

A ZIP archive with ``arena.toml``, the lines of each table as JSON, and the journal.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from dovetail.experiments import database
from dovetail.experiments.arena import schema as s
from dovetail.experiments.arena.description import BROKER_KEY, JOURNAL, Arena, folder, read
from dovetail.experiments.arena.store import FILE, Store
from dovetail.protocol import jsontext
from dovetail.protocol.errors import DovetailError
from dovetail.transport.keys import private

DESCRIPTION = "arena.toml"
BATCH = 1000
"""Rows that are read or written at once."""


def export(file: Path, arena: Arena, archive: Path) -> None:
    """Write an arena into an archive; the arena may be running.

    Entrants keep their access tokens, of which the archive has only hashes, or their keys. Then the archive has
    the broker's key, too, so that they need not change theirs, and is its user's alone.

    Raises:
        DovetailError: the archive exists, or cannot be written.
    """
    where = folder(file, arena)
    database_file, journal = where / FILE, where / JOURNAL
    with Store(database_file):
        pass  # says what is wrong with it
    engine = database.engine(database.url_of(database_file), "BEGIN")
    try:
        with private(archive) as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as out:
            out.write(file, DESCRIPTION)
            with engine.begin() as connection:  # one moment, also while games are played
                for table in s.metadata.sorted_tables:
                    with out.open(f"{table.name}.jsonl", "w") as lines:
                        rows = connection.execution_options(yield_per=BATCH).execute(
                            sa.select(table)
                        )
                        for row in rows.mappings():
                            lines.write(jsontext.write(dict(row)).encode() + b"\n")
            for each in (journal, where / BROKER_KEY):
                if each.exists():
                    out.write(each, each.name)
    except FileExistsError:
        raise DovetailError(f"{archive} exists; choose another name") from None
    except (OSError, sa.exc.SQLAlchemyError) as error:
        archive.unlink(missing_ok=True)
        raise DovetailError(f"cannot write {archive}: {database.line(error)}") from None
    finally:
        engine.dispose()


def restore(archive: Path, target: Path) -> Path:
    """Make an arena of an archive in a folder that is new or empty; return the arena's file.

    Raises:
        DovetailError: the archive is not one, or the folder has files.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DovetailError(f"{target} exists and is not an empty folder; choose another")
    try:
        with zipfile.ZipFile(archive) as given:
            names = set(given.namelist())
            tables = s.metadata.sorted_tables
            missing = [
                n for n in (DESCRIPTION, *(f"{t.name}.jsonl" for t in tables)) if n not in names
            ]
            if missing:
                raise DovetailError(f"{archive} is not an arena: it has no {missing[0]}")
            target.mkdir(parents=True, exist_ok=True)
            file = target / DESCRIPTION
            file.write_bytes(given.read(DESCRIPTION))
            where = folder(file, read(file))
            if target.resolve() not in (where.resolve(), *where.resolve().parents):
                raise DovetailError(
                    f"{archive}: its `folder` lies outside of {target}; remove that key"
                )
            _fill(given, where / FILE, tables)
            for each in names & {JOURNAL, BROKER_KEY}:
                with given.open(each) as source, private(where / each) as sink:
                    shutil.copyfileobj(source, sink)
    except (OSError, zipfile.BadZipFile, ValueError, sa.exc.SQLAlchemyError) as error:
        raise DovetailError(f"cannot import {archive}: {database.line(error)}") from None
    return file


def _fill(given: zipfile.ZipFile, path: Path, tables: list[sa.Table]) -> None:
    with given.open("arena.jsonl") as lines:
        version = json.loads(lines.readline()).get("version")
    if version not in range(1, s.VERSION + 1):
        raise DovetailError(
            f"the archive has version {version} of an arena's tables; this program reads {s.VERSION}"
        )
    with Store(path, create=True):
        pass
    engine = database.engine(database.url_of(path), "BEGIN IMMEDIATE")
    try:
        with engine.begin() as connection:
            for table in [each for each in tables if each is not s.arena]:
                connection.execute(sa.delete(table))
                for rows in _rows(given, table):
                    connection.execute(sa.insert(table), rows)
    finally:
        engine.dispose()


def _rows(given: zipfile.ZipFile, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    batch = []
    with contextlib.closing(given.open(f"{table.name}.jsonl")) as lines:
        for line in lines:
            batch.append(json.loads(line))
            if len(batch) == BATCH:
                yield batch
                batch = []
    if batch:
        yield batch
