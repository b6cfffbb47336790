"""Files that experiments write."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console, RenderableType
from rich.measure import Measurement

from dovetail.protocol.errors import DovetailError

NARROWEST = 100
"""Columns that a text has at least, so that notes below small tables stay readable."""
WIDEST = 10_000


def write(path: Path, data: bytes) -> None:
    """Write a file atomically: if interrupted, the old file remains.

    Raises:
        DovetailError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise DovetailError(f"cannot write {path}: {error.strerror}") from None


def tables(path: Path, *shown: RenderableType) -> None:
    """Write tables as text, each as wide as its cells need.

    Raises:
        DovetailError: the file cannot be written.
    """
    text = io.StringIO()
    console = Console(file=text, width=WIDEST, color_system=None)
    for each in shown:
        needed = Measurement.get(console, console.options, each).maximum
        console.print(each, width=max(NARROWEST, needed))
    write(path, text.getvalue().encode())
