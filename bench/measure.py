"""The parts that all measurements share: the error, separate processes, and rates."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

Measurement = Callable[[float], float]
"""Measures for about this number of seconds; returns turns per second."""

WARM_UP = 0.3
"""Seconds that each measurement plays before it counts."""
PATIENCE = 60.0
"""Seconds beyond its own time after which a measurement counts as hung."""

spawn = multiprocessing.get_context("spawn")


class BenchError(Exception):
    """A measurement failed; the text says why, in one line."""


@contextmanager
def children() -> Iterator[Callable[..., Connection]]:
    """Give a function that starts a process and returns the pipe to it; end all of them after."""
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


def hear(pipe: Connection, seconds: float = 0.0) -> Any:
    """Return what a process sends; wait ``seconds`` plus a margin for it.

    Raises:
        BenchError: it sends nothing, or it ended.
    """
    if not pipe.poll(seconds + PATIENCE):
        raise BenchError("a measuring process does not answer")
    try:
        return pipe.recv()
    except EOFError:
        raise BenchError("a measuring process ended") from None


def steady(events: Iterator[int], seconds: float, group: int = 1) -> float:
    """Return turns per second of a stream of finished episodes, each given as its turns.

    Episodes that were begun together may end together, so both ends of the measured stretch lie
    at whole groups.

    Raises:
        BenchError: the stream ends, or not one group finishes in time.
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
