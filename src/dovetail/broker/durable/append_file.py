"""Append-only files that survive a crash.

A write counts once it is in the page cache; syncing it to the device guards against power loss.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from pathlib import Path
from typing import Literal

from dovetail.peer import locking
from dovetail.protocol.errors import DovetailError

Sync = Literal["none", "batch", "always"]
"""When writes are synced to the device: ``none`` leaves it to the system, which survives a crash of
the broker but not a power failure; ``batch`` is within ``BATCH`` seconds; ``always`` is before any
peer is told."""
BATCH = 1.0
"""Maximum seconds of data that a power failure can cost with ``batch``."""
VECTORS = 1 << 10
"""Parts written by one system call at most."""


class AppendFile:
    """An append-only file.  A failed write is cut off, and repeated from where it began.

    Args:
        path: its place.
        title: the first bytes of a new file.
        end: the offset of the next write.
        sync: when to sync to the device.
        mode: its permission bits.
        locked: its descriptor from ``lock``, which the object then owns; None locks the file.
        over: True to overwrite what follows ``end`` instead of truncating: the system copies into
            old pages faster than it allocates new ones.

    Raises:
        DovetailError: another process is writing the file.
        OSError: it cannot be written.
    """

    def __init__(
        self,
        path: Path,
        title: bytes,
        end: int,
        sync: Sync,
        *,
        mode: int = 0o600,
        locked: int | None = None,
        over: bool = False,
    ) -> None:
        self.path = path
        self.sync = sync
        self._file = lock(path, mode) if locked is None else locked
        try:
            self._end = end
            if not over:
                os.ftruncate(self._file, end)
            if end == 0:
                self._put(title)
        except OSError:
            self._cut()
            os.close(self._file)
            raise
        self._dirty = threading.Event()
        self._closed = threading.Event()
        self._forcing: threading.Thread | None = None
        if sync == "batch":
            self._forcing = threading.Thread(target=self._force, name="journal", daemon=True)
            self._forcing.start()

    def append(self, *parts: bytes) -> None:
        """Append data, given in parts.

        Raises:
            OSError: no part was written.
        """
        begun = self._end
        try:
            self._put(*parts)
            if self.sync == "always":
                os.fdatasync(self._file)
        except OSError:
            self._end = begun  # it will be written again, and must not be there twice
            self._cut()
            raise
        if self.sync == "batch":
            self._dirty.set()

    def _put(self, *parts: bytes) -> None:
        if len(parts) > 1 and hasattr(os, "pwritev"):
            for at in range(0, len(parts), VECTORS):
                some = parts[at : at + VECTORS]
                written = os.pwritev(self._file, some, self._end)
                self._end += written
                if written < sum(map(len, some)):
                    self._put(b"".join(some)[written:])
            return
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        written = os.pwrite(self._file, data, self._end)
        while written < len(data):
            more = os.pwrite(self._file, memoryview(data)[written:], self._end + written)
            written += more
        self._end += written

    def _cut(self) -> None:
        """Remove what a failed write left behind, so that no reader meets half a record."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, self._end)

    def _force(self) -> None:
        while True:
            self._dirty.wait()
            if self._closed.is_set():
                return
            self._dirty.clear()
            with contextlib.suppress(OSError):
                os.fdatasync(self._file)
            self._closed.wait(BATCH / 2)

    def begin(self, data: bytes) -> None:
        """Write at offset 0, and sync only that to the device.  Raises OSError."""
        forced = os.open(self.path, os.O_WRONLY | getattr(os, "O_DSYNC", 0))
        try:
            written = 0
            while written < len(data):
                written += os.write(forced, memoryview(data)[written:])
        finally:
            os.close(forced)

    def force(self) -> None:
        """Sync everything to the device.

        Raises:
            OSError: it refuses.
        """
        os.fsync(self._file)

    def close(self, *, force: bool = True) -> None:
        """Close the file, by default after syncing it to the device."""
        self._closed.set()
        self._dirty.set()
        if self._forcing is not None:  # a call under way would keep the file locked beyond its end
            self._forcing.join()
        with contextlib.suppress(OSError):
            if force:
                self.force()
        os.close(self._file)


class MappedFile(AppendFile):
    """An ``AppendFile`` that is memory-mapped, so that small writes need no system call.  Disk
    space is reserved before it is written to, so that a full disk raises an error and sends no
    signal.  Reserved bytes are zeros until they are used; a ``logfile`` may end with zeros."""

    ROOM = 1 << 17
    """Maximum bytes reserved beyond a write; a reservation takes about 90 us."""
    LARGE = 1 << 12
    """From this size a system call is cheaper than the page faults of mapped memory."""
    HUGE = 1 << 14
    """From this size reserving costs as much as writing, which notices a full disk, too."""

    def __init__(
        self,
        path: Path,
        title: bytes,
        end: int,
        sync: Sync,
        *,
        mode: int = 0o600,
        over: bool = False,
    ) -> None:
        self._map: mmap.mmap | None = None
        self._start = self._room = 0  # the range of the file that is mapped
        self._huge = False  # True if the last write was huge, and so beyond any reservation
        super().__init__(path, title, end, sync, mode=mode, over=over)

    def _put(self, *parts: bytes) -> None:
        size = len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
        end = self._end + size
        if size >= self.HUGE or (self._huge and end > self._room):
            self._huge = size >= self.HUGE
            super()._put(*parts)
            return
        self._huge = False
        if end > self._room or self._map is None:
            self._reserve(end)
            assert self._map is not None
        if size >= self.LARGE:
            super()._put(*parts)
            return
        self._map[self._end - self._start : end - self._start] = b"".join(parts)
        self._end = end

    def _reserve(self, end: int) -> None:
        start = self._end - self._end % mmap.ALLOCATIONGRANULARITY
        room = end - end % self.ROOM + self.ROOM
        os.posix_fallocate(self._file, start, room - start)
        self._unmap()
        self._map = mmap.mmap(self._file, room - start, offset=start)
        self._start, self._room = start, room

    def _cut(self) -> None:
        self._unmap()  # what is mapped must not be beyond the end of the file
        super()._cut()

    def _unmap(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None

    def close(self, *, force: bool = True) -> None:
        """Close the file, by default after syncing it to the device."""
        if self._map is not None:
            self._unmap()
            if force:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._end)
        super().close(force=force)


class InUse(DovetailError):
    """Another process is writing the journal at ``path``."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the journal {path} is in use by another broker; choose another with --journal"
        )
        self.path = path


def lock(path: Path, mode: int = 0o600) -> int:
    """Open a file for exclusive writing; return its descriptor.

    Raises:
        InUse: another process has it open.
        OSError: it cannot be opened.
    """
    try:
        return locking.lock(path, mode)
    except BlockingIOError:
        raise InUse(path) from None
