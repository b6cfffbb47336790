"""A GTP engine as an agent in OpenSpiel's Go."""

from __future__ import annotations

import math
import time
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import RESIGN, Decision
from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail_bridges.engine import Engine, EngineAgent, EngineName, log
from dovetail_bridges.gtp.go import COLORS, Position, action, played, vertex

ENGINES = {
    # OpenSpiel scores stones that were not captured as alive, so the engine must capture the dead
    # before it passes;
    # no position may occur twice.
    "gnugo": [
        *("gnugo", "--mode", "gtp", "--chinese-rules", "--capture-all-dead", "--never-resign"),
        "--positional-superko",
    ]
}
"""Commands of engines in Debian."""
MARGIN = 0.2
"""Seconds of the clock withheld from the engine."""
LONG = 3600.0
"""Seconds for a move without a clock."""


PROMPT = 20.0
"""Maximum seconds for any command but ``genmove``."""


class GtpEngine:
    """An engine that answers GTP commands.

    Raises:
        DovetailError: it does not speak GTP 2.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.deadline = math.inf
        """The monotonic time by which all commands of a decision must be answered."""
        if self.ask("protocol_version").strip() not in ("2", ""):
            raise DovetailError(f"{engine.name} does not speak GTP version 2")

    def ask(self, line: str, timeout: float = PROMPT) -> str:
        """Send a command; return the text of its answer.

        Raises:
            DovetailError: the engine refuses it, is too slow, or has exited; after the last two it
                is gone.
        """
        answer: list[str] = []

        def whole(each: str) -> bool:
            if answer or each.startswith(("=", "?")):
                answer.append(each)
            return bool(answer) and not each

        self.engine.say(line)
        left = max(0.0, self.deadline - time.monotonic())
        self.engine.until(whole, round(min(timeout, left), 3))
        text = "\n".join([answer[0][1:].lstrip("0123456789").strip(), *answer[1:-1]])
        if answer[0].startswith("?"):
            raise Forfeit("unavailable", f"{self.engine.name} refuses {line!r}: {text}")
        return text


class GtpParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``Gtp``."""

    engine: EngineName = "gnugo"
    level: (
        Annotated[int, Meta(ge=0, le=10, description="The strength of gnugo and engines like it.")]
        | None
    ) = None


class Gtp(EngineAgent[GtpParameters, GtpEngine]):
    """A Go engine that speaks GTP."""

    name = "gtp"
    game = "Go"
    built_in = ENGINES
    speaks = GtpEngine
    _stones: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    """The stones on the engine's board, by seat."""

    def step(self, decision: Decision) -> Any:
        if decision.text is None:
            raise DovetailError("the game sends no text, from which the engine takes the position")
        position = Position(decision.text)
        seat, size = decision.seat.seat, position.size
        gtp = self._started()
        seconds = self._seconds(decision)
        gtp.deadline = time.monotonic() + seconds
        if self._episode != decision.episode:
            self._begin(gtp, position, decision)
        self._follow(gtp, position, 1 - seat)
        answer = gtp.ask(f"genmove {COLORS[seat]}", seconds).strip()
        if answer.lower() == "resign":
            return RESIGN
        try:
            chosen = action(answer, size)
        except DovetailError as error:
            log.warning("%s: %s", gtp.engine.name, error)
            return answer  # text is never a legal action
        if isinstance(decision.legal, list) and chosen not in decision.legal:
            # Its rules differ from the referee's, such as that of ko: it passes, and the result
            # counts it.
            log.warning("%s plays %s, which the referee refuses", gtp.engine.name, answer)
            decision.refused += 1
            gtp.ask("undo")
            gtp.ask(f"play {COLORS[seat]} pass")
            chosen = size * size
        self._stones = played(position.stones, seat, chosen, size)
        return chosen

    def prepare(self, running: GtpEngine) -> None:
        if self.parameters.level is not None:
            running.ask(f"level {self.parameters.level}")

    def _begin(self, gtp: GtpEngine, position: Position, decision: Decision) -> None:
        gtp.ask(f"boardsize {position.size}")
        gtp.ask("clear_board")
        gtp.ask(f"komi {position.komi:g}")
        if gtp.ask("known_command set_random_seed").strip() == "true":
            gtp.ask(f"set_random_seed {decision.seed % 2**31}")
        self._episode = decision.episode
        self._stones = (frozenset(), frozenset())

    def _follow(self, gtp: GtpEngine, position: Position, other: int) -> None:
        """Send the engine the opponent's move, or the whole position if that does not explain
        it."""
        size = position.size
        if position.stones == self._stones:
            if any(self._stones):
                gtp.ask(f"play {COLORS[other]} pass")
            return
        new = position.stones[other] - self._stones[other]
        if len(new) == 1:
            (point,) = new
            if played(self._stones, other, point, size) == position.stones:
                gtp.ask(f"play {COLORS[other]} {vertex(point, size)}")
                return
        gtp.ask("clear_board")
        for seat, stones in enumerate(position.stones):
            for point in sorted(stones):
                gtp.ask(f"play {COLORS[seat]} {vertex(point, size)}")

    def _seconds(self, decision: Decision) -> float:
        clock = decision.clock
        if clock is None:
            return LONG
        limits = [each for each in (clock.decision, clock.left) if each is not None]
        return max(0.1, min(limits, default=LONG) - MARGIN)
