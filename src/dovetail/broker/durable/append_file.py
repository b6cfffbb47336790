"""Append-only files that survive a crash.

A write counts once it is in the page cache; forcing it to the device guards against power loss.
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
"""When what is written is forced to the device: whenever the system likes, which survives the death
of the broker but not a loss of power; within ``BATCH`` seconds; before any peer is told of it."""
BATCH = 1.0
"""Maximum seconds of data that a power failure may cost with ``batch``."""


class AppendFile:
    """An append-only file.  A failed write is cut off and repeated from where it began.

    Args:
        path: of the file.
        title: what it begins with if it is new.
        end: where the next write goes.
        sync: see ``Sync``.
        mode: who may read it.
        locked: its descriptor from ``lock``, which it closes; None locks it.
        over: False to cut off what is beyond the end; True to write over it, since the system gives
            and takes back the memory of a new file more slowly than it copies into an old one.

    Raises:
        DovetailError: another process writes this file.
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

    def append(self, data: bytes) -> None:
        """Write at the end.

        Raises:
            OSError: the write failed; no part of ``data`` counts as written.
        """
        begun = self._end
        try:
            self._put(data)
            if self.sync == "always":
                os.fdatasync(self._file)
        except OSError:
            self._end = begun  # it will be written again, and must not be there twice
            self._cut()
            raise
        if self.sync == "batch":
            self._dirty.set()

    def _put(self, data: bytes) -> None:
        written = os.pwrite(self._file, data, self._end)
        while written < len(data):
            more = os.pwrite(self._file, memoryview(data)[written:], self._end + written)
            written += more
        self._end += written

    def _cut(self) -> None:
        """Remove what a failed write has left behind, so that no reader finds a part of it."""
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
        """Write where the file begins, and force that alone to the device.

        Raises:
            OSError: the disk refuses.
        """
        forced = os.open(self.path, os.O_WRONLY | getattr(os, "O_DSYNC", 0))
        try:
            written = 0
            while written < len(data):
                written += os.write(forced, memoryview(data)[written:])
        finally:
            os.close(forced)

    def force(self) -> None:
        """Force everything to the device.

        Raises:
            OSError: it refuses.
        """
        os.fsync(self._file)

    def close(self, *, force: bool = True) -> None:
        """Force everything to the device, unless it is of no use any more, and close."""
        self._closed.set()
        self._dirty.set()
        if self._forcing is not None:  # a call under way would keep the file locked beyond its end
            self._forcing.join()
        with contextlib.suppress(OSError):
            if force:
                self.force()
        os.close(self._file)


class MappedFile(AppendFile):
    """An ``AppendFile`` that is memory-mapped, so that small writes need no system call.

    Room is reserved on the disk before it is written to, so that a full disk is an error and no
    signal.  What is reserved and not used yet is zeros, which a ``logfile`` may end with.
    """

    ROOM = 1 << 17
    """Bytes reserved beyond a write, at most; a reservation costs some 90 us."""
    LARGE = 1 << 12
    """From this size a system call is cheaper than memory, which faults on each new page."""
    HUGE = 1 << 16
    """From this size the reservation would cost as much as the write, which says the same."""

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
        self._start = self._room = 0
        """The part of the file that is mapped."""
        self._huge = False
        """True if the last write was huge: the next will be beyond all room, too."""
        super().__init__(path, title, end, sync, mode=mode, over=over)

    def _put(self, data: bytes) -> None:
        end = self._end + len(data)
        if len(data) >= self.HUGE or (self._huge and end > self._room):
            self._huge = len(data) >= self.HUGE
            super()._put(data)
            return
        self._huge = False
        if end > self._room or self._map is None:
            self._reserve(end)
            assert self._map is not None
        if len(data) >= self.LARGE:
            super()._put(data)
            return
        self._map[self._end - self._start : end - self._start] = data
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
        """Force everything to the device, unless it is of no use any more, and close."""
        if self._map is not None:
            self._unmap()
            if force:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._end)
        super().close(force=force)


class InUse(DovetailError):
    """The journal at ``path`` is being written by another process."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the journal {path} is in use by another broker; choose another with --journal"
        )
        self.path = path


def lock(path: Path, mode: int = 0o600) -> int:
    """Open a file that only one process at a time may write; return its descriptor.

    Raises:
        InUse: another process has it.
        OSError: it cannot be opened.
    """
    try:
        return locking.lock(path, mode)
    except BlockingIOError:
        raise InUse(path) from None
