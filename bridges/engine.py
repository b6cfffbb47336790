"""A game engine as a child process that speaks lines: what UCI and GTP share."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError

log = logging.getLogger("dovetail.engine")

GAMES = "/usr/games"
"""Where Debian keeps engines, which is not on every PATH."""
LONGEST = 1 << 16
"""Characters of a line at most."""
GOODBYE = 1.0
"""Seconds that an engine has to leave by itself."""


def command(name: str, built_in: Mapping[str, Sequence[str]], who: str) -> list[str]:
    """Return the command of an engine; ``name`` may come from a peer and is looked up, never run.

    Args:
        name: as ``--register engine:NAME=COMMAND`` or ``built_in`` has it.
        built_in: commands by name.
        who: whom errors name.

    Raises:
        DovetailError: the name is unknown, or its program is not installed.
    """
    found = [str(word) for word in registered("engine", name, built_in, who=who)]
    program = shutil.which(found[0]) or shutil.which(found[0], path=GAMES)
    if program is None:
        raise DovetailError(
            f"{who}: the engine {name!r} needs the program {found[0]!r}; install it"
        )
    return [program, *found[1:]]


class Engine:
    """A running engine, in its own process group.

    Args:
        words: its command.
        name: what errors and the log call it.

    Raises:
        DovetailError: it cannot be started.
    """

    def __init__(self, words: Sequence[str], name: str) -> None:
        self.name = name
        try:
            self._process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise DovetailError(f"the engine {name} cannot be started: {error}") from None
        self._lines: queue.Queue[str | None] = queue.Queue()
        for target in (self._read, self._complaints):
            threading.Thread(target=target, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            while line := self._process.stdout.readline(LONGEST):
                self._lines.put(line.rstrip("\r\n"))
        self._lines.put(None)

    def _complaints(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(ValueError, OSError):
            while line := self._process.stderr.readline(LONGEST):
                log.info("%s: %s", self.name, line.rstrip())

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def say(self, line: str) -> None:
        """Send a line.

        Raises:
            DovetailError: the engine is gone.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._gone() from None

    def hear(self, timeout: float) -> str:
        """Return the next line.

        Raises:
            DovetailError: there was none in ``timeout`` seconds, or the engine is gone.
        """
        try:
            line = self._lines.get(timeout=max(0.0, timeout))
        except queue.Empty:
            raise DovetailError(f"the engine {self.name} did not answer in time") from None
        if line is None:
            raise self._gone()
        return line

    def until(self, found: Callable[[str], bool], timeout: float) -> str:
        """Return the first line for which ``found`` is true; drop those before.

        Raises:
            DovetailError: it did not come in ``timeout`` seconds, or the engine is gone.
        """
        end = time.monotonic() + timeout
        while not found(line := self.hear(end - time.monotonic())):
            pass
        return line

    def _gone(self) -> DovetailError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GOODBYE)
        code = self._process.poll()
        return DovetailError(f"the engine {self.name} is gone (exit code {code})")

    def close(self) -> None:
        """Say ``quit``; end the engine and what it started if it does not leave."""
        with contextlib.suppress(DovetailError):
            self.say("quit")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GOODBYE)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
