"""Peers as the broker knows them: sessions, what they offer, the agent instances they hold.

A session outlives its connection.  What must arrive is kept until a ``pong`` confirms it and sent
again after a resumption; decisions are sent again from the state of their match.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dovetail.protocol.messages import Message, Offer, Reply, Role, Saved

if TYPE_CHECKING:
    from dovetail.broker.match import Match

Connection = Hashable
"""Whatever the shell calls a connection; it changes when a peer reconnects."""

ANSWERS_KEPT = 64


@dataclass(eq=False, slots=True)
class Peer:
    """A program that has said ``hello``."""

    session: str
    name: str
    role: Role
    offers: dict[str, Offer]
    connection: Connection | None
    heard: float
    """When its last frame came, in the core's seconds."""
    software: str = ""
    state: str = "ready"
    lost: float = 0.0
    """When its connection went, while ``state`` is ``away``."""
    ping: int = 0
    unconfirmed: deque[tuple[int, Message]] = field(default_factory=deque)
    """What must arrive, with the number of the ping that will confirm it."""
    matches: set[Match] = field(default_factory=set)
    """For environments: the matches that it serves."""
    instances: dict[int, Instance] = field(default_factory=dict)
    answered: OrderedDict[int, Reply | Saved] = field(default_factory=OrderedDict)
    """For experiments: recent answers by request, for requests that come twice."""
    watching: set[int | None] = field(default_factory=set)
    """Runs whose turns it is sent; None is all runs."""
    complaints: int = 0

    def confirm(self, ping: int) -> None:
        """Forget what was sent before the ping of that number."""
        while self.unconfirmed and self.unconfirmed[0][0] <= ping:
            self.unconfirmed.popleft()

    def remember(self, answer: Reply | Saved) -> None:
        """Keep an answer for a request that comes twice."""
        self.answered[answer.id] = answer
        if len(self.answered) > ANSWERS_KEPT:
            self.answered.popitem(last=False)


@dataclass(eq=False, slots=True)
class Instance:
    """An agent: something that can sit down."""

    number: int
    agent: str
    """The agent type, or the name of a program that is one agent."""
    offer: Offer
    peer: Peer
    owner: Peer | None = None
    """The experiment that had it made; it is let go when that experiment is gone."""
    ready: bool = False
    """Whether the peer has made it."""
    busy: int = 0
    """Episodes in progress."""
    stalled: bool = False
    """It left a decision unanswered; it is seated again once its peer is heard."""
    gone: bool = False
    matches: set[Match] = field(default_factory=set)

    def free(self) -> bool:
        """Whether it can begin another episode now."""
        return not (self.stalled or self.gone) and (
            self.offer.capacity == 0 or self.busy < self.offer.capacity
        )
