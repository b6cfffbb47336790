"""Export an arena to one file, and import it into a new folder.

The file is a ZIP archive with ``arena.toml``, the rows of each table as JSON lines, the journal,
and the agents that entrants have uploaded.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import sqlalchemy as sa
from msgspec import Meta

from dovetail.protocol import json_text as jsontext
from dovetail.protocol import outside
from dovetail.protocol.errors import DovetailError
from dovetail.transport.keys import private
from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.description import (
    BROKER_KEY,
    JOURNAL,
    NAME,
    SUBMITTED,
    Arena,
    folder,
    read,
)
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_experiments.arena.submissions import FORM
from dovetail_experiments.arena.unpacked import UNREADABLE, Unpacked
from dovetail_experiments.records import database

DESCRIPTION = "arena.toml"
BATCH = 1000
"""Rows per read or write."""
RATIO, LEAST = 60, 16 << 20
"""Maximum ratio of unpacked to archive size, and the bytes always allowed; JSON and journals shrink
to a tenth or a thirtieth."""
_State = Literal["active", "paused", "banned"]
_Int = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_Text = Annotated[str, Meta(max_length=1 << 16)]
KINDS = {int: _Int, float: float, str: _Text}
"""Types to decode values as, by the type of their column."""
CHECKED: dict[tuple[str, str], Any] = {
    ("entrants", "name"): Annotated[str, Meta(pattern=f"^(?:{NAME.pattern})$")],
    ("entrants", "token"): Annotated[str, Meta(min_length=40, max_length=64)],
    ("entrants", "state"): _State,
    ("players", "state"): _State,
}
"""Types of columns with a stricter format, by table and column."""


def export(file: Path, arena: Arena, archive: Path) -> None:
    """Write an arena to an archive; the arena may be running.

    Entrants keep their credentials. The archive holds only hashes of access tokens; for an arena
    with keys it also holds the broker's private key, so only its owner can read it.

    Raises:
        DovetailError: the archive exists or cannot be written.
    """
    where = folder(file, arena)
    database_file, journal = where / FILE, where / JOURNAL
    with ArenaStore(database_file):
        pass  # reports errors in the file
    engine = database.engine(database.url_of(database_file), "BEGIN")
    try:
        with private(archive) as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as out:
            out.write(file, DESCRIPTION)
            with engine.begin() as connection:  # one snapshot, even while games are played
                for table in s.metadata.sorted_tables:
                    with out.open(f"{table.name}.jsonl", "w") as lines:
                        rows = connection.execution_options(yield_per=BATCH).execute(
                            sa.select(table)
                        )
                        for row in rows.mappings():
                            lines.write(jsontext.write(dict(row)).encode() + b"\n")
            for each in (journal, where / BROKER_KEY, *sorted((where / SUBMITTED).glob("*"))):
                if each.exists():
                    out.write(each, each.relative_to(where))
    except FileExistsError:
        raise DovetailError(f"{archive} exists; choose another name") from None
    except (OSError, sa.exc.SQLAlchemyError) as error:
        archive.unlink(missing_ok=True)
        raise DovetailError(f"cannot write {archive}: {database.line(error)}") from None
    finally:
        engine.dispose()


def restore(archive: Path, target: Path) -> Path:
    """Import an archive into a new or empty folder; return the arena's file.

    The arena is built in a folder alongside and moved into place at the end, so a failure leaves
    nothing behind.

    Raises:
        DovetailError: the archive is invalid or unpacks to too much, or the folder has files.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DovetailError(f"{target} exists and is not an empty folder; choose another")
    target = target.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".dovetail-", dir=target.parent) as beside:
            made = Path(beside) / "arena"
            made.mkdir(mode=0o700)
            most = max(LEAST, RATIO * archive.stat().st_size)
            with zipfile.ZipFile(archive) as given:
                _unpack(Unpacked(given, str(archive), most), made)
            made.replace(target)
    except (*UNREADABLE, sa.exc.SQLAlchemyError) as error:
        told = " ".join(str(getattr(error, "orig", None) or error).split())[:200]
        raise DovetailError(f"cannot import {archive}: {told}") from None
    return target / DESCRIPTION


