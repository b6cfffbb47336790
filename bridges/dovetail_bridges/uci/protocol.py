"""UCI from the GUI's side: an engine's options, positions and moves."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail_bridges.engine import Engine

HELLO = 20.0
"""Seconds within which an engine must say ``uciok`` and ``readyok``."""
GRACE = 1.0
"""Seconds for ``bestmove`` after ``stop``."""
OPTION = re.compile(r"option name (?P<name>.+?) type (?P<type>\w+)")
HARMLESS = ("check", "spin", "combo")
"""The types of options that a peer may set; strings are excluded, since some name files to
write."""


class UciEngine:
    """An engine that has said ``uciok``.

    Args:
        engine: the engine's process, newly started.

    Raises:
        DovetailError: the program does not speak UCI.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.options: dict[str, tuple[str, str]] = {}
        """Each option's name and type, by its name in lower case."""
        engine.say("uci")
        engine.until(self._greeting, HELLO)

    def set(self, options: Mapping[str, object]) -> None:
        """Set options, and wait until the engine is ready.

        Args:
            options: values by name, for numbers, switches and choices only.

        Raises:
            DovetailError: the engine lacks one, or has ended.
        """
        for name, value in options.items():
            self._set(name, value)
        self.ready()

    def _greeting(self, line: str) -> bool:
        found = OPTION.match(line)
        if found:
            self.options[found["name"].lower()] = (found["name"], found["type"])
        return line.strip() == "uciok"

    def _set(self, name: str, value: object) -> None:
        known = self.options.get(name.lower())
        if known is None:
            raise DovetailError(
                f"{self.engine.name} has no option {name!r}; it has "
                f"{', '.join(sorted(self.options))}"
            )
        if known[1] not in HARMLESS:
            raise DovetailError(
                f"the option {known[0]!r} is of type {known[1]}; only {', '.join(HARMLESS)} can be "
                "set"
            )
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if "\n" in text or "\r" in text:
            raise DovetailError(f"the option {known[0]!r} has a value of several lines")
        self.engine.say(f"setoption name {known[0]} value {text}")

    def ready(self) -> None:
        """Wait until the engine has carried out its commands."""
        self.engine.say("isready")
        self.engine.until(lambda line: line.strip() == "readyok", HELLO)

    def new_game(self) -> None:
        """Start a new game."""
        self.engine.say("ucinewgame")
        self.ready()

    def best(self, position: str, limits: str, seconds: float) -> str:
        """Return the engine's move, such as ``e7e8q``, or its other answer, such as ``(none)``.

        Args:
            position: the arguments of ``position``: ``startpos moves e2e4`` or ``fen ...``.
            limits: the arguments of ``go``.
            seconds: the time after which the engine is told to stop.

        Raises:
            Forfeit: the engine exited, or gave no move even when told to stop; it is then closed.
        """
        self.engine.say(f"position {position}")
        self.engine.say(f"go {limits}")
        line = self.engine.heard(_is_move, seconds)
        if line is None:
            self.engine.say("stop")
            line = self.engine.heard(_is_move, GRACE)
        if line is None:
            self.engine.end()
            raise Forfeit(
                "timeout",
                f"{self.engine.name} gave no move within {seconds:g} s, and none when it was told "
                "to stop",
            )
        return line.partition(" ")[2].split(" ")[0]


def _is_move(line: str) -> bool:
    return line.startswith("bestmove")
