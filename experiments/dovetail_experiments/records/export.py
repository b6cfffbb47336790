"""Write records into files for other programs: CSV, JSON lines, Parquet, and games as text."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from dovetail.peer.extras import needed
from dovetail.peer.quoting import cell
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.records.records import CHUNK, plain

Row = Mapping[str, Any]
FORMATS = ("csv", "jsonl", "json", "parquet")
"""The formats of rows."""


def rows(path: Path, columns: list[str], given: Iterable[Row], form: str | None = None) -> int:
    """Write rows into a file; return how many.  Until all are written, an old file remains.

    Args:
        path: of the file.
        columns: in their order.
        given: the rows.
        form: one of ``FORMATS``; None to take it from the name of the file.

    Raises:
        DovetailError: the form is unknown, or the file cannot be written.
    """
    form = form or path.suffix.removeprefix(".")
    if form not in FORMATS:
        raise DovetailError(
            f"{path}: unknown form {form!r}; name a file that ends in .{', .'.join(FORMATS)}"
            ", or in .txt for games"
        )
    counted = _Counted(given)
    if form == "parquet":
        needed("pyarrow")
        _parquet(path, columns, counted)
    else:
        with _replacing(path) as part, _text(part) as out:
            text(out, columns, counted, form)
    return counted.number


def text(out: TextIO, columns: list[str], given: Iterable[Row], form: str) -> None:
    """Write rows as ``csv``, ``jsonl`` or ``json``."""
    if form == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([cell(name) for name in columns])
        writer.writerows([cell(_value(row[name])) for name in columns] for row in given)
        return
    lines = (jsontext.write({name: _value(row[name]) for name in columns}) for row in given)
    if form == "jsonl":
        out.writelines(f"{line}\n" for line in lines)
        return
    out.write("[")
    for number, line in enumerate(lines):
        out.write(f"{',' if number else ''}\n  {line}")
    out.write("\n]\n")


def written(path: Path, write: Callable[[TextIO], None]) -> None:
    """Write a text file with a function; until it is whole, an old file remains."""
    with _replacing(path) as part, _text(part) as out:
        write(out)


class _Counted:
    def __init__(self, given: Iterable[Row]) -> None:
        self.number = 0
        self._given = given

    def __iter__(self) -> Iterator[Row]:
        for row in self._given:
            self.number += 1
            yield row


def _parquet(path: Path, columns: list[str], given: Iterable[Row]) -> None:
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    # A column that is empty in one chunk would get another type there: types come from all rows.
    found: dict[str, set[type]] = {name: set() for name in columns}
    chunks: list[list[Row]] = []
    iterator = iter(given)
    while chunk := list(itertools.islice(iterator, CHUNK)):
        chunks.append(chunk)
        for row in chunk:
            for name in columns:
                found[name].add(type(row[name]))
    types = {
        str: arrow.string(),
        bytes: arrow.binary(),
        bool: arrow.bool_(),
        int: arrow.int64(),
        float: arrow.float64(),
    }
    fields = []
    for name, kinds in found.items():
        kinds.discard(type(None))
        kind = float if kinds == {int, float} else next(iter(kinds)) if len(kinds) == 1 else str
        fields.append((name, types.get(kind, arrow.string())))
    schema = arrow.schema(fields)
    with _replacing(path) as part, parquet.ParquetWriter(part, schema) as writer:
        for chunk in chunks:
            data = [{name: row[name] for name in columns} for row in chunk]
            writer.write_table(arrow.Table.from_pylist(data, schema))


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    part = path.with_name(f"{path.name}.part")
    try:
        try:
            yield part
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DovetailError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    with path.open("w", encoding="utf-8", newline="") as out:
        yield out


def _value(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else plain(value)
