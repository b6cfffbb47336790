"""The write-ahead log of work in progress: a snapshot of the core, and all of its input since.

The core is a function of its input.  The shell logs the input before it sends any output, so a
broker that is killed and restarted reaches the same state, down to the number of the last frame to
each peer.  To the peers it looks like a broken connection.

The file is a ``logfile``: a snapshot, then one record of input per commit.  Two files alternate: a
new snapshot is written over the file before the last.  Both are private, since their secret is
enough to take over a session.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from dovetail._version import __version__
from dovetail.broker.core.core import Core, Settings
from dovetail.broker.core.intake import Intake
from dovetail.broker.durable import snapshot
from dovetail.broker.durable.append_file import AppendFile, MappedFile, Sync
from dovetail.broker.durable.journal import Journal
from dovetail.broker.peers.access import Access
from dovetail.broker.peers.state import ALL
from dovetail.protocol import codec
from dovetail.protocol.journal import AnyRecord
from dovetail.protocol.logfile import HEAD, Damage, Framing, framing, new_framing, scan

log = logging.getLogger("dovetail.broker")

TITLE = b"dovetail live 2\n"
_NAME = b"dovetail live "  # the start of the title in every version
GROWTH = 8 << 20
"""Bytes of input after which a new snapshot replaces the file."""
BULKY = 1 << 10
"""Mean bytes per event above which the file may grow further: a few large events replay fast."""
BULK = 32 << 20
"""Bytes after which a file of large events is replaced."""
LONG = 1 << 14
"""Bytes from which a frame is written without being copied."""

_encode = msgspec.msgpack.Encoder().encode

Event = tuple[Any, ...]
"""``(now,)``: time passed.  ``(now, [address, *frames])``: frames came.  ``(now, address, None)``:
a connection was lost.  ``(now, None, None)``: the broker is stopping.  ``(now, None, access)``: the
access file changed."""


class Versioned(msgspec.Struct):
    """The field of the first record that all versions share."""

    version: str = ""


class Head(msgspec.Struct):
    """The first record: a snapshot, and all else that restoring the core takes."""

    version: str
    secret: bytes
    now: float
    records: int
    """The number of the journal's last record at that time."""
    journal: bytes
    """The identity of the journal."""
    state: bytes


_OTHER_VERSION = (
    "a different version of dovetail recorded them; "
    "start that version with %s renamed to %s to finish them"
)
_OTHER_JOURNAL = (
    "they belong to another journal; put that one back, with %s renamed to %s, to finish them"
)


class Absent:
    """The stand-in for a peer in the process that died."""

    reliable = True


def fresh(settings: Settings, secret: bytes, journal: Journal | None) -> Core:
    """Return a core with nothing in progress, but the states and numbers in the journal."""
    core = Core(settings, secret)
    core.broker.journalled = journal is not None
    if journal is not None:
        core.broker.states.update(journal.states)
        core.broker.keepers.update(journal.keepers)
        core.broker.shared.update(journal.shared)
        core.broker.next = journal.next
        core.broker.recorded[ALL] = journal.size
    return core


def replay(
    core: Core, events: Iterable[Event], known: Callable[[Any], Any]
) -> tuple[list[AnyRecord], float]:
    """Feed a core its logged input again; return its records and its last time. ``known`` returns
    the address that a logged one stands for."""
    intake = Intake(core)
    records: list[AnyRecord] = []
    now = 0.0
    for event in events:
        now = event[0]
        if len(event) == 1:
            core.tick(now)
        elif len(event) == 3:
            if event[1] is None and event[2] is None:
                core.stop(now)
            elif event[1] is None:
                core.allow(msgspec.convert(event[2], Access), now)
            else:
                core.lost(known(event[1]), now)
        else:
            address, *frames = event[1]
            intake.take(known(address), frames, now)
        records += core.take()[0]
    return records, now


