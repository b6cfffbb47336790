"""A UCI engine as an agent in OpenSpiel's chess."""

from __future__ import annotations

import re
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision, End, Needs, Seat
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Clock
from dovetail.protocol.outside import HIGHEST, LimitedPositive
from dovetail_bridges.engine import Engine, Greeted, command, log
from dovetail_bridges.openspiel.games import library
from dovetail_bridges.uci.chess import fen, moves
from dovetail_bridges.uci.protocol import UciEngine

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


class UciParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``Uci``."""

    engine: Annotated[
        str,
        Meta(
            description="An engine that the serving program knows; --register engine:NAME=COMMAND "
            "adds one."
        ),
    ] = "stockfish"
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


class Uci(Agent[UciParameters]):
    """A chess engine that speaks UCI."""

    name = "uci"
    needs = Needs(seats=2, actions="discrete")
    wants = ("text",)

    def __init__(self, parameters: UciParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._command = command(self.parameters.engine, ENGINES, "uci")
        self._uci: UciEngine | None = None
        self._greeted = Greeted()
        self._episode: int | None = None

    def init(self, seat: Seat) -> None:
        if not re.match(r"(?:openspiel:|pyspiel:)?chess\b", seat.spec.name):
            raise DovetailError(f"a UCI engine plays OpenSpiel's chess, not {seat.spec.name}")
        library()
        with self._greeted.seated():
            self._started()

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

    def end(self, end: End) -> None:
        self._episode = None

    def cleanup(self) -> None:
        uci, self._uci = self._uci, None
        if uci is not None:
            uci.engine.close()

    def _started(self) -> UciEngine:
        """Return the engine; start it if it is not running."""
        if self._uci is not None and self._uci.engine.alive:
            return self._uci
        self.cleanup()
        engine = Engine(self._command, self.parameters.engine)
        try:
            uci = UciEngine(engine)
            self._greeted.ever = True
            uci.set(self.parameters.options)
        except DovetailError:
            engine.close()
            raise
        self._uci, self._episode = uci, None
        return uci

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
