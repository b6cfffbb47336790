"""Files of checked records, for the journal and the write-ahead log.

A file starts with a line of text that names the format, and a head with the file's own mark: random
bytes that start each record.  The contents of records come from peers, which never learn the mark,
so that no content can pass for a record, whatever is torn or damaged around it.  After the mark
come the record's length, its number, a CRC-32 of all of these and the content, and the content.
There is one record between two marks, so that reading takes time proportional to the size.
"""

from __future__ import annotations

import errno
import mmap
import os
import secrets
import stat
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MARK = 16
"""Bytes of a mark."""
_FIELDS = struct.Struct(">IQ")
_SUM = struct.Struct(">I")
HEAD = MARK + _FIELDS.size + _SUM.size
"""Bytes before a record's content."""
_COPY = MARK + _SUM.size
COPIES = 2
"""Copies of the mark in a file's head, each with its own checksum."""
MAX_RECORD = 1 << 30
"""Maximum plausible length of a record."""
HIGHEST = 1 << 62
"""Maximum plausible number of a record."""
CHUNK = 1 << 20
"""Bytes that are read at a time where a file may be huge."""
_ZEROS = bytes(CHUNK)


@dataclass(frozen=True, slots=True)
class Entry:
    """A whole record."""

    number: int
    start: int
    end: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """A range of damaged bytes."""

    start: int
    end: int
    what: str
    torn: bool = False
    """True if it can be from a write that a crash cut short, since nothing follows it."""

    def __str__(self) -> str:
        where = f"byte {self.start}"
        if self.end > self.start:
            where = f"bytes {self.start} to {self.end - 1}"
        return f"{where}: {self.what}"


@dataclass(frozen=True, slots=True)
class Framing:
    """The framing of a file's records: the line that names the format, and the file's mark."""

    title: bytes
    mark: bytes

    @property
    def head(self) -> bytes:
        """The first bytes of the file."""
        copy = self.mark + _SUM.pack(zlib.crc32(self.mark, zlib.crc32(self.title)))
        return self.title + copy * COPIES

    def pack(self, number: int, data: bytes) -> bytes:
        start = self.mark + _FIELDS.pack(len(data), number)
        return start + _SUM.pack(zlib.crc32(data, zlib.crc32(start))) + data

    def before(self, number: int, parts: Sequence[bytes]) -> bytes:
        """Return what stands in the file before a record's content, given in parts."""
        start = self.mark + _FIELDS.pack(sum(map(len, parts)), number)
        found = zlib.crc32(start)
        for part in parts:
            found = zlib.crc32(part, found)
        return start + _SUM.pack(found)


def opened(path: Path) -> BinaryIO:
    """Open a file for reading.

    Raises:
        OSError: it cannot be read, or it is a pipe, which could block, or a device, which could be
            endless.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a folder says so itself
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return path.open("rb")


def used(file: BinaryIO, data: mmap.mmap, start: int = 0) -> int:
    """Return the offset after a file's last byte that is not zero, at least ``start``.

    Zeros at the end are reserved space, or a hole of any size that takes none.
    """
    end = _extent(file, len(data))
    while end > start:
        begin = max(start, end - CHUNK)
        rest = data[begin:end].rstrip(b"\0")
        if rest:
            return begin + len(rest)
        end = begin
    return start


def _extent(file: BinaryIO, size: int) -> int:
    """Return the end of a file's last part that takes space, where the system can say."""
    if not hasattr(os, "SEEK_DATA"):
        return size
    end = 0
    try:
        while end < size:
            end = os.lseek(file.fileno(), os.lseek(file.fileno(), end, os.SEEK_DATA), os.SEEK_HOLE)
    except OSError as error:
        return end if error.errno == errno.ENXIO else size
    return end


def new_framing(title: bytes) -> Framing:
    """Return the framing of a new file, with a random mark from the system."""
    return Framing(title, secrets.token_bytes(MARK))


def framing(path: Path, title: bytes) -> Framing | None:
    """Return the framing of a file; None if it has no valid head of this format.

    Raises:
        OSError: it cannot be read.
    """
    with opened(path) as file:
        head = file.read(len(title) + _COPY * COPIES)
    for start in range(len(title), len(head), _COPY):
        found = Framing(title, head[start : start + MARK])
        if head[start : start + _COPY] == found.head[len(title) : len(title) + _COPY]:
            return found
    return None


def scan(path: Path, title: bytes, *, over: bool = False) -> Iterator[Entry | Damage]:
    """Yield a file's records, in order of rising numbers, and its damage.

    Args:
        path: the file.
        title: the line that names its format.
        over: True if the file was written over an older one, whose rest follows the last record.

    Raises:
        OSError: it cannot be read.
    """
    found = framing(path, title)
    with opened(path) as file:
        size = file.seek(0, 2)
        if size == 0:
            return
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            if found is not None:
                yield from _scan(data, size, used(file, data), found, over=over)
            else:
                torn = used(file, data) < len(title) + _COPY * COPIES
                what = "a head that was cut short" if torn else "not the head of this format"
                yield Damage(0, size, what, torn=torn)


