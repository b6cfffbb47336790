"""Results of pieces of work, stored as lines of JSON so that finished work is not repeated."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from dovetail.peer import provenance
from dovetail.protocol.errors import DovetailError
from dovetail_studies.archive import Member, Place
from dovetail_studies.rows import Done, Result, Unit


class KeptResult(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A finished piece of work."""

    unit: Unit
    result: Result
    date: str
    versions: str
    seconds: float
    code: str = ""
    """Digest of the row's code; see ``code.digest``. Older results have none."""


def versions() -> str:
    """Return the versions of the packages that results depend on, and the code's revision."""
    return str(provenance.here()).replace("dovetail", "Dovetail", 1)


def key(unit: Unit) -> bytes:
    """Return the key that identifies a unit."""
    return msgspec.json.encode(unit, order="sorted")


def folder_of(path: Path) -> None:
    """Make the parent folder of a file.

    Raises:
        DovetailError: the folder cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten(path, error) from None


def unwritten(path: Path, error: OSError) -> DovetailError:
    """Return the error for a file that cannot be written."""
    return DovetailError(
        f"cannot write {path}: {error.strerror}; make room there, or the folder writable, and "
        "run the command again: it continues"
    )


class KeptResults:
    """Results of a row at one size.

    Args:
        paths: the files to read, of which the last is written; members of archives are read-only.
    """

    def __init__(self, paths: Sequence[Place]) -> None:
        self._last = paths[-1]
        self.records: dict[bytes, KeptResult] = {}
        for path in paths:
            self._read(path)

    @property
    def path(self) -> Path:
        """File to write."""
        assert not isinstance(self._last, Member)
        return self._last

    def _read(self, path: Place) -> None:
        try:
            lines = path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise DovetailError(f"cannot read {path}: {error.strerror}") from None
        for number, line in enumerate(lines, 1):
            try:
                record = msgspec.json.decode(line, type=KeptResult)
                record.unit["seed"]
            except (msgspec.ValidationError, KeyError) as error:
                why = (
                    "Object missing required field `seed`" if isinstance(error, KeyError) else error
                )
                raise DovetailError(
                    f"{path}, line {number}: not a result: {why}; remove the line, and its "
                    "piece of work is done again"
                ) from None
            except msgspec.DecodeError:
                continue  # a line truncated by a kill: the piece is done again
            self.records[key(record.unit)] = record

    def ready(self) -> None:
        """Check, before any work is done, that results can be written.

        Raises:
            DovetailError: they cannot.
        """
        folder_of(self.path)
        try:
            self.path.open("ab").close()
        except OSError as error:
            raise unwritten(self.path, error) from None

    def add(self, unit: Unit, result: Result, seconds: float, code: str = "") -> None:
        """Write a result to disk, with the digest of the code that produced it.

        Raises:
            DovetailError: the file cannot be written.
        """
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        record = KeptResult(unit, result, today, versions(), round(seconds, 1), code)
        folder_of(self.path)
        line = msgspec.json.encode(record) + b"\n"
        try:
            with self.path.open("a+b") as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":
                        # End a line truncated by a kill, so that it does not spoil this one.
                        line = b"\n" + line
                file.write(line)
        except OSError as error:
            raise unwritten(self.path, error) from None
        self.records[key(unit)] = record

    def todo(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units that are not done."""
        return [unit for unit in units if key(unit) not in self.records]

    def done(self, units: Sequence[Unit]) -> Done:
        """Return the finished units with their results."""
        found = ((unit, self.records.get(key(unit))) for unit in units)
        return [(unit, record.result) for unit, record in found if record is not None]

    def seeds(self) -> int:
        """Return the highest seed of finished work; 0 if there is none."""
        return max((record.unit["seed"] for record in self.records.values()), default=0)

    def of(self, units: Sequence[Unit]) -> list[KeptResult]:
        """Return the records of the finished units."""
        found = (self.records.get(key(unit)) for unit in units)
        return [record for record in found if record is not None]
