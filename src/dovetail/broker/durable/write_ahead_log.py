"""Work in progress on disk: a snapshot of the core, and all its input since.

The core is a function of what it takes in.  The shell writes that down before it sends what
follows from it, so a broker that is killed and started again reaches the same state, down to
the number of the last frame to each peer; for the peers it is as if their connections had broken.
The file is a ``logfile``: first a snapshot, then what each commit took in.  Two files take turns:
the next snapshot is written over the file before the last.  They are private: the secret in them is
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
from dovetail.broker.core.decode import Intake
from dovetail.broker.durable import snapshot
from dovetail.broker.durable.append_file import AppendFile, MappedFile, Sync
from dovetail.broker.durable.journal import Journal
from dovetail.broker.peers.access import Access
from dovetail.broker.peers.state import ALL
from dovetail.protocol import codec
from dovetail.protocol.journal import AnyRecord
from dovetail.protocol.logfile import Damage, Framing, framing, new_framing, scan

log = logging.getLogger("dovetail.broker")

TITLE = b"dovetail live 2\n"
_NAME = b"dovetail live "
"""The beginning of the title in every version."""
GROWTH = 8 << 20
"""Bytes after which a new snapshot takes the place of the old one and what followed it."""
BULKY = 1 << 10
"""With a mean event of more bytes the file may grow longer: few events are soon replayed."""
BULK = 32 << 20
"""Bytes after which a file of bulky events is replaced."""

_encode = msgspec.msgpack.Encoder().encode

Event = tuple[Any, ...]
"""``(now,)``: the time passed.  ``(now, parts)``: a connection and its frames.  ``(now, address,
None)``: a connection was lost.  ``(now, None, None)``: the broker stops.  ``(now, None,
access)``: the access file has changed."""


class Versioned(msgspec.Struct):
    """The part of the first record that all versions share."""

    version: str = ""


class Head(Versioned, kw_only=True):
    """The first record: a snapshot, and everything else needed to restore the core."""

    secret: bytes
    now: float
    records: int
    """The number of the last record in the journal at that time."""
    state: bytes


class Absent:
    """Stands for a peer in the program that ended."""

    reliable = True


def fresh(settings: Settings, secret: bytes, journal: Journal | None) -> Core:
    """Return a core in which nothing is in progress yet.

    Args:
        settings: of the broker.
        secret: from which it makes session tokens.
        journal: whose states it knows, and whose numbers it does not use again.
    """
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
    """Feed a core its earlier input again; return its records and the last time.

    Args:
        core: as it was before the first of the events.
        events: in order.
        known: returns the address that stands for one in an event.
    """
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
    """The file of work in progress, beside a journal.

    Args:
        journal: whose runs these are.

    ``restore`` returns what was in progress when the last broker ended; ``begin`` opens the file.
    """

    def __init__(self, journal: Journal) -> None:
        self.path = place(journal.path)
        self._spare = _spare(self.path)
        self.events: list[Event] = []
        """The core's input since the last ``flush``."""
        self._journal = journal
        self._sync: Sync = journal.sync
        self._addresses: dict[int, tuple[Any, str]] = {}
        self._file: AppendFile | None = None
        self._framing: Framing = new_framing(TITLE)
        self._number = self._size = self._events = 0
        self._limit = GROWTH

    # -- to continue -----------------------------------------------------------------------------

    def restore(self, settings: Settings) -> tuple[Core, bytes, float] | None:
        """Return the core that the last broker had, its secret and its time; None if there is none.

        What it had decided and not yet written to the journal is written now.

        Args:
            settings: of this broker.

        Raises:
            OSError: the file cannot be read, or the journal not be written.
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
        self._journal.write(records[max(0, self._journal.number - head.records) :])
        core.broker.states.update(self._journal.states)
        core.broker.settings = settings
        now = max(now, head.now)
        core.restarted(now)
        self._journal.write(core.take()[0])
        return core, head.secret, now

    def _read(self) -> tuple[Head | None, list[Event]]:
        head: Head | None = None
        events: list[Event] = []
        if framing(self.path, TITLE) is None and self._titled():
            self._set_aside()
            return head, events
        for each in scan(self.path, TITLE, over=True):
            if isinstance(each, Damage):
                if not each.torn:
                    log.warning("%s is damaged at %s", self.path, each)
                break
            if head is not None:
                events += map(tuple, msgspec.msgpack.decode(each.data))
            elif msgspec.msgpack.decode(each.data, type=Versioned).version == version():
                head = msgspec.msgpack.decode(each.data, type=Head)
            else:
                self._set_aside()
                break
        return head, events

    def _titled(self) -> bool:
        with self.path.open("rb") as file:
            return file.read(len(_NAME)) == _NAME

    def _set_aside(self) -> None:
        """Keep the file for the version that wrote it."""
        aside = self.path.with_name(self.path.name + ".old")
        self.path.replace(aside)
        log.warning(
            "the runs in progress end: a different version of dovetail recorded them; "
            "start that version with %s renamed to %s to finish them",
            *(aside, self.path),
        )

    # -- to write --------------------------------------------------------------------------------

    def name(self, local: Any) -> str:
        """Return what stands in the file for a peer in this program."""
        known = self._addresses.get(id(local))
        if known is None:
            known = self._addresses[id(local)] = local, f"local {len(self._addresses)}"
        return known[1]

    def begin(self, core: Core, secret: bytes, now: float) -> None:
        """Take a snapshot in the place of the one before and of all that followed it.

        Args:
            core: which has nothing left to say.
            secret: from which it makes session tokens.
            now: its time.

        Raises:
            DovetailError: another broker uses the file.
            OSError: it cannot be written; the file before is as it was.
        """
        names = {name: local for local, name in self._addresses.values()}
        state = snapshot.write(core, names)
        number = self._journal.number
        head = Head(version=version(), secret=secret, now=now, records=number, state=state)
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
        """Put the spare file in the place of the other, and keep that one as the spare."""
        last = self.path.with_name(self.path.name + ".last")
        last.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it is the first, or the system has no second names
            os.link(self.path, last)
        self._spare.replace(self.path)
        if last.exists():
            last.replace(self._spare)

    def flush(self) -> None:
        """Write down what the core took in.

        Raises:
            OSError: the disk refuses; the next call tries again.
        """
        assert self._file is not None
        data = self._framing.pack(self._number + 1, _encode(self.events))
        self._file.append(data)
        self._number += 1
        self._size += len(data)
        self._events += len(self.events)
        self.events.clear()

    def renew(self, core: Core, secret: bytes, now: float) -> None:
        """Take a snapshot like ``begin``; if it cannot be written, try again later."""
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
        """Close the file; ``discard`` removes it, since nothing is in progress any more."""
        if self._file is not None:
            self._file.close()
        if discard:
            for each in (self.path, self._spare):
                with contextlib.suppress(OSError):
                    each.unlink()


def live(journal: Journal, *, durable: bool) -> Live | None:
    """Return the file of what is in progress beside a journal; None for a broker that keeps none.

    Such a broker ends what an earlier one left in progress: a later broker that brought the old
    state back would take the records of this one for what that state had decided.

    Raises:
        OSError: the file cannot be removed.
    """
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
    """Return where a broker keeps what is in progress, beside its journal."""
    return journal.with_name(journal.name + ".live")


def _spare(path: Path) -> Path:
    """Return where the next snapshot is written."""
    return path.with_name(path.name + ".new")


def sources() -> list[Path]:
    """Return the files of the code that makes the state of a core."""
    folders = (Path(str(snapshot.__file__)).parents[1], Path(str(codec.__file__)).parent)
    return [source for folder in folders for source in sorted(folder.rglob("*.py"))]


@cache
def version() -> str:
    """Return what the state of a core depends on: the code that makes it."""
    digest = hashlib.sha256()
    for source in sources():
        digest.update(source.read_bytes())
    return f"{__version__} {digest.hexdigest()[:16]}"
