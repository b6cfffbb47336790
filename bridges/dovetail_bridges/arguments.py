"""Checks peers' arguments for foreign libraries: some are reserved for the local user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dovetail.peer.environments.environment import Environment
from dovetail.peer.presets import local
from dovetail.protocol.errors import DovetailError

PLACES = ("file", "filename", "path", "root", "dir")
"""Endings of argument names that stand for paths."""


def check(kind: type[Environment], given: Mapping[str, Any]) -> None:
    """Refuse arguments that name a file, or open a window, unless the local user gave them.

    Args:
        kind: the environment, whose option is ``arguments``.
        given: a match's arguments.

    Raises:
        DovetailError: one came over the wire.
    """
    own = local(kind, "arguments")
    foreign = {key: each for key, each in given.items() if key not in own or own[key] != each}
    found = reserved(foreign)
    if found is not None:
        raise DovetailError(
            f"environment {kind.name}, option 'arguments': only the program that serves the "
            f"environment may choose {found!r}, with --set arguments=..."
        )


def reserved(given: Any) -> str | None:
    """Return the name of an argument that names a file or opens a window; None if there is none."""
    for key, value in _named(given):
        if key.lower().endswith(PLACES) or (key == "render_mode" and value != "ansi"):
            return key
    return None


def _named(given: Any) -> Iterator[tuple[str, Any]]:
    """Yield all keys and values, nested ones included."""
    match given:
        case dict():
            for key, value in given.items():
                yield str(key), value
                yield from _named(value)
        case list() | tuple():
            for value in given:
                yield from _named(value)
