"""Reads other people's files within limits of size and depth."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dovetail.protocol.errors import DovetailError

SHORT = 1 << 16
"""Maximum bytes of a file with a key, a token or a password."""
TEXT = 8 << 20
"""Maximum bytes of a file written by hand."""
LIST = 256 << 20
"""Maximum bytes of a long list."""
STATE = 2 << 30
"""Maximum bytes of a learner's state."""
HIGHEST = 10**12
"""Maximum of a count in a file or an option."""
LimitedNatural = Annotated[int, Meta(ge=0, le=HIGHEST)]
LimitedPositive = Annotated[int, Meta(ge=1, le=HIGHEST)]
LimitedReal = Annotated[float, Meta(ge=-HIGHEST, le=HIGHEST)]
Few = Annotated[int, Meta(ge=1, le=10_000)]
"""A count of what is started, or listed before the start."""
LEAST, MOST = -(1 << 63), (1 << 64) - 1
"""The least and the greatest integer that a frame can carry."""
DEPTH = 50
"""Maximum nesting of tables and lists."""
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_PARTS = re.compile(rf"(?<![\w-])(?:{_PART}){{{DEPTH + 1}}}")
"""The start of a dotted key with too many parts."""


def data(path: Path, most: int) -> bytes:
    """Return the content of a file of at most ``most`` bytes; a device could be endless.

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
    """Parse a TOML file, or a JSON file if its name ends in .json.

    Raises:
        DovetailError: it is too long, too deep, or invalid.
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
    """Parse a TOML text.

    Raises:
        ValueError: it is not TOML, or has an integer of more than 64 bits.
        RecursionError: it is too deep.
    """
    if _PARTS.search(given):  # each part is a level and costs the parser as much as all before it
        raise RecursionError
    found = tomllib.loads(given)
    for level in levels(found.values()):
        for each in level:
            if isinstance(each, int) and not LEAST <= each <= MOST:
                raise ValueError(f"an integer of {each.bit_length()} bits; at most 64 fit")
    return found


def levels(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the values of tables and lists, level by level, down to ``DEPTH``; one more says that
    they are too deep.  It does not recurse.
    """
    level = list(values)
    for _ in range(DEPTH + 1):
        if level:
            yield level
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]


def nan(values: Iterable[Any]) -> bool:
    """Return whether NaN is among values, or in their tables and lists."""
    return any(each != each for level in levels(values) for each in level if type(each) is float)


def deep(values: Iterable[Any]) -> bool:
    """Return whether values have more than ``DEPTH`` levels."""
    return sum(1 for _ in levels(values)) > DEPTH
