"""A file of checked records: the frame around what the broker writes down.

After a line of text that names the format, each record is a mark, its length, its number, a
CRC-32 of all that and of its bytes, then the bytes.  Whatever is damaged is found, and what
follows it is read.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = b"\xc1DVR"
"""Begins each record; MessagePack never uses its first byte."""
_HEAD = struct.Struct(">4sIQ")
_SUM = struct.Struct(">I")
HEAD = _HEAD.size + _SUM.size
"""Bytes before a record's own."""
LONGEST = 1 << 30
"""The longest record that is believed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that is whole."""

    number: int
    start: int
    end: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are not what was written."""

    start: int
    end: int
    what: str
    torn: bool = False
    """Whether this can be the trace of a write that a crash cut short: nothing follows it."""

    def __str__(self) -> str:
        where = f"byte {self.start}"
        if self.end > self.start:
            where = f"bytes {self.start} to {self.end - 1}"
        return f"{where}: {self.what}"


def pack(number: int, data: bytes) -> bytes:
    """Return a record as it stands in the file."""
    head = _HEAD.pack(MARK, len(data), number)
    return head + _SUM.pack(zlib.crc32(data, zlib.crc32(head))) + data


def scan(path: Path, title: bytes) -> Iterator[Entry | Damage]:
    """Yield what a file holds, in order.

    Args:
        path: of the file.
        title: the line that names its format.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size == 0:
            return
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            yield from _scan(data, size, title)


def _scan(data: mmap.mmap, size: int, title: bytes) -> Iterator[Entry | Damage]:
    position = len(title)
    if data[:position] != title:
        first = data.find(MARK)
        position = size if first < 0 else first
        yield Damage(0, position, "not the title of this format", torn=position == size)
    number = 0
    while position < size:
        entry = _entry(data, position, size)
        if entry is None:
            end = position
            while entry is None and (end := data.find(MARK, end + 1)) >= 0:
                entry = _entry(data, end, size)
            if entry is None:
                cut = _cut(data[position:size].rstrip(b"\0"))
                what = "a record that was cut short" if cut else "damaged"
                yield Damage(position, size, what, torn=cut)
                return
            yield Damage(position, end, f"damaged; the next whole record is {entry.number}")
            number = entry.number - 1
        if entry.number != number + 1:
            what = f"record {entry.number} follows record {number}"
            yield Damage(entry.start, entry.start, what)
        number = entry.number
        position = entry.end
        yield entry


def _entry(data: mmap.mmap, start: int, size: int) -> Entry | None:
    """Return the record that begins at a position, if it is whole."""
    body = start + HEAD
    if body > size:
        return None
    mark, length, number = _HEAD.unpack_from(data, start)
    if mark != MARK or length > size - body or length > LONGEST:
        return None
    content = data[body : body + length]
    if (
        zlib.crc32(content, zlib.crc32(data[start : start + _HEAD.size]))
        != (_SUM.unpack_from(data, start + _HEAD.size)[0])
    ):
        return None
    return Entry(number, start, body + length, content)


def _cut(rest: bytes) -> bool:
    """Whether what stands at the end of the file is the beginning of a record that is longer.

    Args:
        rest: without zeros at its end: room that was reserved for more.
    """
    if not MARK.startswith(rest[:4]):
        return False
    return len(rest) < HEAD or _HEAD.unpack_from(rest)[1] > len(rest) - HEAD
