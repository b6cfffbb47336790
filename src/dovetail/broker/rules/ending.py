"""Endings of episodes."""

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
        """True if the episode counts; an interrupted one does not."""
        return self.reason not in m.INTERRUPTED


SEAT_REASONS: tuple[m.Reason, m.Reason] = ("terminated", "truncated")
"""The reason for a seat, by whether it was truncated."""


Forfeit = Callable[[int, m.Reason, str], Ending]
"""A function of seat, reason and message that credits a forfeit and returns its ending."""


def others_win(seats: int, loser: int) -> list[float] | None:
    """Return the outcome in which the other seats share the win; None if there are none."""
    others = seats - 1
    return [0.0 if each == loser else 1.0 / others for each in range(seats)] if others else None


def crash(price: m.Crash, seat: int, error: m.Error | m.Fault, forfeit: Forfeit) -> Ending:
    """Return the ending of an episode whose agent failed at a decision."""
    message = error.message
    if price == "forfeit" or error.code == "unavailable":  # the player behind the agent is gone
        return forfeit(seat, "stalled", message)
    if price == "truncate":
        return Ending("truncated", seat, message=message)
    return Ending("crashed", seat, message=message)


def too_long(limit: int) -> Ending:
    """Return the ending of an episode that has reached its run's limit of turns."""
    return Ending("truncated", message=f"the run allows {limit} turns")


def where(seat: int, turn: int, what: str) -> str:
    """Return a message prefixed by its seat and turn."""
    return f"seat {seat}, turn {turn}: {what}"


def breach(price: m.Breach, seat: int, reason: m.Reason, message: str, forfeit: Forfeit) -> Ending:
    """Return the ending after a timeout or an illegal action that no other action replaces."""
    if price == "truncate":
        return Ending("truncated", seat, message=f"{reason}: {message}")
    return forfeit(seat, reason, message)


def resigned(seat: int, turn: int, forfeit: Forfeit) -> Ending:
    """Return the ending after a seat resigned."""
    return forfeit(seat, "terminated", f"seat {seat} resigned at turn {turn}")
