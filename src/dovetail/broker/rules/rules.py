"""The rules of play of a run's episodes."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.broker.rules.clocks import FOREVER
from dovetail.protocol import messages as m


@dataclass(frozen=True, slots=True)
class Rules:
    """The fields of a run of the same names that bind its episodes."""

    mode: m.Mode
    clock: m.ClockRule
    answer_timeout: float | None
    max_turns: int | None
    on_timeout: m.Breach
    on_illegal: m.Breach
    on_crash: m.Crash
    check: bool
    stepwise: bool
    lookahead: bool
    opening_turns: int = 0

    @property
    def patience(self) -> float:
        """For how many seconds an answer is awaited that no clock bounds."""
        return FOREVER if self.answer_timeout is None else self.answer_timeout


def rules_of(asked: m.Run) -> Rules:
    """Return what a run asks of its episodes."""
    return Rules(
        asked.mode,
        asked.clock,
        asked.answer_timeout,
        asked.max_turns,
        asked.on_timeout,
        asked.on_illegal,
        asked.on_crash,
        asked.check,
        asked.stepwise,
        asked.lookahead,
        asked.opening_turns,
    )
