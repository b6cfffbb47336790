"""A child process that answers lines of JSON, with a limit on its time and its answers."""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

from dovetail.protocol.errors import DovetailError

log = logging.getLogger("dovetail.kaggle")

LONGEST = 1 << 16
"""Bytes of an answer at most."""


class Child:
    """A program in a process group of its own.

    Args:
        command: the program and its arguments.
        name: how errors and the log call it.
    """

    def __init__(self, command: Sequence[str], name: str) -> None:
        self.name = name
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._rest = b""
        assert self._process.stderr is not None
        threading.Thread(target=self._log, args=(self._process.stderr,), daemon=True).start()

    def _log(self, lines: IO[bytes]) -> None:
        with lines:
            for line in lines:
                log.warning("%s: %s", self.name, line.decode("utf-8", "replace").rstrip()[:500])

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, message: Any, timeout: float | None) -> Any:
        """Send a message; return what the program answers.

        Raises:
            DovetailError: the program reports an error, has ended, or does not answer in time; after the
                last two it is gone.
        """
        process = self._process
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            line = self._line(timeout)
        except (BrokenPipeError, EOFError):
            self.close()
            raise DovetailError(f"{self.name} has ended{self._status()}") from None
        except TimeoutError:
            self.close()
            raise DovetailError(f"{self.name} did not answer within {timeout:g} s") from None
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not answer.keys() & {"ok", "error"}:
            self.close()
            raise DovetailError(f"{self.name} answered {line[:60]!r}, which is not an answer")
        if "error" in answer:
            raise DovetailError(f"{self.name} raised {answer['error']}")
        return answer["ok"]

    def _line(self, timeout: float | None) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        end = None if timeout is None else time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                left = None if end is None else end - time.monotonic()
                if (left is not None and left <= 0) or not selector.select(left):
                    raise TimeoutError
                came = os.read(stdout.fileno(), LONGEST)
                if not came or len(self._rest) + len(came) > 2 * LONGEST:
                    raise EOFError
                self._rest += came
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _status(self) -> str:
        code = self._process.poll()
        if code is None or code == -signal.SIGKILL:
            return ""
        return f" by signal {-code}" if code < 0 else f" with code {code}"

    def close(self) -> None:
        """End the program and everything that it has started."""
        process = self._process
        with suppress(subprocess.TimeoutExpired):
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.close()
            process.wait(0.2)
        with suppress(ProcessLookupError):  # children may outlive it
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
