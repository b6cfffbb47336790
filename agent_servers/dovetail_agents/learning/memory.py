"""Refuse more memory than this machine has free, before the system ends the program.

An experiment chooses options, and a game the size of its boards; neither knows the machine on which
an agent computes.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from pathlib import Path

from dovetail.protocol.errors import DovetailError

MIB = 1 << 20
SMALL = 16 * MIB
"""Bytes that are not worth a look at the machine."""
RESERVE = 256 * MIB
"""Bytes that are left to other programs."""
_SYSTEM = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def available() -> float:
    """Return the bytes that this program may still take; infinite where the system does not say.

    Pages that are cached from files count as available.
    """
    found = math.inf
    with suppress(OSError, ValueError):
        figure = re.search(r"^MemAvailable:\s+(\d+) kB", _SYSTEM.read_text(), re.MULTILINE)
        if figure is not None:
            found = 1024 * int(figure[1])
    with suppress(OSError, ValueError):  # "max" says that there is no limit
        most = int((_GROUP / "memory.max").read_text())
        used = int((_GROUP / "memory.current").read_text())
        cached = re.search(
            r"^inactive_file (\d+)", (_GROUP / "memory.stat").read_text(), re.MULTILINE
        )
        found = min(found, most - used + (int(cached[1]) if cached else 0))
    return found


def room(needed: int, what: str) -> None:
    """Check that memory of this size can be taken.

    Args:
        needed: the number of bytes.
        what: its purpose, which begins the error.

    Raises:
        DovetailError: this machine has less.
    """
    if needed <= SMALL:
        return
    free = available()
    if needed + RESERVE > free:
        raise DovetailError(
            f"{what} would take {-(-needed // MIB):,} MiB, and {max(0, int(free)) // MIB:,} MiB "
            "are free here; choose a smaller size, or a machine with more memory"
        )
