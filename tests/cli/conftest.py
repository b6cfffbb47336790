"""Programs started as a person would start them in a terminal."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from tests.forking import Forker

HERE = Path(__file__).parent
GAME = HERE / "count_up.py"
WAIT = 30.0
STARTED = {
    "dovetail": [sys.executable, "-m", "dovetail"],
    "experiment": [sys.executable, str(HERE / "experiment.py")],
}
"""How the programs of ``programs.py`` are started where they are not forked."""


class Program:
    """A process whose lines can be waited for."""

    def __init__(self, popen: Any, command: list[str], folder: Path) -> None:
        env = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "160", "NO_COLOR": "1"}
        env.pop("DOVETAIL_TOKEN", None)
        self.command = command
        self.process = popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: dict[str, list[str]] = {"out": [], "err": []}
        self._read = {"out": 0, "err": 0}
        self._open = 2
        self._news = threading.Condition()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._threads = [
            threading.Thread(target=self._pump, args=(name, stream), daemon=True)
            for name, stream in (("out", self.process.stdout), ("err", self.process.stderr))
        ]
        for thread in self._threads:
            thread.start()

    def _pump(self, name: str, stream: IO[str]) -> None:
        for line in stream:
            with self._news:
                self.lines[name].append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._open -= 1
            self._news.notify_all()

    def expect(self, pattern: str, stream: str = "out") -> re.Match[str]:
        """Wait for a line with ``pattern`` after the last one that was expected."""
        end = time.monotonic() + WAIT
        with self._news:
            while True:
                lines = self.lines[stream]
                while self._read[stream] < len(lines):
                    line = lines[self._read[stream]]
                    self._read[stream] += 1
                    found = re.search(pattern, line)
                    if found:
                        return found
                left = end - time.monotonic()
                if self._open == 0 or left <= 0 or not self._news.wait(left):
                    pytest.fail(f"no {pattern!r} from {self}")

    def wait(self) -> int:
        """Wait for the end; return the exit code."""
        try:
            code: int = self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            pytest.fail(f"does not end: {self}")
        for thread in self._threads:
            thread.join(WAIT)
        return code

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __str__(self) -> str:
        out, err = ("\n".join(self.lines[name]) for name in ("out", "err"))
        return f"{' '.join(self.command[1:])}\n-- stdout\n{out}\n-- stderr\n{err}"


class Terminals:
    """Starts programs, and ends those that still run at the end of a test.

    Args:
        folder: their working folder.
        forker: the process that forks them; without it they are started.
    """

    def __init__(self, folder: Path, forker: Forker | None) -> None:
        self.folder = folder
        self._forker = forker
        self.address = ""
        self._programs: list[Program] = []

    def start(self, *arguments: str) -> Program:
        return self._start("dovetail", *arguments)

    def _start(self, name: str, *arguments: str) -> Program:
        if self._forker is None:
            program = Program(subprocess.Popen, [*STARTED[name], *arguments], self.folder)
        else:
            program = Program(self._forker.popen, [name, *arguments], self.folder)
        self._programs.append(program)
        return program

    def program(self, source: str) -> Program:
        """Start a Python program of a user, beside the game."""
        line = [sys.executable, "-c", source]
        program = Program(subprocess.Popen, line, HERE)
        self._programs.append(program)
        return program

    def broker(self, *arguments: str, bind: str = "tcp://127.0.0.1:*") -> Program:
        program = self.start("broker", "--bind", bind, "--heartbeat", "0.2", *arguments)
        self.address = program.expect(r"^broker ready at (\S+)$").group(1)
        return program

    def env(self, *arguments: str) -> Program:
        return self.start("env", f"{GAME}:CountUp", "--connect", self.address, *arguments)

    def agent(self, name: str, *arguments: str) -> Program:
        return self.start("agent", f"{GAME}:{name}", "--connect", self.address, *arguments)

    def experiment(self, *agents: str, **options: Any) -> Program:
        given = json.dumps({"agents": agents, **options})
        return self._start("experiment", self.address, given)

    def close(self) -> None:
        for program in self._programs:
            if program.process.poll() is None:
                program.kill()


@pytest.fixture
def terminals(tmp_path: Path, forker: Forker) -> Iterator[Terminals]:
    found = Terminals(tmp_path, forker)
    yield found
    found.close()


@pytest.fixture
def real_terminals(tmp_path: Path) -> Iterator[Terminals]:
    """Programs that are started as a person starts them, by an interpreter of their own."""
    found = Terminals(tmp_path, None)
    yield found
    found.close()


class Answer:
    """The output and exit code of a command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


Dovetail = Callable[..., Answer]


@pytest.fixture
def dovetail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Dovetail:
    """Run a command in this process, where that makes no difference; it is faster."""
    from dovetail.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("DOVETAIL_TOKEN", raising=False)

    def call(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["dovetail", *arguments])
        capfd.readouterr()
        try:
            code = main()
        finally:
            logging.getLogger("dovetail").setLevel(logging.NOTSET)  # as a new process has it
        captured = capfd.readouterr()
        return Answer(code, captured.out, captured.err)

    return call


@pytest.fixture
def game() -> str:
    """Where the game for these tests is."""
    return f"{GAME}:CountUp"
