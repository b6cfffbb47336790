"""A game engine as a child process and an agent, shared by UCI and GTP."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, End, Needs, Seat
from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail_bridges.child import Child

log = logging.getLogger("dovetail.engine")

GAMES = "/usr/games"
"""Debian's folder of engines, which is not on every PATH."""
EngineName = Annotated[
    str,
    Meta(
        description="An engine that the serving program knows; --register engine:NAME=COMMAND "
        "adds one."
    ),
]


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


class Running(Protocol):
    """An engine that answers in a protocol."""

    engine: Engine


P = TypeVar("P", bound=Struct)
E = TypeVar("E", bound=Running)


class EngineAgent(Agent[P], Generic[P, E]):
    """An agent that is an engine in OpenSpiel's ``game``, started again if it has ended.

    An engine that never answered in its protocol has a wrong command, so no game with it can begin.
    One that did, and is gone when its agent takes a seat, is started again at its first decision:
    if it fails there, it loses that game, as it would later.
    """

    needs = Needs(seats=2, actions="discrete")
    wants = ("text",)
    game: ClassVar[str]
    built_in: ClassVar[Mapping[str, Sequence[str]]]
    """The commands of engines packaged by Debian."""
    speaks: ClassVar[Any]
    """Greets an engine in its protocol; returns it as ``E``."""

    def __init__(self, parameters: P | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._engine: str = self.parameters.engine  # type: ignore[attr-defined]
        self._command = command(self._engine, self.built_in, self.name)
        self._running: E | None = None
        self._answered = False
        self._episode: int | None = None

    def prepare(self, running: E) -> None:
        """Give an engine the agent's options."""
        raise NotImplementedError

    def init(self, seat: Seat) -> None:
        if not re.match(rf"(?:openspiel:|pyspiel:)?{self.game.lower()}\b", seat.spec.name):
            raise DovetailError(
                f"a {self.name.upper()} engine plays OpenSpiel's {self.game}, not {seat.spec.name}"
            )
        try:
            self._started()
        except Forfeit as error:
            if not self._answered:
                raise
            log.warning("%s; its first decision starts it again", error)

    def end(self, end: End) -> None:
        self._episode = None

    def cleanup(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.engine.close()

    def _started(self) -> E:
        """Return the engine, after starting or restarting it if need be."""
        if self._running is not None and self._running.engine.alive:
            return self._running
        self.cleanup()
        engine = Engine(self._command, self._engine)
        try:
            running: E = self.speaks(engine)
            self._answered = True
            self.prepare(running)
        except DovetailError:
            engine.close()
            raise
        self._running, self._episode = running, None
        return running
