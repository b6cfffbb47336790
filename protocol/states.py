"""Who may say what, when: the state machines of the contract, as tables.

Everything that decides whether a message fits its state stands in this file, and this file does
not know at which end it is used: the broker and the peers read the same tables, and SPEC.md
prints them.  A message that a table does not name in a state is refused with the error
``wrong-state`` (or, where it only is late, ignored and counted) and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Table = Mapping[str, Mapping[str, str]]

SESSION: Table = {
    "new": {"hello": "ready"},
    "ready": {"hello": "ready", "bye": "gone", "lost": "away"},
    "away": {"hello": "ready", "grace over": "gone"},
    "gone": {},
}
"""A peer at the broker; ``lost`` and ``grace over`` are events of the broker's own."""

MatchState = Literal["opening", "idle", "transition", "decision", "closed"]

MATCH: Table = {
    "opening": {"spec": "idle", "error": "closed", "close": "closed"},
    "idle": {"start": "transition", "close": "closed"},
    "transition": {
        "turn": "decision",
        "last turn": "idle",
        "start": "transition",
        "error": "idle",
        "give up": "idle",
        "close": "closed",
    },
    "decision": {"step": "transition", "start": "transition", "give up": "idle", "close": "closed"},
    "closed": {},
}
"""An environment opened for a match.  ``last turn`` is a ``turn`` with nobody to act; ``give up``
is the broker's end of an episode that the rules did not end."""

SeatState = Literal["free", "seated", "deciding", "waiting"]

SEAT: Table = {
    "free": {"init": "seated"},
    "seated": {"init": "seated", "start": "deciding", "end": "seated", "leave": "free"},
    "deciding": {"action": "waiting", "end": "seated"},
    "waiting": {"step": "deciding", "end": "seated"},
}
"""A seat of a match, as its agent and the broker see it."""

RUN: Table = {
    "running": {
        "pause": "paused",
        "drain": "draining",
        "cancel": "over",
        "finished": "over",
        "failed": "over",
    },
    "paused": {"pause": "running", "drain": "draining", "cancel": "over", "failed": "over"},
    "draining": {"cancel": "over", "finished": "over", "failed": "over"},
    "over": {},
}
"""A run.  ``finished`` and ``failed`` are events of the broker's own."""


def follow(table: Table, state: str, event: str) -> str | None:
    """Return the state after ``event``, or None if the table does not allow it."""
    return table[state].get(event)
