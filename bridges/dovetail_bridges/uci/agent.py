"""A UCI engine as an agent in OpenSpiel's chess."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Decision, Seat
from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail.protocol.messages import Clock
from dovetail.protocol.outside import HIGHEST, LimitedPositive
from dovetail_bridges.engine import Engine, EngineAgent, EngineName, log
from dovetail_bridges.openspiel.games import library
from dovetail_bridges.uci.chess import fen, moves

ENGINES = {
    "stockfish": ["stockfish"],
    "fairy-stockfish": ["fairy-stockfish"],
    "gnuchess": ["gnuchess", "--uci"],
}
"""The commands of engines packaged by Debian."""
LONG = 3600.0
"""Maximum seconds of a move limited only by nodes or depth."""
LATE = 10.0
"""Seconds beyond its allotted time after which an engine without a clock is stopped."""
MARGIN = 0.05
"""Seconds of the clock that are kept from the engine."""


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


class UciParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``Uci``."""

    engine: EngineName = "stockfish"
    nodes: Annotated[LimitedPositive, Meta(description="Positions to search at a move.")] | None = (
        None
    )
    depth: Annotated[LimitedPositive, Meta(description="Plies to search at a move.")] | None = None
    seconds: Annotated[
        float, Meta(gt=0, description="Seconds at a move, if nothing else limits it.")
    ] = 0.1
    options: Annotated[
        dict[str, Annotated[int, Meta(ge=-HIGHEST, le=HIGHEST)] | bool | str],
        Meta(description="The engine's own options: numbers, switches and choices."),
    ] = {}


class Uci(EngineAgent[UciParameters, UciEngine]):
    """A chess engine that speaks UCI."""

    name = "uci"
    game = "chess"
    built_in = ENGINES
    speaks = UciEngine

    def init(self, seat: Seat) -> None:
        super().init(seat)
        library()

    def step(self, decision: Decision) -> Any:
        uci = self._started()
        if self._episode != decision.episode:
            uci.new_game()
            self._episode = decision.episode
        if decision.text is None:
            raise DovetailError("the game sends no text, from which the engine takes the position")
        position = fen(decision.text)
        limits, seconds = self._limits(decision.clock)
        move = uci.best(f"fen {position}", limits, seconds)
        legal = moves(library().load_game("chess").new_initial_state(position))
        if move not in legal:
            log.warning("%s plays %r in %s, which is illegal", uci.engine.name, move, position)
        return legal.get(move, move)  # text is never a legal action

    def prepare(self, running: UciEngine) -> None:
        running.set(self.parameters.options)

    def _limits(self, clock: Clock | None) -> tuple[str, float]:
        """Return what follows ``go``, and the seconds after which the engine is stopped."""
        each, left = (None, None) if clock is None else (clock.decision, clock.left)
        most = min((one - MARGIN for one in (each, left) if one is not None), default=LONG)
        most = max(most, 0.01)
        words = []
        if self.parameters.nodes is not None:
            words.append(f"nodes {self.parameters.nodes}")
        if self.parameters.depth is not None:
            words.append(f"depth {self.parameters.depth}")
        if not words and each is None and left is not None:
            # The opponent's time is not known here; the engine's own stands for both.
            return f"wtime {int(1000 * most)} btime {int(1000 * most)}", most
        if not words:
            seconds = min(self.parameters.seconds, most)
            return f"movetime {max(1, int(1000 * seconds))}", min(most, seconds + LATE)
        return " ".join(words), most
