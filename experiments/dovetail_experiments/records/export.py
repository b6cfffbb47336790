"""Export records for other programs, as CSV, JSON lines or Parquet, and games as text."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from dovetail.peer.extras import needed
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError, attempting
from dovetail_experiments.quoting import cell
from dovetail_experiments.records.records import CHUNK, Records, plain

Row = Mapping[str, Any]
FORMATS = ("csv", "jsonl", "json", "parquet")
"""Formats for rows."""


def rows(path: Path, columns: Mapping[str, type], given: Iterable[Row]) -> int:
    """Write rows to a file; return their number.  An old file remains until all rows are written.

    Args:
        path: the file, whose suffix is one of ``FORMATS``.
        columns: the names in order, with the types of the values.

    Raises:
        DovetailError: the format is unknown, or the file cannot be written.
    """
    form = path.suffix.removeprefix(".")
    if form not in FORMATS:
        raise DovetailError(
            f"{path}: unknown form {form!r}; name a file that ends in .{', .'.join(FORMATS)}"
            ", or in .txt for games"
        )
    counter = itertools.count()
    counted = (row for row, _ in zip(given, counter, strict=False))
    if form == "parquet":
        needed("pyarrow")
        _parquet(path, columns, counted)
    else:
        with _replacing(path) as part, part.open("w", encoding="utf-8", newline="") as out:
            text(out, list(columns), counted, form)
    return next(counter)


def shards(records: Records, folder: Path, columns: Sequence[str], where: Sequence[str]) -> int:
    """Write the results of each finished stage to its own Parquet file; return the number of new
    files.

    Existing files are kept, so a run in progress can be exported repeatedly.

    Args:
        columns: the columns to include; all if empty.
        where: conditions, as for ``Records.rows``.

    Raises:
        DovetailError: a file cannot be written, or a column or condition is wrong.
    """
    needed("pyarrow")
    with attempting(f"write into {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    kinds = records.types(columns=columns)
    new = 0
    stages = records.rows(
        "stages", columns=["execution", "number", "attempt"], where=["finished!=null"]
    )
    for each in list(stages):
        execution, stage = each["execution"], each["number"]
        path = folder / f"{execution:04}-{stage:05}-{each['attempt']:02}.parquet"
        if not path.exists():
            here = [f"execution={execution}", f"stage={stage}", *where]
            rows(path, kinds, records.rows(columns=list(kinds), where=here))
            new += 1
    return new


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
    """Write a text file with a function; an old file remains until the new one is complete."""
    with _replacing(path) as part, part.open("w", encoding="utf-8", newline="") as out:
        write(out)


def _parquet(path: Path, columns: Mapping[str, type], given: Iterable[Row]) -> None:
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    types = {bytes: arrow.binary(), bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64()}
    fields = [(name, types.get(kind, arrow.string())) for name, kind in columns.items()]
    schema = arrow.schema(fields)
    iterator = iter(given)
    with _replacing(path) as part, parquet.ParquetWriter(part, schema) as writer:
        while chunk := list(itertools.islice(iterator, CHUNK)):
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


def _value(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else plain(value)
