"""Reading of an archive's contents within limits."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator

from dovetail.protocol.errors import DovetailError

UNREADABLE = (
    *(OSError, EOFError, ValueError, RuntimeError, OverflowError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""Exceptions raised by an archive that is damaged, encrypted or malicious."""
LINE = 1 << 20
"""Maximum bytes of a line."""
PART = 1 << 16
"""Bytes unpacked at a time."""


class Unpacked:
    """The files of an archive; everything read from them counts towards the limit.

    Args:
        most: the maximum bytes that may be read in all.

    Raises:
        DovetailError: two files have the same name, or one is compressed in a rare way.
    """

    def __init__(self, given: zipfile.ZipFile, name: str, most: int) -> None:
        self.name = name
        self._given = given
        self._names = given.namelist()
        if len(set(self._names)) != len(self._names):
            raise DovetailError(f"{name} has two files of the same name")
        # zipfile unpacks other methods without a limit: 64 KB of bzip2 may be a gigabyte.
        if {each.compress_type for each in given.infolist()} - {
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        }:
            raise DovetailError(
                f"{name} is compressed in a rare way; use `zip` or `python -m zipfile`"
            )
        self._most = most
        self._left = most

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
                    raise DovetailError(f"{self.name} unpacks to more than {self._most:,} bytes")
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
                raise DovetailError(f"{self.name}: {name} has more than {most:,} bytes")
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
                raise DovetailError(f"{self.name}: {name} has a line of more than {LINE:,} bytes")
        if rest:
            yield rest
