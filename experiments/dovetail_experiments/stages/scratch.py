"""Temporary folders that are removed soon after their process ends, even if it was killed."""

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
"""File in such a folder that its process keeps locked."""


class Scratch:
    """A new temporary folder; folders of killed processes are removed first."""

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
                continue  # another process took it for abandoned and is removing it

    def remove(self) -> None:
        """Remove the folder with its contents; do nothing if called again or in a forked child."""
        if self._held >= 0 and self._owner.here:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._held)
            self._held = -1


def _remove(path: Path) -> None:
    """Remove the folder of a lock if it belongs to this user and no process holds the lock."""
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
