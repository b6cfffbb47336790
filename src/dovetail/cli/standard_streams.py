"""Keeps standard input and output clean for protocols, and safe for any character.

Games and agents are other people's code, which prints, as do C libraries and child processes.
"""

from __future__ import annotations

import ctypes
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO, cast

MAX_LINE = 8 << 20
"""Maximum characters of a line of a protocol."""


class BoundedLines(io.TextIOBase):
    """The lines of a text stream; an endless line costs no memory."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """Return the next line; an empty one if it is too long."""
        line = part = self._stream.readline(MAX_LINE)
        while len(part) == MAX_LINE and not part.endswith("\n"):
            part = self._stream.readline(MAX_LINE)
            line = "\n"
        return line


def forgiving() -> None:
    """Replace characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):  # its new descriptor may not be able to seek
                stream.reconfigure(errors="replace" if stream is sys.stdout else "backslashreplace")


@contextmanager
def reserved() -> Iterator[TextIO]:
    """Yield standard output in UTF-8 for a protocol; send all other output to standard error.

    Enter it before importing user code, which may print until the process has ended: its threads
    and exit handlers outlive the block, after which nothing goes to standard output.
    """
    stream = sys.stdout
    stream.flush()
    if _descriptor(stream) != 1:  # the command runs inside another program
        with redirect_stdout(sys.stderr):
            yield stream
        return
    out = open(os.dup(1), "w", encoding="utf-8", errors="replace", newline="\n")  # noqa: SIM115
    _divert(1, os.O_WRONLY, 2)
    try:
        yield out
    finally:
        try:
            stream.flush()
            _flush_c()
            out.flush()
        finally:
            with suppress(OSError):
                out.close()


@contextmanager
def conversation() -> Iterator[tuple[TextIO, TextIO]]:
    """Yield standard input and output for a protocol; user code finds an empty input.

    A line of more than ``MAX_LINE`` characters is read as an empty one.
    """
    with reserved() as out:
        if _descriptor(sys.stdin) != 0:
            yield cast(TextIO, BoundedLines(sys.stdin)), out
            return
        lines = open(os.dup(0), encoding="utf-8", errors="replace")  # noqa: SIM115
        _divert(0, os.O_RDONLY)
        with lines:
            yield cast(TextIO, BoundedLines(lines)), out


def _descriptor(stream: TextIO) -> int:
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return -1


def _divert(descriptor: int, mode: int, to: int | None = None) -> None:
    """Make a descriptor a copy of another; of the null device if that is closed."""
    if to is not None:
        with suppress(OSError):
            os.dup2(to, descriptor)
            return
    nothing = os.open(os.devnull, mode)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def _flush_c() -> None:
    """Flush the C library's output before its descriptor is changed."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
