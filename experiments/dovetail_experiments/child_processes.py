"""Child processes that end with this one, and with all that they have started."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def ends_with_this(
    core: int | None = None, number: signal.Signals = signal.SIGTERM
) -> Callable[[], None] | None:
    """Return a ``preexec_fn`` for a child that ends with this process; None if there is none.

    Args:
        core: also keep the child on this core.
        number: the signal that ends it.
    """
    return None if _LIBC is None else functools.partial(_prepare, core, number)


def _prepare(core: int | None, number: signal.Signals) -> None:
    """Prepare a child of this process; called in the child before it starts."""
    assert _LIBC is not None
    _LIBC.prctl(_PR_SET_PDEATHSIG, number)
    if core is not None:
        os.sched_setaffinity(0, {core})


def end_group(process: subprocess.Popen[Any]) -> None:
    """Kill a program that leads a process group, with all that it started."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing, or zombies on macOS
        os.killpg(process.pid, signal.SIGKILL)
