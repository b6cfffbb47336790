"""A progress line at the terminal, with an estimate of the remaining time."""

from __future__ import annotations

import sys
import time
from typing import TextIO

FIRST = 2.0
"""Seconds until the line appears; shorter work needs none."""
AGAIN = 0.5
"""Seconds between updates."""


class Ticker:
    """A line on standard error, rewritten in place and removed at the end; nothing is written if
    standard error is not a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shows = self._stream.isatty()
        self._begun = time.monotonic()
        self._next = self._begun + FIRST
        self._width = 0

    def show(self, finished: int, total: int) -> None:
        """Update the line, if it is due, with the progress and the remaining time."""
        if not self._shows or (now := time.monotonic()) < self._next:
            return
        self._next = now + AGAIN
        text = f"{finished:,} of {total:,} episodes"
        if 0 < finished < total:
            text += f", about {_span((now - self._begun) * (total - finished) / finished)} left"
        self._stream.write(f"\r{text:<{self._width}}")
        self._stream.flush()
        self._width = len(text)

    def __enter__(self) -> Ticker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            self._stream.write(f"\r{'':{self._width}}\r")
            self._stream.flush()


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
