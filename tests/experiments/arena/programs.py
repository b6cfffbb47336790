"""Programs of an arena's tests: the command line in a folder, and waiting for what it does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOVETAIL = [sys.executable, "-m", "dovetail"]


class Programs:
    """Programs in a folder; those that still run at the end are killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[str]] = []
        self._env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        for name in [each for each in self._env if each.startswith("DOVETAIL_")]:
            del self._env[name]

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """Start ``dovetail`` and wait for its first line, unless it ends."""
        process = subprocess.Popen(
            [*DOVETAIL, *words],
            cwd=self.folder,
            env={**self._env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def run(self, *words: str, code: int = 0, **env: str) -> str:
        done = subprocess.run(
            [*DOVETAIL, *words],
            cwd=self.folder,
            env={**self._env, **env},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def invited(self, name: str, *words: str) -> dict[str, str]:
        """Invite an entrant, and paste the line into a shell; return the variables that it sets."""
        line = self.run("arena", "invite", name, *words)
        assert line.count("\n") == 1, line
        shell = ["sh", "-ec", f"{line}env"]
        done = subprocess.run(shell, cwd=self.folder, env=self._env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = [each.partition("=") for each in done.stdout.splitlines()]
        return {key: value for key, _, value in found if key.startswith("DOVETAIL_")}

    def end(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.communicate()


def port() -> int:
    """Return a port that is free now; an arena that is started again needs the same one."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def until(what: Callable[[], Any], seconds: float = 100.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "this did not happen in time"
        time.sleep(0.05)
    return found
