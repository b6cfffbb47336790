"""Files that one process at a time may have, until it ends for whatever reason."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def lock(path: Path, mode: int = 0o644) -> int:
    """Open a file that only one process at a time may have, and make it if needed; return its descriptor.

    Raises:
        BlockingIOError: another process has it.
        OSError: it cannot be opened.
    """
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        except OSError:
            os.close(file)
            raise
        os.close(file)  # another process replaced it in between
