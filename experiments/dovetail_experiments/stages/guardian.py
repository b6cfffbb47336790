"""A guardian that kills this process's programs if the process itself is killed.

It is a shell that reads from a pipe whose only writer is this process, so on every system it
notices the process's death, whatever the cause.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import IO

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
