"""Files that others made, read within limits: how large they are, and how deep."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from dovetail.protocol.errors import DovetailError

SHORT = 1 << 16
"""Bytes of a key, a token or a password with its comments."""
TEXT = 8 << 20
"""Bytes of a file that people write."""
LIST = 256 << 20
"""Bytes of a file with a line for each of many things."""
STATE = 2 << 30
"""Bytes of a learner's state."""
DEPTH = 50
"""Levels of tables and lists within each other."""
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_PARTS = re.compile(rf"(?<![\w-])(?:{_PART}){{{DEPTH + 1}}}")
"""The beginning of a key with too many parts."""


def data(path: Path, most: int) -> bytes:
    """Return the content of a file, if that is not longer than ``most`` bytes; a device never ends.

    Raises:
        DovetailError: it is longer.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise DovetailError(f"{path} has more than {most:,} bytes, the most for such a file")
    return found


def text(path: Path, most: int = TEXT) -> str:
    """Return the text of a file, without a byte order mark.

    Raises:
        DovetailError: it is too long.
        OSError: it cannot be read.
        UnicodeDecodeError: it is not UTF-8.
    """
    return data(path, most).decode("utf-8-sig")


def table(path: Path, most: int = TEXT) -> dict[str, Any]:
    """Return what a file in TOML says, or in JSON if its name ends in .json.

    Raises:
        DovetailError: it is too long or too deep, or is something else; one line says what.
        OSError: it cannot be read.
    """
    kind = "JSON" if path.suffix == ".json" else "TOML"
    try:
        given = text(path, most)
        found = parsed(given) if kind == "TOML" else msgspec.json.decode(given, type=dict[str, Any])
    except RecursionError:
        raise DovetailError(f"{path} has more than {DEPTH} levels of tables and lists") from None
    except (
        msgspec.DecodeError,
        ValueError,
    ) as error:  # numbers of 4,301 digits, and what is not UTF-8
        raise DovetailError(f"{path} is not valid {kind}: {error}") from None
    if deep(found.values()):
        raise DovetailError(f"{path} has more than {DEPTH} levels of tables and lists")
    return found


def parsed(given: str) -> dict[str, Any]:
    """Return what a text in TOML says.

    Raises:
        ValueError: it is not TOML.
        RecursionError: it is too deep.
    """
    if _PARTS.search(given):  # each part is a level, and costs the parser as much as all before it
        raise RecursionError
    return tomllib.loads(given)


def deep(values: Iterable[Any]) -> bool:
    """Return whether values have more than ``DEPTH`` levels; it does not recurse."""
    level = list(values)
    for _ in range(DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
