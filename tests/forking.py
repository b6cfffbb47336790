"""Starts Python programs by forking a process that has imported what they need.

Importing takes most programs of the tests longer than what they are started for; a kit starts about
seventy. ``Forked`` takes the place of ``subprocess.Popen``.  A request to the process that forks is
one message with four descriptors: the program's streams, and a pipe for its number and its exit
status.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

TOP = Path(__file__).resolve().parents[1]
LARGEST = 1 << 17
"""Bytes of a request."""
NUMBER = 12
"""Bytes of a number of a process, and of an exit status."""


class Forker:
    """The process that forks.

    Args:
        module: with ``PROGRAMS``, functions by name; imported once.
        environment: variables for the process that forks.
    """

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forking", str(other.fileno()), module],
                pass_fds=[other.fileno()],
                cwd=TOP,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
            )

    def popen(self, command: Sequence[str], **more: Any) -> Forked:
        """Start a program: its name and its arguments, and options as of ``subprocess.Popen``."""
        return Forked(self._control, command, **more)

    def close(self) -> None:
        """End the process that forks."""
        self._control.close()
        self._process.wait()


class Forked:
    """A program; as much of ``subprocess.Popen`` as the tests use."""

    def __init__(
        self,
        control: socket.socket,
        command: Sequence[str],
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int | IO[bytes],
        cwd: Path | None = None,
        text: bool = False,
    ) -> None:
        self.stdin: IO[Any] | None = None
        self.stdout: IO[Any] | None = None
        self.stderr: IO[Any] | None = None
        self._told, status = os.pipe()
        theirs = [status]
        for name, wanted in (("stdin", stdin), ("stdout", stdout), ("stderr", stderr)):
            if wanted == subprocess.PIPE:
                reading, writing = os.pipe()
                if name == "stdin":
                    self.stdin = os.fdopen(writing, "wb", buffering=0)
                    theirs.append(reading)
                else:
                    stream = os.fdopen(reading) if text else os.fdopen(reading, "rb", buffering=0)
                    setattr(self, name, stream)
                    theirs.append(writing)
            elif wanted == subprocess.STDOUT:
                theirs.append(os.dup(theirs[-1]))
            elif isinstance(wanted, int):
                theirs.append(os.open(os.devnull, os.O_RDWR))
            else:
                theirs.append(os.dup(wanted.fileno()))
        request = json.dumps([list(command), str(cwd or Path.cwd()), dict(env)]).encode()
        socket.send_fds(control, [request], theirs)
        for each in theirs:
            os.close(each)
        self.pid = int(os.read(self._told, NUMBER))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, negative for a signal; raise TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("forked", timeout or 0.0)
            self.returncode = int(os.read(self._told, NUMBER))
            os.close(self._told)
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit status, or None while the program runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Send a signal, if the program still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


# -- the process that forks ------------------------------------------------------------------------


def _forked(control: socket.socket) -> list[str] | None:
    """Return the command in each program that is asked for, and nothing once no more will be."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers end unseen
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, LARGEST, 4)
        if not request:
            return None
        command: list[str]
        command, folder, env = json.loads(request)
        status, *streams = descriptors
        if not os.fork():  # a keeper for each program: it waits for the end
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pid = os.fork()
            if not pid:
                os.close(status)
                for number, stream in enumerate(streams):
                    os.dup2(stream, number)
                    os.close(stream)
                os.chdir(folder)
                os.environ.clear()
                os.environ.update(env)
                return command
            for stream in streams:
                os.close(stream)
            os.write(status, b"%*d" % (NUMBER, pid))
            _, ended = os.waitpid(pid, 0)
            os.write(status, b"%*d" % (NUMBER, os.waitstatus_to_exitcode(ended)))
            os._exit(0)
        for each in descriptors:
            os.close(each)


def main() -> int:
    """Import, fork, and in each program run what was asked for."""
    _, control, module = sys.argv
    programs: dict[str, Callable[..., int]] = importlib.import_module(module).PROGRAMS
    command = _forked(socket.socket(fileno=int(control)))
    return programs[command[0]](*command[1:]) if command else 0


if __name__ == "__main__":
    sys.exit(main())
