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
from typing import IO, Any

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


SCRIPT = """
groups=
while read -r word group; do
  case $word in
    guard) groups="$groups $group " ;;
    leave) groups="${groups%% $group *} ${groups#* $group }" ;;
    done) exit 0 ;;
  esac
done
for group in $groups; do kill -TERM "-$group"; done 2>/dev/null
sleep 1
for group in $groups; do kill -KILL "-$group"; done 2>/dev/null
"""
"""The guardian; programs get a second between SIGTERM and SIGKILL to stop their children."""


class Guardian:
    """Guards process groups; without a shell it does nothing."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if os.name != "posix":
            return
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # shield it from Ctrl-C at the terminal
            )

    def guard(self, group: int) -> None:
        """Add a process group to kill if this process is killed."""
        self._say(f"guard {group}")

    def leave(self, group: int) -> None:
        """Remove a process group, whose number may soon be reused."""
        self._say(f"leave {group}")

    def end(self) -> None:
        """Stop the guardian without killing anything; calling it again is harmless."""
        if self._process is None:
            return
        self._say("done")
        with contextlib.suppress(OSError):
            self._pipe.close()
        self._process.wait()
        self._process = None

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin

    def _say(self, line: str) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):  # it was killed
                self._pipe.write(line.encode() + b"\n")
                self._pipe.flush()
