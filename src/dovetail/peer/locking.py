"""Exclusive file locks, which the system releases when their process ends for any reason."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    try:
        import fcntl
    except ImportError:  # WebAssembly
        fcntl = None  # type: ignore[assignment]

PLACE = (1 << 31) - 2
"""The byte that is locked on Windows, far beyond the content: a locked byte cannot be read."""
HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
OPENED = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""The flags for opening a file to lock."""


def take(file: int) -> None:
    """Lock an open file, without waiting.

    Raises:
        BlockingIOError: another process has locked it.
        OSError: the system has no such locks.
    """
    if sys.platform == "win32":
        place = os.lseek(file, 0, os.SEEK_CUR)
        os.lseek(file, PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in HELD:
                raise BlockingIOError(error.errno, error.strerror) from None
            raise
        finally:
            os.lseek(file, place, os.SEEK_SET)
    elif fcntl is None:
        raise OSError(errno.ENOLCK, "this system cannot lock files")
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(path: Path, mode: int = 0o644) -> int:
    """Open or create a file and lock it exclusively; return its descriptor.

    Raises:
        BlockingIOError: another process has locked it.
        OSError: it cannot be opened.
    """
    while True:
        file = os.open(path, OPENED | os.O_CREAT, mode)
        try:
            take(file)
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        except OSError:
            os.close(file)
            raise
        os.close(file)  # another process replaced it in between
