"""A game engine as a child process: what UCI and GTP share."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence

from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.child import Child

log = logging.getLogger("dovetail.engine")

GAMES = "/usr/games"
"""Where Debian keeps engines, which is not on every PATH."""


def command(name: str, built_in: Mapping[str, Sequence[str]], who: str) -> list[str]:
    """Return the command of an engine; ``name`` may come from a peer and is looked up, never run.

    Args:
        name: as ``--register engine:NAME=COMMAND`` or ``built_in`` has it.
        built_in: commands by name.
        who: whom errors name.

    Raises:
        DovetailError: the name is unknown, or its program is not installed.
    """
    found = [str(word) for word in registered("engine", name, built_in, who=who)]
    program = shutil.which(found[0]) or shutil.which(found[0], path=GAMES)
    if program is None:
        raise DovetailError(
            f"{who}: the engine {name!r} needs the program {found[0]!r}; install it"
        )
    return [program, *found[1:]]


class Engine(Child):
    """A running engine.

    Args:
        words: its command.
        name: what errors and the log call it.

    Raises:
        DovetailError: it cannot be started.
    """

    def __init__(self, words: Sequence[str], name: str) -> None:
        super().__init__(words, f"the engine {name}", log.info, farewell=b"quit\n")