class Live:
    """The write-ahead log beside a journal.  ``restore`` returns what was in progress when the last
    broker died; ``begin`` opens the file."""

    def __init__(self, journal: Journal) -> None:
        self.path = place(journal.path)
        self._spare = _spare(self.path)
        self.events: list[Event] = []
        """Input since the last ``flush``."""
        self._journal = journal
        self._sync: Sync = journal.sync
        self._addresses: dict[int, tuple[Any, str]] = {}
        self._file: AppendFile | None = None
        self._framing: Framing = new_framing(TITLE)
        self._number = self._size = self._events = 0
        self._limit = GROWTH

    def restore(self, settings: Settings) -> tuple[Core, bytes, float] | None:
        """Return the last broker's core, secret and time; None if it left none. Records that it
        decided and did not yet write to the journal are written now.

        Raises:
            OSError: the log cannot be read, or the journal cannot be written.
        """
        if not self.path.exists():
            return None
        head, events = self._read()
        if head is None:
            return None
        core = Core(settings, head.secret)
        core.broker.journalled = True
        absent: dict[str, Absent] = {}

        def known(address: Any) -> Any:
            if isinstance(address, bytes):
                return address
            return absent.setdefault(address, Absent())

        core.broker.states.update(self._journal.states_until(head.records))
        snapshot.read(head.state, core, known)
        records, now = replay(core, events, known)
        since = self._journal.number - head.records
        if since > len(records):
            text = "%s is older than its journal: the last %d records may be played again"
            log.warning(text, self.path, since - len(records))
        elif since < 0:
            log.warning("%s has lost its last %d records", self._journal.path, -since)
        self._journal.write(records[max(0, since) :])
        core.broker.next = max(core.broker.next, self._journal.next)
        core.broker.states.update(self._journal.states)
        core.broker.settings = settings
        now = max(now, head.now)
        core.restarted(now)
        self._journal.write(core.take()[0])
        return core, head.secret, now

    def _read(self) -> tuple[Head | None, list[Event]]:
        head: Head | None = None
        events: list[Event] = []
        with self.path.open("rb") as file:
            title = file.read(len(TITLE))
        if framing(self.path, TITLE) is None and title.startswith(_NAME) and title != TITLE:
            self._set_aside(_OTHER_VERSION)
            return head, events
        for each in scan(self.path, TITLE, over=True):
            if isinstance(each, Damage):
                if head is not None and not each.torn:
                    log.warning("%s is damaged at %s", self.path, each)
                break
            if head is not None:
                events += map(tuple, msgspec.msgpack.decode(each.data))
            elif msgspec.msgpack.decode(each.data, type=Versioned).version == version():
                head = msgspec.msgpack.decode(each.data, type=Head)
                if head.journal != self._journal.identity:  # its records would be missing, or twice
                    self._set_aside(_OTHER_JOURNAL)
                    return None, events
            else:
                self._set_aside(_OTHER_VERSION)
                return None, events
        if head is None:
            text = "%s is damaged: it has no whole snapshot, and the runs in progress end"
            log.warning(text, self.path)
        return head, events

    def _set_aside(self, why: str) -> None:
        """Rename the file, for the broker that it is for."""
        aside = self.path.with_name(self.path.name + ".old")
        self.path.replace(aside)
        log.warning("the runs in progress end: " + why, aside, self.path)

    def name(self, local: Any) -> str:
        """Return the name that is logged for a peer in this process."""
        return self._addresses.setdefault(id(local), (local, f"local {len(self._addresses)}"))[1]

    def begin(self, core: Core, secret: bytes, now: float) -> None:
        """Start the log afresh with a snapshot of a core whose output has been taken.  Raises
        DovetailError: the file is in use; OSError: it cannot be written, and the last one is
        intact."""
        names = {name: local for local, name in self._addresses.values()}
        state = snapshot.write(core, names)
        records, journal = self._journal.number, self._journal.identity
        head = Head(version(), secret, now, records, journal, state)
        framed = new_framing(TITLE)
        data = framed.head + framed.pack(1, msgspec.msgpack.encode(head))
        kind = MappedFile if hasattr(os, "posix_fallocate") else AppendFile
        file = kind(self._spare, b"", len(data), self._sync, over=True)
        try:
            file.begin(data)
            self._exchange()
        except OSError:
            file.close(force=False)
            raise
        if self._file is not None:
            self._file.close(force=False)
        self._file, self._framing = file, framed
        self.events.clear()
        self._number, self._size, self._events = 1, len(data), 0
        self._limit = len(data) + max(GROWTH, 4 * len(data))

    def _exchange(self) -> None:
        """Swap the file and the spare."""
        last = self.path.with_name(self.path.name + ".last")
        last.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it is the first, or the system has no second names
            os.link(self.path, last)
        self._spare.replace(self.path)
        if last.exists():
            last.replace(self._spare)

    def flush(self) -> None:
        """Log the input since the last call.

        Raises:
            OSError: the next call tries again.
        """
        assert self._file is not None
        number = self._number + 1
        if _is_long(self.events):
            parts = _in_parts(self.events)
            self._file.append(self._framing.before(number, parts), *parts)
            self._size += HEAD + sum(map(len, parts))
        else:
            data = self._framing.pack(number, _encode(self.events))
            self._file.append(data)
            self._size += len(data)
        self._number = number
        self._events += len(self.events)
        self.events.clear()

    def renew(self, core: Core, secret: bytes, now: float) -> None:
        """Take a snapshot as ``begin`` does; if it cannot be written, try again later."""
        try:
            self.begin(core, secret, now)
        except OSError as error:
            self._limit = self._size + GROWTH
            log.warning("cannot write a snapshot beside %s: %s", self.path, error.strerror)

    @property
    def full(self) -> bool:
        """True if it is time for a snapshot."""
        bulky = self._size > self._events * BULKY
        return self._size > max(self._limit, BULK if bulky else 0)

    def close(self, *, discard: bool) -> None:
        """Close the file; ``discard`` removes it when nothing is in progress."""
        if self._file is not None:
            self._file.close()
        if discard:
            for each in (self.path, self._spare):
                with contextlib.suppress(OSError):
                    each.unlink()