def _unpack(given: Unpacked, made: Path) -> None:
    tables = s.metadata.sorted_tables
    needed = [f"{t.name}.jsonl" for t in tables if t is not s.submissions]  # new in version 4
    missing = [name for name in (DESCRIPTION, *needed) if not given.has(name)]
    if missing:
        raise DovetailError(f"{given.name} is not an arena: it has no {missing[0]}")
    file = made / DESCRIPTION
    file.write_bytes(given.whole(DESCRIPTION, outside.TEXT))
    try:
        arena = read(file)
    except DovetailError as error:
        told = str(error).replace(str(file), DESCRIPTION)
        raise DovetailError(f"cannot import {given.name}: {told}") from None
    where = folder(file, arena)
    if made.resolve() not in (where.resolve(), *where.resolve().parents):
        raise DovetailError(
            f"{given.name}: its `folder` lies outside of the new one; remove that key"
        )
    _fill(given, where / FILE, tables)
    submitted = [n for n in given.names if n.startswith(f"{SUBMITTED}/")]
    if not all(FORM.fullmatch(each.partition("/")[2]) for each in submitted):
        raise DovetailError(f"{given.name} has a file that is not a submission: {submitted[0]}")
    if submitted:
        (where / SUBMITTED).mkdir(mode=0o700)
    for each in (JOURNAL, BROKER_KEY, *submitted):
        if given.has(each):
            with private(where / each) as sink:
                for part in given.parts(each):
                    sink.write(part)


def _fill(given: Unpacked, path: Path, tables: list[sa.Table]) -> None:
    rows = [row for batch in _rows(given, s.arena) for row in batch]
    version = rows[0]["version"] if len(rows) == 1 else None
    if version not in range(1, s.VERSION + 1):
        raise DovetailError(
            f"the archive has version {version} of an arena's tables; this program reads "
            f"{s.VERSION}"
        )
    with ArenaStore(path, create=True):
        pass
    engine = database.engine(database.url_of(path), "BEGIN IMMEDIATE")
    try:
        with engine.begin() as connection:
            for table in [each for each in tables if each is not s.arena]:
                connection.execute(sa.delete(table))
                for batch in _rows(given, table):
                    connection.execute(sa.insert(table), batch)
            wrong = connection.execute(sa.text("PRAGMA foreign_key_check")).first()
            if wrong is not None:
                raise DovetailError(
                    f"{given.name} is incomplete: a row of {wrong[0]} refers to a missing row of "
                    f"{wrong[2]}"
                )
    finally:
        engine.dispose()


def _rows(given: Unpacked, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a table in batches, each checked against its columns."""
    name, batch = f"{table.name}.jsonl", []
    if not given.has(name):
        return
    decoder = msgspec.json.Decoder(_shape(table))
    for number, line in enumerate(given.lines(name), 1):
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise DovetailError(f"{given.name}: {name}, line {number}: {error}") from None
        batch.append({each.name: getattr(row, _field(each.name)) for each in table.columns})
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _shape(table: sa.Table) -> type[msgspec.Struct]:
    """Return a struct with a field for each column of a table; other fields are errors."""
    fields: list[Any] = []
    for each in table.columns:
        kind: Any = CHECKED.get((table.name, each.name)) or KINDS[each.type.python_type]
        name = _field(each.name)
        # A column that earlier versions of the tables lacked.
        fields.append((name, kind | None, None) if each.nullable else (name, kind))
    return msgspec.defstruct(
        f"{table.name}_row",
        sorted(fields, key=len),
        rename={_field(each.name): f"{each.name}" for each in table.columns},  # plain str
        forbid_unknown_fields=True,
    )


def _field(column: str) -> str:
    return f"of_{column}"  # `return` is also a column
