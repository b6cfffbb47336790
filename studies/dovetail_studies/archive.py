"""Archives of kept results and states, one per study, with reproducible bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.reports import output

DATE = (1980, 1, 1, 0, 0, 0)
"""Timestamp of every member: the earliest that the format can represent."""


@dataclass(frozen=True)
class Member:
    """A file or folder inside an archive."""

    archive: Path
    name: str = ""

    def __truediv__(self, name: str) -> Member:
        return Member(self.archive, f"{self.name}/{name}" if self.name else name)

    def __str__(self) -> str:
        return f"{self.archive}/{self.name}"

    def is_file(self) -> bool:
        """Return true if this is a file of the archive."""
        return self.name in members(self.archive)

    def is_dir(self) -> bool:
        """Return true if this is a folder with members."""
        return bool(self.files())

    def files(self) -> list[str]:
        """Return the names of the members in this folder."""
        return [each for each in members(self.archive) if each.startswith(f"{self.name}/")]

    def read_bytes(self) -> bytes:
        """Return the member's content.

        Raises:
            FileNotFoundError: the archive has no such member.
        """
        try:
            return members(self.archive)[self.name]
        except KeyError:
            raise FileNotFoundError(2, "No such file", str(self)) from None


Place = Path | Member
"""A file, possibly inside an archive."""


def members(archive: Path) -> Mapping[str, bytes]:
    """Return an archive's members by name, or an empty map if there is no archive.

    Raises:
        DovetailError: the file is not an archive.
    """
    try:
        changed = archive.stat()
    except OSError:
        return {}
    return _members(archive, changed.st_mtime_ns, changed.st_size)


@lru_cache(maxsize=16)
def _members(archive: Path, changed: int, size: int) -> Mapping[str, bytes]:
    try:
        with zipfile.ZipFile(archive) as file:
            return {name: file.read(name) for name in file.namelist()}
    except (zipfile.BadZipFile, OSError) as error:
        raise DovetailError(f"cannot read {archive}: {error}; restore the file") from None


def write(archive: Path, content: Mapping[str, bytes]) -> None:
    """Write an archive atomically; equal contents give equal bytes.

    Members are not compressed, because compressed bytes differ between versions of zlib.

    Raises:
        DovetailError: the archive cannot be written.
    """
    if content == members(archive):
        return
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as file:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            file.writestr(entry, content[name])
    archive.parent.mkdir(parents=True, exist_ok=True)
    output.write(archive, whole.getvalue())
