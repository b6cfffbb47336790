"""The journal's records: reading them, and writing a whole file.

A journal is a file of checked records (``logfile``), each a MessagePack map.  JOURNAL.md has the
format, and those of versions 1 and 2, which are read as well.  A record cut short by a crash does
not count; a damaged one is skipped.
"""

from __future__ import annotations

import logging
import mmap
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from dovetail.protocol import codec, logfile
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.logfile import Damage, Entry
from dovetail.protocol.messages import Episode, Mode

log = logging.getLogger("dovetail")

TITLE = b"dovetail journal 3\n"
TITLE_2 = b"dovetail journal 2\n"
VERSION = 3
"""The version of the format that is written."""


Time = Annotated[float, Meta(ge=0, lt=253_402_300_800)]
"""Seconds since 1970, UTC, up to the year 9999."""


class Record(Struct, tag_field="record", tag=str.lower, omit_defaults=True):
    """A map in the journal whose ``record`` names its kind."""


class EpisodeRecord(Record, tag="played"):
    """An episode, complete enough to be replayed from its seed and actions."""

    result: Episode
    environment: str
    configuration: dict[str, Any]
    mode: Mode
    actions: list[list[tuple[int, Any]]]
    """The (seat, action) pairs of each turn."""
    breached: list[list[int]] = []
    """``[turn, seat]`` of each action that the broker chose for a seat."""
    time: Time = 0.0
    """The time of writing, in seconds since 1970, UTC."""
    label: str = ""
    """The label of its run; ``dovetail run`` writes ``EXECUTION/STAGE/ATTEMPT``."""
    names: list[str] = []
    """The run's name of each seat's agent; empty if it gave no names."""
    derivation: int = 1
    """The derivation of the seats' seeds (SPEC.md, Seeds); absent from records of the first."""
    seeds: list[int] = []
    """The seed of each seat; absent from records without a derivation."""
    software: str = ""
    """The broker's software, in the first episode that it wrote; it applies to all that follow."""

    @property
    def players(self) -> list[str]:
        """Names by seat: the run's, or by default the agents' types."""
        seats = self.result.seats
        return self.names if len(self.names) == len(seats) else [seat.agent for seat in seats]


class StateRecord(Record, tag="kept"):
    """An agent's state, stored under a name."""

    name: str
    agent: str
    state: bytes
    time: Time = 0.0
    key: str = ""
    """The name of the owner's key; empty if it was stored without one."""
    shared: bool = False
    """True if any experiment may use it."""


class NumberRecord(Record, tag="numbers"):
    """A broker's last record: it assigned no number from ``next`` on."""

    next: int
    time: Time = 0.0


AnyRecord = EpisodeRecord | StateRecord | NumberRecord


@dataclass(frozen=True, slots=True)
class Written:
    """A record and its place in the file."""

    number: int
    start: int
    end: int
    record: AnyRecord


TRIED = "(openings)"
"""The label of runs that only try openings."""

_decoder = msgspec.msgpack.Decoder(AnyRecord, ext_hook=codec.extension)
_skipper = msgspec.msgpack.Decoder(Record)
"""Checks that bytes are a map, and keeps none of them."""
_UNREADABLE: tuple[type[Exception], ...] = (*codec.UNREADABLE, DovetailError)


def episodes(path: Path) -> Iterator[tuple[int, EpisodeRecord]]:
    """Yield the episodes of a journal with their numbers, from 1; raise as ``read`` does."""
    number = 0
    for record in read(path):
        if isinstance(record, EpisodeRecord):
            number += 1
            yield number, record


