"""Starts conformers by forking a process that has imported what they need.

A kit starts a program for each case, about seventy a role; importing takes a conformer ten times as long
as its case.  ``Forked`` takes the place of ``subprocess.Popen`` in the kit.  A request to the process that
forks is one message with four descriptors: the program's streams, and a pipe for its number and its exit status.
"""

from __future__ import annotations

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

TOP = Path(__file__).resolve().parents[2]
LARGEST = 1 << 17
"""Bytes of a request."""


class Forker:
    """The process that forks; ``popen`` is what the kit calls."""

    def __init__(self) -> None:
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.conform.forking", str(other.fileno())],
                pass_fds=[other.fileno()],
                cwd=TOP,
                stdin=subprocess.DEVNULL,
            )

    def popen(self, command: Sequence[str], **more: Any) -> Forked:
        """Start ``conformer ROLE`` or ``wrong_client MISTAKE ROLE``."""
        return Forked(self._control, command, **more)

    def close(self) -> None:
        """End the process that forks."""
        self._control.close()
        self._process.wait()


class Forked:
    """A program; as much of ``subprocess.Popen`` as the kit uses."""

    def __init__(
        self,
        control: socket.socket,
        command: Sequence[str],
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: IO[bytes],
    ) -> None:
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self._told, status = os.pipe()
        theirs = [os.open(os.devnull, os.O_RDWR), os.open(os.devnull, os.O_RDWR), status]
        if stdin == subprocess.PIPE:
            os.close(theirs[0])
            theirs[0], ours = os.pipe()
            self.stdin = os.fdopen(ours, "wb", buffering=0)
        if stdout == subprocess.PIPE:
            os.close(theirs[1])
            ours, theirs[1] = os.pipe()
            self.stdout = os.fdopen(ours, "rb", buffering=0)
        request = json.dumps([list(command), dict(env)]).encode()
        socket.send_fds(control, [request], [*theirs[:2], stderr.fileno(), status])
        for each in theirs:
            os.close(each)
        self.pid = int(os.read(self._told, 20))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, negative for a signal; raise TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("forked", timeout or 0.0)
            self.returncode = int(os.read(self._told, 20))
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


# -- the process that forks ----------------------------------------------------------------------------


def _request(control: socket.socket) -> tuple[list[str], dict[str, str], list[int]] | None:
    data, descriptors, _, _ = socket.recv_fds(control, LARGEST, 4)
    if not data:
        return None
    command, env = json.loads(data)
    return command, env, descriptors


def _forked(control: socket.socket) -> list[str] | None:
    """Return the command in each program that is asked for, and nothing once no more will be."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers end unseen
    while (request := _request(control)) is not None:
        command, env, (stdin, stdout, stderr, status) = request
        if not os.fork():  # a keeper for each program: it waits for the end
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pid = os.fork()
            if not pid:
                os.close(status)
                for number, stream in enumerate((stdin, stdout, stderr)):
                    os.dup2(stream, number)
                    os.close(stream)
                os.environ.clear()
                os.environ.update(env)
                return command
            for stream in (stdin, stdout, stderr):
                os.close(stream)
            os.write(status, f"{pid}\n".encode())
            _, ended = os.waitpid(pid, 0)
            os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
            os._exit(0)
        for each in (stdin, stdout, stderr, status):
            os.close(each)
    return None


def main() -> int:
    """Import, fork, and in each program run what was asked for."""
    from tests.conform import conformer, wrong_client

    programs: dict[str, Callable[..., int]] = {
        "conformer": conformer.main,
        "wrong_client": wrong_client.main,
    }
    command = _forked(socket.socket(fileno=int(sys.argv[1])))
    return programs[command[0]](*command[1:]) if command else 0


if __name__ == "__main__":
    sys.exit(main())
