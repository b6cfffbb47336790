"""What all measurements share: the error, separate processes, and alternating repetition."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

Measurement = Callable[[float], float]
"""Measures for about so many seconds; returns turns per second."""

WARM_UP = 0.3
"""Seconds that each measurement plays before it counts."""
PATIENCE = 60.0
"""Seconds beyond its own time after which a measurement counts as hung."""

spawn = multiprocessing.get_context("spawn")


class BenchError(Exception):
    """A measurement failed; the text says why, in one line."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise BenchError in the main thread if the block takes longer than ``seconds``."""

    def late(number: int, frame: FrameType | None) -> None:
        raise BenchError(f"no end after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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


def isolated(function: Measurement) -> Measurement:
    """Return a measurement that runs ``function`` in a fresh process."""

    def measure(seconds: float) -> float:
        with children() as start:
            answer = hear(start(_report, function, seconds), seconds + WARM_UP)
        if isinstance(answer, str):
            raise BenchError(answer)
        rate: float = answer
        return rate

    return measure


def _report(function: Measurement, seconds: float, pipe: Connection) -> None:
    try:
        pipe.send(function(seconds))
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")


def steady(
    events: Iterator[int],
    seconds: float,
    group: int = 1,
    warm_up: float = WARM_UP,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return turns per second of a stream of finished episodes, each given as its turns.

    Episodes that were begun together may end together, so both ends of the measured stretch lie
    at whole groups.  ``clock`` may be ``time.process_time``, for what one process computes.

    Raises:
        BenchError: the stream ends, or not one group finishes in time.
    """
    begun = clock()
    first: float | None = None
    turns = 0
    for number, count in enumerate(events, start=1):
        turns += count
        if number % group:
            continue
        now = clock()
        if first is None:
            if now - begun >= warm_up:
                first, turns = now, 0
        elif now - first >= seconds:
            return turns / (now - first)
        if now - begun > warm_up + seconds + PATIENCE:
            raise BenchError("too slow to measure")
    raise BenchError("the episodes ended before the time was over")


def processor(process: int) -> float:
    """Return the processor time that a process has used, in seconds (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def alternate(
    subjects: Mapping[str, Measurement],
    seconds: float,
    repeats: int,
    tell: Callable[[str], None],
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Measure each subject ``repeats`` times, all in turn; return figures, and why some failed."""
    figures: dict[str, list[float]] = {name: [] for name in subjects}
    failed: dict[str, str] = {}
    for repeat in range(repeats):
        for name, measure in subjects.items():
            if name in failed:
                continue
            tell(f"{name} ({repeat + 1} of {repeats})")
            try:
                with deadline(seconds + 2 * PATIENCE):
                    figures[name].append(measure(seconds))
            except Exception as error:
                failed[name] = " ".join(str(error).split()) or type(error).__name__
                del figures[name]
    return figures, failed
