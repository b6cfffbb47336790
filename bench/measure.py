"""Common parts of all measurements: the error, separate processes, and rates."""

from __future__ import annotations

import multiprocessing
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

Measurement = Callable[[float], float]
"""Measures for about the given number of seconds; returns turns per second."""
Episodes = Generator[int, None, None]
"""The number of turns of each finished episode."""

WARM_UP = 0.3
"""Seconds that each measurement plays before it counts."""
PATIENCE = 60.0
"""Seconds beyond its own duration after which a measurement counts as hung."""

spawn = multiprocessing.get_context("spawn")


class BenchError(Exception):
    """A failed measurement; the text gives the reason in one line."""


@contextmanager
def children() -> Iterator[Callable[..., Connection]]:
    """Yield a function that starts a process and returns a pipe to it; stop all processes
    afterwards."""
    started = []

    def start(function: Callable[..., None], *arguments: Any) -> Connection:
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=function, args=(*arguments, theirs), daemon=True)
        process.start()
        theirs.close()
        started.append(process)
        return ours

    try:
        yield start
    finally:
        for process in started:
            process.kill()
            process.join()


def hear(pipe: Connection) -> Any:
    """Return the next object that a process sends; raise BenchError if none comes."""
    if not pipe.poll(PATIENCE):
        raise BenchError("a measuring process does not answer")
    try:
        return pipe.recv()
    except EOFError:
        raise BenchError("a measuring process ended") from None


@contextmanager
def program(
    command: Sequence[str], stdout: int = subprocess.PIPE, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a program, with options of ``Popen``; kill it afterwards."""
    process = subprocess.Popen(command, stdout=stdout, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that a program prints; "" if it has ended."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def steady(events: Iterator[int], seconds: float, group: int = 1) -> float:
    """Return turns per second of a stream of finished episodes, each given as its number of turns.

    Episodes that start together may end together, so the measured interval starts and ends at
    complete groups.  A stream that ends, and a group that takes too long, raise BenchError.
    """
    begun = time.perf_counter()
    first: float | None = None
    turns = 0
    for number, count in enumerate(events, start=1):
        turns += count
        if number % group:
            continue
        now = time.perf_counter()
        if first is None:
            if now - begun >= WARM_UP:
                first, turns = now, 0
        elif now - first >= seconds:
            return turns / (now - first)
        if now - begun > WARM_UP + seconds + PATIENCE:
            raise BenchError("too slow to measure")
    raise BenchError("the episodes ended before the time was over")


def stream(
    episodes: Callable[..., Episodes],
) -> Callable[..., AbstractContextManager[Measurement]]:
    """Make a subject of a function that yields the turns of each episode."""

    @contextmanager
    def subject(*arguments: str, **options: str) -> Iterator[Measurement]:
        with closing(episodes(*arguments, **options)) as played:
            next(played)  # starts programs and compiles
            yield partial(steady, played)

    return subject
