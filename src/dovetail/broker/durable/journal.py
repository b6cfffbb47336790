"""The journal's writer: episodes and stored states reach the disk before any peer is told."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from dovetail.broker.durable.append_file import AppendFile, Sync, lock
from dovetail.peer import provenance
from dovetail.peer.quoting import command
from dovetail.protocol import codec
from dovetail.protocol import journal as journal_file
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import AnyRecord, EpisodeRecord, NumberRecord, StateRecord
from dovetail.protocol.logfile import CHUNK, HIGHEST, Damage, framing, new_framing, opened, used

MOST = HIGHEST >> 1
"""The highest number in a journal that a broker continues: readers refuse those above ``HIGHEST``,
and no broker gets so far."""


class Journal:
    """A journal open for writing.

    Raises:
        DovetailError: the file cannot be written, is in use, or is not a journal.
    """

    def __init__(self, path: Path, *, sync: Sync = "none") -> None:
        self.path = path
        self.sync = sync
        self.states: dict[str, bytes] = {}
        """The newest state under each name."""
        self.keepers: dict[str, str] = {}
        """The owner (``Peer.owner``) of each state that belongs to a key."""
        self.shared: set[str] = set()
        """The names of states that any experiment may use."""
        self.next = 1
        """The lowest run or episode number above all recorded ones."""
        self.number = 0
        """The number of the last record."""
        self._waiting: list[bytes] = []
        self._made = str(provenance.here())
        self._told = ""  # the software named by the latest record that names one
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open(path, sync)
        except OSError as error:
            raise DovetailError(f"cannot write the journal {path}: {error.strerror}") from None

    def _open(self, path: Path, sync: Sync) -> AppendFile:
        """Lock the file, read it, and return it open for appending."""
        held = lock(path)
        try:
            if journal_file.version(path) < journal_file.VERSION:
                os.close(held)  # another file takes its place
                held = -1
                upgrade(path)
                held = lock(path)
            framed = framing(path, journal_file.TITLE)
            end = self._read(0 if framed is None else len(framed.head))
            if framed is None and end:
                raise DovetailError(
                    f"{path} has a damaged head, without which no record can be read; "
                    "move it away, or choose another with --journal"
                )
            if max(self.number, self.next) > MOST:
                raise DovetailError(
                    f"{path} has numbers above {MOST}, after which too few are left; "
                    "move it away, or choose another with --journal"
                )
            _set_aside(path, end)
        except BaseException:
            if held >= 0:
                os.close(held)
            raise
        self._framing = framed or new_framing(journal_file.TITLE)
        return AppendFile(path, self._framing.head, end, sync, locked=held)

    def _read(self, end: int) -> int:
        """Read the records from an offset on; return the offset at which to append."""
        for each in journal_file.entries(self.path):
            if isinstance(each, Damage):
                if each.torn:
                    break
            else:
                self.number = each.number
                self._note(each.record)
            end = each.end
        return end

    def _note(self, record: AnyRecord) -> None:
        if isinstance(record, StateRecord):
            self.states[record.name] = record.state
            self.keepers.pop(record.name, None)
            if record.key:
                self.keepers[record.name] = f"key {record.key}"
            self.shared.discard(record.name)
            if record.shared:
                self.shared.add(record.name)
        elif isinstance(record, EpisodeRecord):
            self.next = max(self.next, record.result.run + 1, record.result.episode + 1)
            self._told = record.software or self._told
        else:
            self.next = max(self.next, record.next)

    @property
    def identity(self) -> bytes:
        """Bytes that tell the file from any other, but nothing of its mark."""
        return hashlib.sha256(self._framing.mark).digest()[:16]

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def states_until(self, number: int) -> dict[str, bytes]:
        """Return the newest state under each name, up to the record with a number."""
        found = {}
        for each in journal_file.entries(self.path):
            if isinstance(each, Damage) or each.number > number:
                continue
            if isinstance(each.record, StateRecord):
                found[each.record.name] = each.record.state
        return found

    def add(self, records: Sequence[AnyRecord]) -> None:
        """Queue records for ``flush``."""
        for record in records:
            record.time = time.time()
            if isinstance(record, EpisodeRecord) and self._made != self._told:
                record.software = self._told = self._made
            number = self.number + len(self._waiting) + 1
            self._waiting.append(self._framing.pack(number, codec.encode(record)))

    def flush(self) -> None:
        """Append the queued records; after an error they stay queued.

        Raises:
            OSError: the disk refuses, and none of them counts as written.
        """
        if self._waiting:
            self._file.append(b"".join(self._waiting))
            self.number += len(self._waiting)
            self._waiting.clear()

    def write(self, records: Sequence[AnyRecord]) -> None:
        """Append records; raise as ``flush`` does."""
        self.add(records)
        self.flush()

    def close(self, following: int = 0) -> None:
        """Sync to the device and close; ``following`` is the next number that the broker would
        assign, 0 if it assigned none."""
        if following > self.next:
            with contextlib.suppress(OSError):
                self.write([NumberRecord(following)])
        self._file.close()


def upgrade(path: Path) -> None:
    """Rewrite a journal in the current format, in place. If any of it is damaged, the old file is
    kept with the suffix ``.v1`` or ``.v2``.

    Raises:
        DovetailError: it is in use, or has no checksums and is damaged.
        OSError: it cannot be written.
    """
    held = lock(path)
    form = journal_file.version(path)
    try:
        old = _linked(path, f"{path.name}.v{form}")
        try:
            damaged = copy(path, path, strict=form == 1)
        except BaseException:
            if old.samefile(path):  # nothing has taken its place
                old.unlink()
            raise
        if not damaged:
            old.unlink()  # all of it is in the new file
    finally:
        os.close(held)


def _linked(path: Path, name: str) -> Path:
    """Give a file a second name, numbered if that is taken; return the path."""
    for number in itertools.count():
        other = path.with_name(f"{name}.{number}" if number else name)
        try:
            os.link(path, other)
        except FileExistsError:
            if not other.samefile(path):
                continue
        return other
    raise AssertionError


def _set_aside(path: Path, end: int) -> None:
    """Save the bytes after a position to ``.torn`` before truncation, but no zeros at the end."""
    with opened(path) as file:
        size = file.seek(0, 2)
        if end >= size:
            return
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            last = used(file, data, end)
            if last > end:
                with open(
                    path.with_name(path.name + ".torn"), "ab", opener=journal_file.private
                ) as torn:
                    for at in range(end, last, CHUNK):
                        torn.write(data[at : min(at + CHUNK, last)])


def copy(path: Path, to: Path, *, strict: bool = False, compact: bool = False) -> list[Damage]:
    """Copy the readable records of a journal atomically; return the damage.

    Args:
        path: the journal.
        to: the target, which may be the same file.
        strict: raise for any damage but a torn end.
        compact: drop states that a later one of the same name replaces.

    Raises:
        DovetailError: it is not a journal, or is damaged and ``strict``.
        OSError: it cannot be written.
    """
    last: dict[str, int] = {}
    if compact:
        for each in journal_file.entries(path):
            if isinstance(each, journal_file.Written) and isinstance(each.record, StateRecord):
                last[each.record.name] = each.number
    damage = []

    def kept() -> Iterator[AnyRecord]:
        for each in journal_file.entries(path):
            if isinstance(each, Damage):
                if strict and not each.torn:
                    raise DovetailError(
                        f"{path} is damaged at {each}; run `{command('journal', 'repair', path)}`"
                    )
                damage.append(each)
                continue
            record = each.record
            if isinstance(record, StateRecord) and last.get(record.name, 0) > each.number:
                continue
            yield record

    journal_file.write(to, kept())
    return damage
