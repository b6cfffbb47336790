"""Reading of an archive's contents within limits."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from dovetail.protocol.errors import DovetailError

RATIO, LEAST = 60, 16 << 20
"""Maximum ratio of unpacked to archive size, and the bytes always allowed; JSON and journals shrink
to a tenth or a thirtieth."""
LINE = 1 << 20
"""Maximum bytes of a line."""
PART = 1 << 16
"""Bytes unpacked at a time."""


class Unpacked:
    """The files of an archive; everything read from them counts towards the limit.

    Args:
        given: the archive.
        path: its path, for error messages.

    Raises:
        DovetailError: two files have the same name.
    """

    def __init__(self, given: zipfile.ZipFile, path: Path) -> None:
        self.path = path
        self._given = given
        self._names = given.namelist()
        if len(set(self._names)) != len(self._names):
            raise DovetailError(f"{path} is not an arena: it has two files of the same name")
        self._most = max(LEAST, RATIO * path.stat().st_size)
        self._left = self._most

    @property
    def names(self) -> list[str]:
        """Names of its files."""
        return self._names

    def has(self, name: str) -> bool:
        """Return whether there is a file with this name."""
        return name in self._names

    def parts(self, name: str) -> Iterator[bytes]:
        """Yield a file's content in parts.

        Raises:
            DovetailError: the archive unpacks to too much.
        """
        with self._given.open(name) as source:
            while part := source.read(PART):
                self._left -= len(part)
                if self._left < 0:
                    raise DovetailError(
                        f"{self.path} unpacks to more than {self._most:,} bytes, too much for an "
                        "archive of its size"
                    )
                yield part

    def whole(self, name: str, most: int) -> bytes:
        """Return the content of a file of at most ``most`` bytes.

        Raises:
            DovetailError: it is longer, or the archive unpacks to too much.
        """
        found = b""
        for part in self.parts(name):
            found += part
            if len(found) > most:
                raise DovetailError(f"{self.path}: {name} has more than {most:,} bytes")
        return found

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file.

        Raises:
            DovetailError: a line is too long, or the archive unpacks to too much.
        """
        rest = b""
        for part in self.parts(name):
            *whole, rest = (rest + part).split(b"\n")
            yield from whole
            if len(rest) > LINE:
                raise DovetailError(f"{self.path}: {name} has a line of more than {LINE:,} bytes")
        if rest:
            yield rest
