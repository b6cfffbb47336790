"""The ending of an episode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dovetail.protocol import messages as m


@dataclass(frozen=True, slots=True)
class Ending:
    """The ending of an episode."""

    reason: m.Reason
    blame: int | None = None
    outcome: list[float] | None = None
    message: str = ""

    @property
    def scored(self) -> bool:
        """True if it counts; an interrupted episode does not."""
        return self.reason not in m.INTERRUPTED


SEAT_REASONS: tuple[m.Reason, m.Reason] = ("terminated", "truncated")
"""The reason that a seat is told, by whether a limit cut it short."""


Forfeit = Callable[[int, m.Reason, str], Ending]
"""Credits the rewards of a forfeit and returns its ending: seat, reason, message."""


def others_win(seats: int, loser: int) -> list[float] | None:
    """Return the outcome in which the other seats share the win; None if there are no others."""
    others = seats - 1
    return [0.0 if each == loser else 1.0 / others for each in range(seats)] if others else None


def crash(
    price: m.Crash,
    seat: int,
    error: m.Error | m.Fault,
    forfeit: Forfeit,
) -> Ending:
    """Return the ending of an episode in which a seat's agent failed at its decision."""
    message = error.message
    if price == "forfeit" or error.code == "unavailable":  # the player behind the agent is gone
        return forfeit(seat, "stalled", message)
    if price == "truncate":
        return Ending("truncated", seat, message=message)
    return Ending("crashed", seat, message=message)


def too_long(limit: int) -> Ending:
    """Return the ending of an episode that has as many turns as its run allows."""
    return Ending("truncated", message=f"the run allows {limit} turns")


def where(seat: int, turn: int, what: str) -> str:
    """Return what happened, after its seat and turn."""
    return f"seat {seat}, turn {turn}: {what}"


def breach(price: m.Breach, seat: int, reason: m.Reason, message: str, forfeit: Forfeit) -> Ending:
    """Return the ending that a timeout or an illegal action costs, if no action replaces it."""
    if price == "truncate":
        return Ending("truncated", seat, message=f"{reason}: {message}")
    return forfeit(seat, reason, message)


def resigned(seat: int, turn: int, forfeit: Forfeit) -> Ending:
    """Return the ending of an episode that a seat resigned."""
    return forfeit(seat, "terminated", f"seat {seat} resigned at turn {turn}")
