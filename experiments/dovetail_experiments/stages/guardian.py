"""A guardian: kills the programs of this process if it is killed and cannot do so itself.

It is a shell that reads a pipe of which this process alone has the other end, so that it learns of
its death on every system, however it came.
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
"""Programs have a second between SIGTERM and SIGKILL, for what they have started themselves."""


class Guardian:
    """Guards process groups; where there is no shell, it guards none."""

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
                start_new_session=True,  # Ctrl-C at the terminal is not for it
            )

    def guard(self, group: int) -> None:
        """Kill a process group, too, if this process is killed."""
        self._say(f"guard {group}")

    def leave(self, group: int) -> None:
        """Forget a process group, whose number may be another's soon."""
        self._say(f"leave {group}")

    def end(self) -> None:
        """End it without harm to anyone; once is enough."""
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
