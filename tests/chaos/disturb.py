"""Slow disks, full disks and clocks that jump, for one program: a library in C that is loaded
before the system's.

``disturb.c`` says what it does.  It needs Linux and a C compiler.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("disturb.c")
VARIABLE = "DOVETAIL_DISTURB"
_ORDERS = struct.Struct("=3q")
_COUNTS = struct.Struct("=3q")


def lacking() -> str:
    """Return why programs cannot be disturbed here; empty if they can."""
    if not sys.platform.startswith("linux"):
        return f"they need Linux; this is {sys.platform}"
    if shutil.which("cc") is None:
        return "they need a C compiler; install one that is called cc"
    return ""


class Disturbance:
    """The events to come for the programs that run with ``environment``.

    Args:
        folder: for the library and the file with the orders.

    Raises:
        subprocess.CalledProcessError: the library cannot be compiled.
    """

    def __init__(self, folder: Path) -> None:
        self.library = folder / "disturb.so"
        command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(self.library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        path = folder / "disturb.orders"
        path.write_bytes(bytes(_ORDERS.size + _COUNTS.size))
        self.environment = {"LD_PRELOAD": str(self.library), VARIABLE: str(path)}
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._shift = 0.0

    def disk(self, *, delay: float = 0.0, full: bool = False) -> None:
        """Have each call that writes take ``delay`` seconds longer, or fail, from now on."""
        self._order(delay, full)

    def jump(self, seconds: float) -> None:
        """Set the clock forward, or back if ``seconds`` is negative."""
        self._shift += seconds
        self._order(0.0, False)

    def _order(self, delay: float, full: bool) -> None:
        _ORDERS.pack_into(self._map, 0, int(self._shift * 1e9), int(delay * 1e9), full)

    @property
    def happened(self) -> tuple[int, int, int]:
        """How often the clock was read wrong, a call was slow, and the disk was full."""
        shifted, delayed, refused = _COUNTS.unpack_from(self._map, _ORDERS.size)
        return shifted, delayed, refused
