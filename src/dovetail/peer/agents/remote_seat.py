"""``RemoteSeat``: a seat whose actions come from elsewhere, such as a person or a caller's loop."""

from __future__ import annotations

from typing import Any

from dovetail.peer.agents.agent import RESIGN, Agent, Decision, End, Seat
from dovetail.peer.agents.host import LATER
from dovetail.protocol.errors import DovetailError

Answer = tuple[Decision, Any, int]
"""The arguments of ``AgentHost.answer``: a decision, the action, and the illegal ones before it."""


class RemoteSeat:
    """A seat that keeps its decision open until ``act`` answers it.

    Its program hands what ``act`` returns to ``AgentHost.answer``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seated: Seat | None = None
        self.decision: Decision | None = None
        """The open decision."""
        self.ended: End | None = None
        """The end of the last episode, until the next match begins."""
        self.refused = 0
        """Illegal answers to the open decision, for the seat's result."""
        self.resigned = False
        """True once the seat has given the match up; its next decision is answered with that."""

    def init(self, seat: Seat) -> None:
        """Take a seat."""
        self.seated, self.decision, self.ended = seat, None, None
        self.refused, self.resigned = 0, False

    def step(self, decision: Decision) -> Any:
        """Keep a decision open."""
        if self.resigned:
            return RESIGN
        self.decision, self.refused = decision, 0
        return LATER

    def end(self, end: End) -> None:
        """Close the episode."""
        self.decision, self.ended = None, end

    def act(self, action: Any) -> Answer:
        """Close the open decision with an action.

        Raises:
            DovetailError: there is none.
        """
        decision, self.decision = self.decision, None
        if decision is None:
            raise DovetailError("the seat has no decision to answer")
        return decision, action, self.refused

    def resign(self) -> Answer | None:
        """Give the match up, now or at the next decision; return the answer to an open one."""
        self.resigned = True
        decision, self.decision = self.decision, None
        return None if decision is None else (decision, RESIGN, self.refused)


class RemoteAgent(RemoteSeat, Agent):
    """An agent that is one ``RemoteSeat``."""

    name = "remote-seat"
