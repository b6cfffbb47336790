"""Files that experiments write."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, RenderableType
from rich.measure import Measurement

from dovetail.peer.locking import lock
from dovetail.protocol.errors import DovetailError, attempting

NARROWEST = 100
"""Minimum columns of a text, so that notes below small tables stay readable."""
WIDEST = 10_000
LOCK = ".lock"
"""File that a process writing to an experiment's folder keeps locked; it has the process ID."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock a folder for this process until the block is left or the process ends.

    Raises:
        DovetailError: another process is writing there, or this one has no permission.
    """
    path = folder / LOCK
    try:
        held = lock(path)
    except BlockingIOError:
        raise DovetailError(
            f"{folder} is being written by {_writer(path)}; wait until it ends, or choose another "
            "folder with --out"
        ) from None
    except OSError as error:
        raise DovetailError(f"cannot write into {folder}: {error.strerror}") from None
    try:
        os.truncate(held, 0)
        os.write(held, str(os.getpid()).encode())
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(held)


def _writer(path: Path) -> str:
    try:
        number = path.read_text()
    except OSError:  # it has just ended
        number = ""
    return f"process {number}" if number else "another process"


def write(path: Path, data: bytes) -> None:
    """Write a file atomically: an interruption leaves the old file, and concurrent writers one of
    theirs.

    Raises:
        DovetailError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with attempting(f"write {path}"):
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def tables(path: Path, *shown: RenderableType) -> None:
    """Write tables as text, each as wide as its cells.

    Raises:
        DovetailError: the file cannot be written.
    """
    text = io.StringIO()
    console = Console(file=text, width=WIDEST, color_system=None, markup=False)
    for each in shown:
        needed = Measurement.get(console, console.options, each).maximum
        console.print(each, width=max(NARROWEST, needed))
    write(path, text.getvalue().encode())