def uncounted(path: Path) -> set[int]:
    """Return the numbers of the episodes that do not count; raise as ``read`` does.

    Those are interrupted episodes, earlier attempts at a stage that was started again, repeats of
    episodes whose first result was lost on its way, and openings that were only tried.
    """
    found = set()
    latest: dict[str, tuple[int, list[range], dict[int, bytearray]]] = {}
    """By stage: its latest attempt, the numbers of its episodes, and a bit for each index in blocks
    of 8,192."""
    for number, record in episodes(path):
        stage, _, attempt = record.label.rpartition("/")
        if record.result.will_retry or record.label == TRIED:
            found.add(number)
        elif stage and attempt.isdecimal():
            last, played, seen = latest.get(stage, (-1, [], {}))
            if int(attempt) < last:
                found.add(number)
                continue
            if int(attempt) > last:
                found.update(*played)
                played, seen = [], {}
                latest[stage] = int(attempt), played, seen
            block, bit = divmod(record.result.index, 8 * 1024)
            bits = seen.setdefault(block, bytearray(1024))
            if bits[bit // 8] >> bit % 8 & 1:
                found.add(number)
            else:
                bits[bit // 8] |= 1 << bit % 8
                if played and played[-1].stop == number:
                    played[-1] = range(played[-1].start, number + 1)
                else:
                    played.append(range(number, number + 1))
    return found


def episode(path: Path, which: str) -> tuple[int, EpisodeRecord]:
    """Return an episode of a journal and its number.

    Args:
        path: the journal.
        which: the episode's number, or ``last``.

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


def read(path: Path) -> Iterator[EpisodeRecord | StateRecord]:
    """Yield the episodes and states of a journal, oldest first; damage is logged.

    Raises:
        DovetailError: there is no journal at ``path``.
    """
    for each in entries(path):
        if isinstance(each, Written):
            if not isinstance(each.record, NumberRecord):
                yield each.record
        elif not each.torn:
            log.warning("%s is damaged at %s; run `dovetail journal check`", path, each)


def entries(path: Path) -> Iterator[Written | Damage]:
    """Yield the records of a journal, and its damage, in the order of the file.

    Raises:
        DovetailError: there is no journal at ``path``.
    """
    try:
        form = version(path)
        if form == 1:
            found = _version_1(path)
            first = next(found, None)
            if isinstance(first, Damage) and first.end == path.stat().st_size:
                raise DovetailError(f"{path} is not a Dovetail journal")
            if first is not None:
                yield first
            yield from found
        else:
            yield from _checked(
                logfile.scan_2(path, TITLE_2) if form == 2 else logfile.scan(path, TITLE)
            )
    except OSError as error:
        hint = _inside(path) if path.is_dir() else ""
        raise DovetailError(f"cannot read the journal {path}: {error.strerror}{hint}") from None


def _inside(folder: Path) -> str:
    found = sorted(folder.glob("*.journal"))
    if not found:
        return "; name a file in it"
    return f"; name a journal in it, such as {found[-1]}"


def version(path: Path) -> int:
    """Return the version of a journal's format; an empty file has the current one.

    Raises:
        OSError: it cannot be read.
    """
    with logfile.opened(path) as file:
        head = file.read(len(TITLE) + len(logfile.MARK_2))
    if head.startswith(TITLE) or TITLE.startswith(head):
        return VERSION
    if head.startswith(TITLE_2) or head.endswith(logfile.MARK_2):
        return 2
    return 1 if logfile.framing(path, TITLE) is None else VERSION


def _checked(found: Iterator[Entry | Damage]) -> Iterator[Written | Damage]:
    for each in found:
        if isinstance(each, Damage):
            yield each
            continue
        try:
            record = _decoder.decode(each.data)
        except _UNREADABLE as error:
            what = f"record {each.number} is whole, and unknown to this version: {line(str(error))}"
            yield Damage(each.start, each.end, what)
            continue
        yield Written(each.number, each.start, each.end, record)


def _version_1(path: Path) -> Iterator[Written | Damage]:
    """Read records without checksums: four bytes of length (big-endian) and a map."""
    size, end, number = path.stat().st_size, 0, 0
    with logfile.opened(path) as file:
        while end < size:
            file.seek(end)
            length = int.from_bytes(file.read(4), "big")
            if end + 4 + length > size or length > logfile.MAX_RECORD:
                yield Damage(end, size, "a record that was cut short, or damaged", torn=True)
                return
            try:
                # Much may be a hole, and is not read if it is not a record.
                if length > logfile.CHUNK:
                    with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
                        _skipper.decode(memoryview(data)[end + 4 : end + 4 + length])
                record = _decoder.decode(file.read(length))
            except _UNREADABLE:
                yield Damage(end, size, "damaged; in this old format nothing after it can be read")
                return
            number += 1
            yield Written(number, end, end + 4 + length, record)
            end += 4 + length


def write(to: Path, records: Iterable[AnyRecord]) -> None:
    """Write a journal of these records atomically.

    Raises:
        OSError: it cannot be written.
    """
    temporary = to.with_name(to.name + ".new")
    framed = logfile.new_framing(TITLE)
    try:
        with open(temporary, "wb", opener=private) as file:
            if to.exists():
                shutil.copymode(to, temporary)
            file.write(framed.head)
            for number, record in enumerate(records, 1):
                file.write(framed.pack(number, codec.encode(record)))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(to)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def private(path: str, flags: int) -> int:
    """Open a file as ``os.open`` does; a new one is private to its user."""
    return os.open(path, flags, 0o600)
