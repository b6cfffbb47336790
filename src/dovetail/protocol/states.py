"""The state machines of the contract, as tables.

Which messages a state accepts is decided here and nowhere else.  The broker changes state only
through these tables (``Machine.on``), SPEC.md prints them, and tests/broker/test_tables.py tries
every message in every state.  A message that a table does not name for a state leaves the state as
it is; SPEC.md says below each table what the sender gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Literal, TypeVar

from mypy_extensions import mypyc_attr

from dovetail.protocol.errors import DovetailError, ProtocolError

State = TypeVar("State", bound=str)
Table = Mapping[State, Mapping[str, State]]

SessionPhase = Literal["new", "ready", "away", "gone"]

SESSION: Table[SessionPhase] = {
    "new": {"hello": "ready"},
    "ready": {"hello": "ready", "bye": "gone", "lost": "away"},
    "away": {"hello": "ready", "replaced": "gone", "grace over": "gone"},
    "gone": {},
}
"""A peer at the broker.  ``lost``: its connection is gone, or was silent for too long.
``replaced``: a newcomer says ``hello`` with its name.  ``grace over``: it did not come back."""

MatchPhase = Literal["opening", "idle", "transition", "decision", "closed"]

MATCH: Table[MatchPhase] = {
    "opening": {"spec": "idle", "error": "closed", "close": "closed"},
    "idle": {"start": "transition", "close": "closed"},
    "transition": {"turn": "decision", "last turn": "idle", "error": "idle", "give up": "idle"},
    "decision": {"step": "transition", "give up": "idle"},
    "closed": {},
}
"""An environment opened for a match.  ``last turn``: a ``turn`` in which no seat acts.
``give up``: the broker ends the episode; the environment is not told, and hears ``start`` or
``close`` next.  ``error``: one that answers the ``open``, or the ``start`` or ``step`` in
progress."""

SeatPhase = Literal["free", "seated", "deciding", "waiting"]

SEAT: Table[SeatPhase] = {
    "free": {"init": "seated"},
    "seated": {"init": "seated", "start": "deciding", "end": "seated", "leave": "free"},
    "deciding": {
        "action": "waiting",
        "error": "waiting",
        "overdue": "waiting",
        "end": "seated",
        "leave": "free",
    },
    "waiting": {"step": "deciding", "end": "seated", "leave": "free"},
}
"""A seat of a match.  ``error``: one that answers the decision.  ``overdue``: the answer did not
come in time.  ``leave``: in an episode, its agent is lost, and ``init`` of a substitute follows."""

RunPhase = Literal["running", "paused", "draining", "over"]

RUN: Table[RunPhase] = {
    "running": {
        "pause": "paused",
        "unpause": "running",
        "drain": "draining",
        "cancel": "over",
        "finished": "over",
        "failed": "over",
    },
    "paused": {
        "pause": "paused",
        "unpause": "running",
        "drain": "draining",
        "cancel": "over",
        "failed": "over",
    },
    "draining": {"cancel": "over", "finished": "over", "failed": "over"},
    "over": {},
}
"""A run.  ``unpause``: a ``pause`` with ``paused`` false.  ``cancel``: also when its experiment or
the broker leaves.  ``finished``: no episode is left.  ``failed``: it cannot continue."""


class LocalStateError(DovetailError):
    """An event that the code around a ``Machine`` raised in a state that does not name it."""


class RemoteStateError(ProtocolError):
    """An event that a peer asked for in a state that does not name it; code ``wrong-state``."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Machine(Generic[State]):
    """A state of a table, and the moves from it."""

    __slots__ = ("_table", "state")

    def __init__(self, table: Table[State], first: State) -> None:
        self._table = table
        self.state = first

    def takes(self, event: str) -> bool:
        """Return whether the table names an event in this state."""
        return event in self._table[self.state]

    def on(self, event: str) -> None:
        """Move as the table says, for an event of this program.

        Raises:
            LocalStateError: the table does not name the event in this state.
        """
        try:
            self.state = self._table[self.state][event]
        except KeyError:
            raise LocalStateError(self._refusal(event)) from None

    def ask(self, event: str) -> None:
        """Move as the table says, for an event that a peer asks for.

        Raises:
            RemoteStateError: the table does not name the event in this state.
        """
        if not self.takes(event):
            raise RemoteStateError("wrong-state", self._refusal(event))
        self.on(event)

    def move(self, column: Mapping[State, State]) -> None:
        """Move as ``column(table, event)`` says: ``on`` with the event looked up beforehand.

        Raises:
            LocalStateError: the table does not name the event in this state.
        """
        try:
            self.state = column[self.state]
        except KeyError:
            raise LocalStateError(self._refusal(_event(self._table, column))) from None

    def _refusal(self, event: str) -> str:
        roles = (("session", SESSION), ("match", MATCH), ("seat", SEAT), ("run", RUN))
        role = next((role for role, each in roles if self._table is each), "machine")
        return f"cannot {event} a {role} that is {self.state}"


def _event(table: Table[State], leads: Mapping[State, State]) -> str:
    events = (event for row in table.values() for event in row)
    return next(event for event in events if column(table, event) == leads)


def column(table: Table[State], event: str) -> Mapping[State, State]:
    """Return the states that an event leads to, by the state before, for ``Machine.move``."""
    return {state: row[event] for state, row in table.items() if event in row}
