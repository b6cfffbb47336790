"""Places of values, for errors: the line of a file, or the option that overrides it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dovetail.protocol import outside
from dovetail.protocol.errors import DovetailError

LOOKED = 200
"""Maximum lines of a statement whose end is searched: each costs parsing all lines before it."""
LOCATED = 5_000
"""Maximum lines of a file in which places are located."""
Step = str | int
"""A key of a table, or an index of a list."""


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """A TOML file with the values that overrides put into it."""

    path: Path
    overrides: tuple[str, ...] = ()
    """Keys that the command line set, such as ``agents.first.parameters.hidden``."""
    swept: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
    """The place of a key's values in the file's ``[sweep]``, by key."""

    def at(self, *steps: Step) -> str:
        """Return the file and the nearest location of a place: its line, or ``--set KEY``."""
        key = self._setter(self.swept, steps)
        if key is not None:
            steps = self.swept[key]
        key = self._setter(self.overrides, steps)
        if key is not None:
            return f"{self.path}, --set {key}"
        number = self._line(steps)
        return f"{self.path}, line {number}" if number else str(self.path)

    def overridden(self, *steps: Step) -> bool:
        """Return whether the command line set a place."""
        return self._setter(self.overrides, steps) is not None

    def _setter(self, keys: Iterable[str], steps: tuple[Step, ...]) -> str | None:
        """Return the key that set a place, or created it; None if the file did."""
        place = ".".join(map(str, steps))
        for key in keys:
            if f"{place}.".startswith(f"{key}."):
                return key
            if key.startswith(f"{place}.") and _depth(self._table(), steps) < len(steps):
                return key
        return None

    def _line(self, steps: tuple[Step, ...]) -> int | None:
        """Return the first line of a place, or of the longest part of its path that exists."""
        deepest = _depth(self._table(), steps)
        if not deepest:
            return None
        lines = self._text().splitlines()
        if len(lines) > LOCATED:
            return None
        with suppress(_Long):
            return 1 + bisect_left(
                range(1, len(lines) + 1),
                deepest,
                key=lambda number: _depth(_parsed(lines, number), steps),
            )
        return None

    def _text(self) -> str:
        try:
            return outside.text(self.path)
        except (OSError, UnicodeDecodeError, DovetailError):
            return ""

    def _table(self) -> dict[str, Any]:
        try:
            return outside.parsed(self._text())
        except (ValueError, RecursionError):
            return {}  # JSON, or changed since


class _Long(Exception):
    """A statement is longer than the lines examined."""


def _parsed(lines: list[str], number: int) -> dict[str, Any]:
    """Parse the first lines of a file, to the end of the statement of the last one."""
    for end in range(number, min(len(lines), number + LOOKED) + 1):
        with suppress(ValueError, RecursionError):
            return outside.parsed("\n".join(lines[:end]))
    if number + LOOKED < len(lines):
        raise _Long
    return {}


def _depth(table: Any, steps: tuple[Step, ...]) -> int:
    for number, step in enumerate(steps):
        try:
            table = table[step]
        except (LookupError, TypeError):
            return number
    return len(steps)