def _is_long(events: list[Event]) -> bool:
    """Return whether any event has a long frame."""
    for event in events:  # noqa: SIM110 - a generator would cost more than the rest
        if len(event) == 2 and max(map(len, event[1])) >= LONG:
            return True
    return False


def _in_parts(events: list[Event]) -> list[bytes]:
    """Return encoded events in parts, in which long frames are parts of their own, uncopied.
    msgspec copies whatever it encodes, so heads around a long frame are written here."""
    parts: list[bytes] = []
    some = bytearray(codec.array_head(len(events)))
    for event in events:
        if len(event) != 2:
            some += _encode(event)
            continue
        some += codec.array_head(2) + _encode(event[0]) + codec.array_head(len(event[1]))
        for each in event[1]:
            if len(each) < LONG:
                some += _encode(each)
                continue
            parts += [bytes(some) + b"\xc6" + len(each).to_bytes(4, "big"), each]
            some.clear()
    return [*parts, bytes(some)]


def live(journal: Journal, *, durable: bool) -> Live | None:
    """Return the write-ahead log beside a journal; None if the broker is not ``durable``.  A broker
    that is not removes the log of an earlier one: a later broker that restored it would mistake
    this one's records for those that the old state had decided.  Raises OSError."""
    if durable:
        return Live(journal)
    _spare(place(journal.path)).unlink(missing_ok=True)
    try:
        place(journal.path).unlink()
    except FileNotFoundError:
        return None
    log.warning("the runs that were in progress end: this broker is not durable (--no-durable)")
    return None


def place(journal: Path) -> Path:
    """Return the path of the write-ahead log beside a journal."""
    return journal.with_name(journal.name + ".live")


def _spare(path: Path) -> Path:
    """Return the path of the next snapshot."""
    return path.with_name(path.name + ".new")


def sources() -> list[Path]:
    """Return the source files that determine the state of a core."""
    folders = (Path(str(snapshot.__file__)).parents[1], Path(str(codec.__file__)).parent)
    return [source for folder in folders for source in sorted(folder.rglob("*.py"))]


@cache
def version() -> str:
    """Return a version of the state's format: a digest of the code that determines it."""
    digest = hashlib.sha256()
    for source in sources():
        digest.update(source.read_bytes())
    return f"{__version__} {digest.hexdigest()[:16]}"