def _scan(
    data: mmap.mmap, size: int, used: int, framing: Framing, *, over: bool
) -> Iterator[Entry | Damage]:
    mark, head = framing.mark, framing.head
    position, number, whole = len(head), 0, True
    if data[:position] != head:
        yield Damage(0, position, "the head of the file")
    while position < size:
        following = data.find(mark, position + 1, used)
        end = size if following < 0 else following
        entry = _entry(data, position, end, mark, used)
        if entry is not None:
            if entry.number <= number:
                text = f"record {entry.number} after record {number}; numbers rise"
                yield Damage(entry.start, entry.end, text)
            else:
                if whole and entry.number > number + 1:
                    text = f"record {entry.number} follows record {number}"
                    yield Damage(entry.start, entry.start, text)
                number = entry.number
                yield entry
            position = entry.end
        whole = position == end
        if not whole and not (over and end == size):
            yield _damage(data, position, end, used, mark)
        position = end


def _entry(data: mmap.mmap, start: int, end: int, mark: bytes, used: int) -> Entry | None:
    """Return the record at a position, before the next mark or the end of the file; None if it is
    not whole.  Only zeros follow ``used``."""
    body = start + HEAD
    if body > end or data[start : start + MARK] != mark:
        return None
    length, number = _FIELDS.unpack_from(data, start + MARK)
    if length > end - body or length > MAX_RECORD or not 0 < number <= HIGHEST:
        return None
    (told,) = _SUM.unpack_from(data, body - _SUM.size)
    if _sum(data, body, length, zlib.crc32(data[start : body - _SUM.size]), used) != told:
        return None
    return Entry(number, start, body + length, data[body : body + length])


def _sum(data: mmap.mmap | bytes, start: int, length: int, before: int, used: int) -> int:
    """Return the CRC-32 of bytes of a file, none of which is kept: most may be a hole.

    What is beyond the bytes that are ``used`` is not read, since 1 GiB of a hole takes seconds.
    """
    for at in range(start, start + length, CHUNK):
        end = min(at + CHUNK, start + length)
        before = zlib.crc32(data[at:end] if at < used else _ZEROS[: end - at], before)
    return before


def _damage(data: mmap.mmap, start: int, end: int, used: int, mark: bytes) -> Damage:
    """Describe the bytes between two records, or after the last one.

    Zeros at the end of the file are reserved space.
    """
    if end < len(data):
        return Damage(start, end, "damaged; a record follows")
    rest = max(0, used - start)
    cut = mark.startswith(data[start : start + min(rest, MARK)])
    if cut and rest >= HEAD:
        cut = _FIELDS.unpack_from(data, start + MARK)[0] > rest - HEAD
    return Damage(start, end, "a record that was cut short" if cut else "damaged", torn=cut)


MARK_2 = b"\xc1DVR"
"""The mark of all files of version 2."""
_HEAD_2 = struct.Struct(">4sIQI")


def scan_2(path: Path, title: bytes) -> Iterator[Entry | Damage]:
    """Yield the records of a file of version 2, and its damage; otherwise like ``scan``.

    A peer can have put the mark into a record's content.  So the length of a damaged record is
    trusted, and nothing inside it is read.
    """
    with opened(path) as file:
        size = file.seek(0, 2)
        if size == 0:
            return
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            yield from _scan_2(data, size, used(file, data), title)


def _scan_2(data: mmap.mmap, size: int, used: int, title: bytes) -> Iterator[Entry | Damage]:
    position, number, whole = len(title), 0, True
    if data[:position] != title:
        yield Damage(0, position, "not the title of this format")
    while position < size:
        start = position
        head = data[start : start + _HEAD_2.size]
        if not head.startswith(MARK_2):
            following = data.find(MARK_2, start + 1, used)
            position = size if following < 0 else following
            whole = False
            torn = position == size and MARK_2.startswith(
                data[start : min(max(start, used), start + 5)]
            )
            what = "a record that was cut short" if torn else "damaged"
            yield Damage(start, position, what, torn=torn)
            continue
        length = int.from_bytes(head[4:8], "big")
        position = start + _HEAD_2.size + length
        if len(head) < _HEAD_2.size or position > size:
            yield Damage(start, size, "a record that was cut short", torn=True)
            return
        _, _, told, checksum = _HEAD_2.unpack(head)
        body = start + _HEAD_2.size
        found = _sum(data, body, length, zlib.crc32(head[:16]), used)
        if found != checksum or not told <= HIGHEST:
            whole = False
            torn = position == size and position > max(body, used)
            yield Damage(start, position, "damaged", torn=torn)
        elif told <= number:
            text = f"record {told} after record {number}; numbers rise"
            yield Damage(start, position, text)
        else:
            if whole and told > number + 1:
                yield Damage(start, start, f"record {told} follows record {number}")
            number, whole = told, True
            yield Entry(told, start, position, data[body:position])
