"""How an episode ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dovetail.protocol import messages as m


@dataclass(frozen=True, slots=True)
class Ending:
    """How an episode ended."""

    reason: m.Reason
    blame: int | None = None
    outcome: list[float] | None = None
    message: str = ""

    @property
    def scored(self) -> bool:
        """Whether it counts; an interrupted episode does not."""
        return self.reason not in m.INTERRUPTED


def others_win(seats: int, loser: int) -> list[float] | None:
    """Return the outcome in which the other seats share the win; None if there are no others."""
    others = seats - 1
    return [0.0 if each == loser else 1.0 / others for each in range(seats)] if others else None


def crash(
    price: m.Crash, seat: int, message: str, forfeit: Callable[[int, m.Reason, str], Ending]
) -> Ending:
    """Return the ending of an episode in which a seat's agent failed at its decision."""
    if price == "forfeit":
        return forfeit(seat, "stalled", message)
    if price == "truncate":
        return Ending("truncated", seat, message=message)
    return Ending("crashed", seat, message=message)
