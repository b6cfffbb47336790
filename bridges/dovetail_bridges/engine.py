"""A game engine as a child process, shared by UCI and GTP."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail_bridges.child import Child

log = logging.getLogger("dovetail.engine")

GAMES = "/usr/games"
"""Debian's folder of engines, which is not on every PATH."""


def command(name: str, built_in: Mapping[str, Sequence[str]], who: str) -> list[str]:
    """Return the command of an engine.

    Args:
        name: a name from ``--register engine:NAME=COMMAND`` or ``built_in``; a peer may give it,
            since it is only looked up, never run.
        built_in: commands by name.
        who: the agent's name in errors.

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
        words: the words of its command.
        name: its name in errors and the log.

    Raises:
        DovetailError: it cannot be started.
    """

    def __init__(self, words: Sequence[str], name: str) -> None:
        super().__init__(words, f"the engine {name}", log.info, farewell=b"quit\n")


class Greeted:
    """Notes whether an engine has ever answered in its protocol.

    One that never did has a wrong command, so no game with it can begin.  One that did, and is gone
    when its agent takes a seat, is started again at its first decision: if it fails there, it loses
    that game, as it would later.
    """

    def __init__(self) -> None:
        self.ever = False

    @contextmanager
    def seated(self) -> Iterator[None]:
        """Put the failure of an engine that has answered before off to its first decision."""
        try:
            yield
        except Forfeit as error:
            if not self.ever:
                raise
            log.warning("%s; its first decision starts it again", error)
