"""Child processes that end when this process does, with all their own children."""

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
    """Return a ``preexec_fn`` that ends a child with this process; None where that is unsupported.

    Args:
        core: a core to pin the child to.
        number: the signal that ends it.
    """
    return None if _LIBC is None else functools.partial(_prepare, core, number)


def _prepare(core: int | None, number: signal.Signals) -> None:
    """Prepare a child process, in the child itself before its program starts."""
    assert _LIBC is not None
    _LIBC.prctl(_PR_SET_PDEATHSIG, number)
    if core is not None:
        os.sched_setaffinity(0, {core})


def end_group(process: subprocess.Popen[Any]) -> None:
    """Kill a program that leads a process group, with everything in the group."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing, or zombies on macOS
        os.killpg(process.pid, signal.SIGKILL)
