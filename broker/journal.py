"""The journal: every episode and every kept agent, on disk before anybody is told.

A file of records, each four bytes of length (big-endian) and a MessagePack map.  A record that a
crash cut short is dropped when the file is opened again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from dovetail.broker.records import AnyRecord, EpisodeRecord, StateRecord
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError

_decoder = msgspec.msgpack.Decoder(AnyRecord, ext_hook=codec.extension)


class Journal:
    """A journal open for writing.

    Raises:
        DovetailError: the file cannot be written or is no journal.
    """

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self.path = path
        self.sync = sync
        """Whether to force each write to the device, against loss of power."""
        self.states: dict[str, bytes] = {}
        end = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                for position, record in _scan(path):
                    end = position
                    if isinstance(record, StateRecord):
                        self.states[record.name] = record.state
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            if path.is_file():
                os.ftruncate(self._file, end)
                os.lseek(self._file, end, os.SEEK_SET)
        except OSError as error:
            raise DovetailError(f"cannot write the journal {path}: {error.strerror}") from None
        self._end = end
        self._pending = b""

    def write(self, records: Sequence[AnyRecord]) -> None:
        """Append records; what could not be written is tried again by the next call.

        Raises:
            OSError: the disk refuses, and nothing of ``records`` counts as written.
        """
        now = time.time()
        parts = [self._pending]
        for record in records:
            record.time = now
            data = codec.encode(record)
            parts.append(len(data).to_bytes(4, "big"))
            parts.append(data)
        self._pending = b"".join(parts)
        while self._pending:
            written = os.write(self._file, self._pending)
            self._pending = self._pending[written:]
        if self.sync:
            os.fsync(self._file)

    def close(self) -> None:
        """Force everything to the device and close."""
        with contextlib.suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)


def episodes(path: Path) -> Iterator[tuple[int, EpisodeRecord]]:
    """Yield the episodes of a journal and their numbers, from 1; errors as of ``read``."""
    number = 0
    for record in read(path):
        if isinstance(record, EpisodeRecord):
            number += 1
            yield number, record


def episode(path: Path, which: str) -> tuple[int, EpisodeRecord]:
    """Return an episode of a journal and its number.

    Args:
        path: of the journal.
        which: its number, or ``last``.

    Raises:
        DovetailError: the journal cannot be read, or there is no such episode.
    """
    found = None
    for found in episodes(path):
        if str(found[0]) == which.lstrip("0"):
            return found
    if found is None:
        raise DovetailError(f"{path} has no episodes")
    if which == "last":
        return found
    raise DovetailError(f"there is no episode {which}; {path} has {found[0]}")


def read(path: Path) -> Iterator[AnyRecord]:
    """Yield the records of a journal, oldest first.

    Raises:
        DovetailError: there is no journal at ``path``.
    """
    try:
        for _, record in _scan(path):
            yield record
    except OSError as error:
        raise DovetailError(f"cannot read the journal {path}: {error.strerror}") from None


def _scan(path: Path) -> Iterator[tuple[int, AnyRecord]]:
    with path.open("rb") as file:
        end = 0
        while True:
            head = file.read(4)
            if len(head) < 4:
                return
            size = int.from_bytes(head, "big")
            data = file.read(size) if size <= 1 << 30 else b""
            if len(data) < size:
                if end == 0:
                    raise DovetailError(f"{path} is no journal; name another file")
                return
            try:
                record = _decoder.decode(data)
            except msgspec.DecodeError:
                raise DovetailError(
                    f"{path} is no journal, or is damaged at byte {end}; name another file"
                ) from None
            end += 4 + size
            yield end, record
