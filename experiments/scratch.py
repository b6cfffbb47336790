"""A temporary folder that does not outlive the process which made it by much, even if that is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

from dovetail.peer.locking import lock

PREFIX = "dovetail-"
LOCK = "lock"
"""The file in such a folder that is locked for as long as its process lives."""


class Scratch:
    """A new temporary folder; those whose processes were killed are removed first."""

    def __init__(self) -> None:
        for each in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
            _remove(each)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            try:
                self._held = lock(self.path / LOCK)
                return
            except (BlockingIOError, FileNotFoundError):
                continue  # another process took it for one that was left, and removes it

    def remove(self) -> None:
        """Remove it, with everything in it; once is enough."""
        if self._held >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._held)
            self._held = -1


def _remove(path: Path) -> None:
    """Remove the folder of a lock, if it is this user's and no process has the lock."""
    try:
        found = path.parent.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # another process has just removed it
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path.parent, ignore_errors=True)
    except OSError:
        pass  # in use
    finally:
        os.close(file)
