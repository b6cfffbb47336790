"""Files that experiments write."""

from __future__ import annotations

from pathlib import Path

from dovetail.protocol.errors import DovetailError


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
