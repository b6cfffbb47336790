"""Checks peers' arguments for foreign libraries: some are reserved for the local user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dovetail.peer.environments.environment import Environment
from dovetail.peer.presets import local
from dovetail.peer.quoting import command
from dovetail.protocol.errors import DovetailError

PLACES = ("file", "filename", "path", "root", "dir", "directory", "folder")
"""Endings of argument names that stand for paths."""
NAMES = re.compile(r"~|\.{0,2}[/\\]|[^\s:]+:\S")
"""The beginning of a text that is a path, or names a module (``module:id``) or an address, under
any argument's name: Shimmy's ``env_id`` imports one."""


def check(kind: type[Environment], given: Mapping[str, Any]) -> None:
    """Refuse arguments that `reserved` finds, unless the local user gave them.

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


def check_id(kind: type[Environment], given: str) -> None:
    """Refuse an id that names a module, unless the local user gave it.

    Raises:
        DovetailError: it came over the wire; modules named by peers are never imported.
    """
    if ":" in given and given != local(kind, "id"):
        raise DovetailError(
            f"id {given!r} names a module, which only the program that serves the environment may "
            f"import: {command('env', kind.name, '--set', f'id={given}')}"
        )


def reserved(given: Any, name: str = "") -> str | None:
    """Return the name of an argument that names a file, folder, module or address, or opens a
    window; None if there is none.

    Args:
        given: arguments, or the value of one.
        name: the argument's name.
    """
    if name.lower().endswith(PLACES) or (name == "render_mode" and given != "ansi"):
        return name
    match given:
        case str():
            return name if NAMES.match(given) else None
        case dict():
            found = (reserved(value, str(key)) for key, value in given.items())
        case list() | tuple():
            found = (reserved(value, name) for value in given)
        case _:
            return None
    return next(filter(None, found), None)
