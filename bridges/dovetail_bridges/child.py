"""A child process with a line protocol, shared by game engines and Kaggle's agent files."""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail.transport.process_owner import Owner
from dovetail_experiments.child_processes import end_group, ends_with_this

LONGEST = 1 << 16
"""Maximum bytes of a line from it."""
GOODBYE = 1.0
"""Seconds for it to exit by itself."""


class Child:
    """A program in its own process group.  Every wait times out, even if the program stops reading.

    Args:
        words: the words of its command.
        name: its name in errors and the log.
        note: called with a format, the name and each line of its standard error.
        farewell: the line that asks it to exit.

    Raises:
        DovetailError: it cannot be started.
    """

    def __init__(
        self,
        words: Sequence[str],
        name: str,
        note: Callable[[str, str, str], None],
        farewell: bytes = b"",
    ) -> None:
        self.name = name
        self._owner = Owner()
        self._farewell = farewell
        try:
            self._process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=ends_with_this(),
            )
        except OSError as error:
            raise DovetailError(f"{name} cannot be started: {error}") from None
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._in, self._out = stdin, stdout
        os.set_blocking(self._in.fileno(), False)
        self._unsent = self._heard = b""
        threading.Thread(target=self._note, args=(stderr, note), daemon=True).start()

    def _note(self, lines: IO[bytes], note: Callable[[str, str, str], None]) -> None:
        with lines:
            while line := lines.readline(LONGEST):
                note("%s: %s", self.name, line.decode("utf-8", "replace").rstrip()[:500])

    @property
    def alive(self) -> bool:
        """True while it runs."""
        return self._process.poll() is None

    def say(self, line: str) -> None:
        """Send a line; the part that the program does not read at once follows during waits."""
        self._unsent += line.encode() + b"\n"

    def until(self, found: Callable[[str], bool], timeout: float) -> str:
        """Return the first line for which ``found`` is true; drop those before.

        Raises:
            DovetailError: it did not come within ``timeout`` seconds, or the program has exited.
                The program is then killed, so that a late answer is not taken for the next one.
        """
        line = self.heard(found, timeout)
        if line is None:
            self.end()
            raise Forfeit("timeout", f"{self.name} did not answer within {timeout:g} s")
        return line

    def heard(self, found: Callable[[str], bool], timeout: float) -> str | None:
        """Like ``until``, but return None after ``timeout`` seconds and leave the program running.

        Raises:
            DovetailError: the program has ended.
        """
        if self._in.closed:
            raise Forfeit("unavailable", f"{self.name} has ended")
        end = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            if self._unsent:
                selector.register(self._in, selectors.EVENT_WRITE)
            while True:
                while b"\n" in self._heard:
                    line, _, self._heard = self._heard.partition(b"\n")
                    if found(text := line.decode("utf-8", "replace").rstrip("\r")):
                        return text
                left = end - time.monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready:
                    return None
                for key, _ in ready:
                    if key.fileobj is self._out:
                        self._read()
                    elif not self._write():
                        selector.unregister(self._in)

    def _read(self) -> None:
        came = os.read(self._out.fileno(), LONGEST)
        if not came:
            raise self._ended()
        self._heard += came
        if len(self._heard) > LONGEST and b"\n" not in self._heard:
            self.end()
            raise Forfeit("unavailable", f"{self.name} sent a line of more than {LONGEST} bytes")

    def _write(self) -> bytes:
        """Write as much as the pipe accepts; return the rest."""
        try:
            sent = os.write(self._in.fileno(), self._unsent)
        except BrokenPipeError:
            raise self._ended() from None
        self._unsent = self._unsent[sent:]
        return self._unsent

    def _ended(self) -> DovetailError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GOODBYE)
        code = self._process.poll()
        self.end()
        if code is None:
            return Forfeit("unavailable", f"{self.name} has closed its output")
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        return Forfeit("unavailable", f"{self.name} has ended {how}")

    def close(self) -> None:
        """Ask the program to exit, then end its process group; do nothing in a forked child."""
        if not self._owner.here:
            return
        with suppress(OSError, ValueError):
            os.write(self._in.fileno(), self._unsent + self._farewell)
        self._in.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GOODBYE)
        self.end()

    def end(self) -> None:
        """End the program's process group at once; do nothing in a forked child."""
        if not self._owner.here:
            return
        self._in.close()
        if not self._out.closed:
            end_group(self._process)  # children may outlive it
        self._process.wait()
        self._out.close()
