"""A temporary folder that does not outlive the process which made it by much, even if that is
killed."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from dovetail.peer.locking import OPENED, lock, take
from dovetail.transport.process_owner import Owner

PREFIX = "dovetail-"
LOCK = "lock"
"""The file in such a folder that is locked for as long as its process lives."""


class Scratch:
    """A new temporary folder; those whose processes were killed are removed first."""

    def __init__(self) -> None:
        self._owner = Owner()
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
        """Remove it, with everything in it; once is enough.  In a forked child nothing happens."""
        if self._held >= 0 and self._owner.here:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._held)
            self._held = -1


def _remove(path: Path) -> None:
    """Remove the folder of a lock, if it is this user's and no process has the lock."""
    try:
        found = path.parent.lstat()
        mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if not stat.S_ISDIR(found.st_mode) or not mine:
            return
        file = os.open(path, OPENED | getattr(os, "O_NOFOLLOW", 0))
    except OSError:  # another process has just removed it
        return
    try:
        take(file)
        shutil.rmtree(path.parent, ignore_errors=True)
    except OSError:
        pass  # in use
    finally:
        os.close(file)
