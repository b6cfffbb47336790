"""Digests of one short training per row, to check that a machine computes the same results."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.reports import output
from dovetail_studies.code import digest
from dovetail_studies.results import KeptResults
from dovetail_studies.rows import Result, Row, Study, Unit
from dovetail_studies.working import KEPT_RESULTS, file, pick, units, work

NAME = "short.json"
TIMES = frozenset(("seconds", "rate"))
"""Keys of results that measure time, excluded from digests."""


class Short(Struct, forbid_unknown_fields=True):
    """A short piece of work and its result's digest."""

    digest: str
    """Digest of the result."""
    code: str
    """Digest of the code that produced the result; see ``code.digest``."""


Kept = dict[str, dict[str, Short]]
"""Short pieces of work by study and row."""


def piece(row: Row) -> Unit:
    """Return the first piece of a row's smallest size."""
    return units(row, pick(row, "quick"), 1)[0]


def digest_of(result: Result) -> str:
    """Return a digest of a result without its times."""
    data = msgspec.json.encode(_timeless(result), order="sorted")
    return hashlib.sha256(data).hexdigest()[:16]


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(each) for name, each in value.items() if name not in TIMES}
    return [_timeless(each) for each in value] if isinstance(value, list | tuple) else value


def read(folder: Path = KEPT_RESULTS) -> Kept:
    """Return the digests kept in the repository.

    Raises:
        DovetailError: the file does not contain digests.
    """
    try:
        return msgspec.json.decode((folder / NAME).read_bytes(), type=Kept)
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise DovetailError(f"{folder / NAME}: {error}; restore the file") from None


def write(whole: Study, out: Path, folder: Path) -> None:
    """Store the digests of a study's short pieces of work that this code produced."""
    kept = read(folder)
    found = kept.setdefault(whole.name, {})
    for row in whole.rows:
        if row.work is None:
            continue
        code = digest(row.work)
        [*done] = KeptResults([file(out, whole.name, row, pick(row, "quick"))]).of([piece(row)])
        if done and done[0].code == code:
            found[row.key] = Short(digest_of(done[0].result), code)
    if found:
        ordered = {name: dict(sorted(of.items())) for name, of in sorted(kept.items())}
        data = msgspec.json.format(msgspec.json.encode(ordered), indent=1)
        output.write(folder / NAME, data + b"\n")


def said(whole: Study, row: Row, folder: Path = KEPT_RESULTS) -> str:
    """Repeat a row's short piece of work, and report whether the result is the kept one."""
    assert row.work is not None
    short = read(folder).get(whole.name, {}).get(row.key)
    if short is None:
        return f"{row.key}: {folder / NAME} has no short training to compare"
    result, _ = work(whole.name, row.key, piece(row))
    if digest_of(result) == short.digest:
        return f"{row.key}: a short training gives the kept digest: this machine rounds alike"
    same = short.code == digest(row.work)
    why = "this machine rounds otherwise" if same else "its code is another, or its rounding"
    return f"{row.key}: a short training gives another digest than {folder / NAME}: {why}"
