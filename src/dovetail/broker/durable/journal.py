"""Writes the journal: episodes and stored states are on disk before any peer is told."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from dovetail.broker.durable.append_file import AppendFile, Sync, lock
from dovetail.peer import provenance
from dovetail.peer.quoting import command
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import (
    TITLE,
    VERSION,
    AnyRecord,
    EpisodeRecord,
    NumberRecord,
    StateRecord,
    Written,
    entries,
    private,
    version,
    write,
)
from dovetail.protocol.logfile import Damage, framing, new_framing


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
        """The lowest number that no record mentions."""
        self.number = 0
        """The number of the last record."""
        self._waiting: list[bytes] = []
        self._made = str(provenance.here())
        self._told = ""
        """The software that the journal names last."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open(path, sync)
        except OSError as error:
            raise DovetailError(f"cannot write the journal {path}: {error.strerror}") from None

    def _open(self, path: Path, sync: Sync) -> AppendFile:
        """Lock the file, read what it has, and return it open for more."""
        held = lock(path)
        try:
            if version(path) < VERSION:
                os.close(held)  # another file takes its place
                held = -1
                upgrade(path)
                held = lock(path)
            framed = framing(path, TITLE)
            end = self._read(0 if framed is None else len(framed.head))
            if framed is None and end:
                raise DovetailError(
                    f"{path} has a damaged head, without which no record can be read; "
                    "move it away, or choose another with --journal"
                )
            _set_aside(path, end)
        except BaseException:
            if held >= 0:
                os.close(held)
            raise
        self._framing = framed or new_framing(TITLE)
        return AppendFile(path, self._framing.head, end, sync, locked=held)

    def _read(self, end: int) -> int:
        """Take in what was written; return where to continue.

        Args:
            end: where the first record begins.
        """
        for each in entries(self.path):
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
    def size(self) -> int:
        """Its bytes."""
        return self.path.stat().st_size

    def states_until(self, number: int) -> dict[str, bytes]:
        """Return the newest state under each name up to the record of a number."""
        found = {}
        for each in entries(self.path):
            if isinstance(each, Damage) or each.number > number:
                continue
            if isinstance(each.record, StateRecord):
                found[each.record.name] = each.record.state
        return found

    def add(self, records: Sequence[AnyRecord]) -> None:
        """Have ``flush`` append records."""
        for record in records:
            record.time = time.time()
            if isinstance(record, EpisodeRecord) and self._made != self._told:
                record.software = self._told = self._made
            number = self.number + len(self._waiting) + 1
            self._waiting.append(self._framing.pack(number, codec.encode(record)))

    def unwritable(self, error: OSError) -> str:
        """Return a line for people about an error of ``flush``."""
        return (
            f"cannot write the journal {self.path}: {error.strerror}; "
            "the broker waits until it can be written; make room"
        )

    def flush(self) -> None:
        """Append what was added; what could not be written is tried again by the next call.

        Raises:
            OSError: the disk refuses, and nothing of it counts as written.
        """
        if self._waiting:
            self._file.append(b"".join(self._waiting))
            self.number += len(self._waiting)
            self._waiting.clear()

    def write(self, records: Sequence[AnyRecord]) -> None:
        """Append records; raises what ``flush`` does."""
        self.add(records)
        self.flush()

    def close(self, following: int = 0) -> None:
        """Force everything to the device and close.

        Args:
            following: the number that the broker would give out next; 0 gave out none.
        """
        if following > self.next:
            with contextlib.suppress(OSError):
                self.write([NumberRecord(following)])
        self._file.close()


def upgrade(path: Path) -> None:
    """Write a journal again in the present format, in the place of the old one.

    The old file is kept if something in it is damaged, as ``.v1`` or ``.v2``.

    Raises:
        DovetailError: it has no checksums and is damaged; or it is in use.
        OSError: it cannot be written.
    """
    held = lock(path)
    form = version(path)
    try:
        old = _linked(path, f"{path.name}.v{form}")
        if not copy(path, path, strict=form == 1):
            old.unlink()  # all of it is in the new file
    finally:
        os.close(held)


def _linked(path: Path, name: str) -> Path:
    """Give a file a second name, or the first free one like it; return that."""
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
    """Keep what follows a position, since it is about to be cut off."""
    with path.open("rb") as file:
        file.seek(end)
        rest = file.read()
    if rest:
        with open(path.with_name(path.name + ".torn"), "ab", opener=private) as torn:
            torn.write(rest)


def copy(path: Path, to: Path, *, strict: bool = False, compact: bool = False) -> list[Damage]:
    """Write what can be read of a journal to a file, whole or not at all; return what cannot.

    Args:
        path: of the journal.
        to: where to write it; may be the same.
        strict: raise for what is damaged, but for a torn end.
        compact: leave out states that a later one of the same name replaces.

    Raises:
        DovetailError: it is damaged and ``strict``, or not a journal.
        OSError: it cannot be written.
    """
    last: dict[str, int] = {}
    if compact:
        for each in entries(path):
            if isinstance(each, Written) and isinstance(each.record, StateRecord):
                last[each.record.name] = each.number
    damage = []

    def kept() -> Iterator[AnyRecord]:
        for each in entries(path):
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

    write(to, kept())
    return damage
