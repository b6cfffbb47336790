"""The broker's view of its peers.  A session outlives its connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dovetail.broker.peers.limits import USUAL, Allowance
from dovetail.broker.peers.outbox import Outbox
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code
from dovetail.protocol.states import SESSION, Machine, SessionPhase

COMPLAINTS = 100
"""Maximum errors outside of requests that a peer is sent between two of its ``pong``."""
CROWD = 64
"""Peers up to which the heartbeat is the usual one; beyond, it grows in proportion."""
MAX_HEARTBEAT = 30.0
"""Maximum heartbeat in a crowd, in seconds."""
PATIENCE = 3.0
"""Heartbeats for which a peer may be silent in a crowd."""
BEFORE_ANY = -(1 << 63) - 1
AT_WORK = 10
"""The factor by which a peer at work on a request may be silent longer than others."""
TURNS = (
    *(m.Open, m.EnvironmentStart, m.EnvironmentStep, m.EnvironmentSteps),
    *(m.AgentStart, m.AgentStep, m.AgentSteps),
)
"""Requests bounded by clocks: a peer may be silent while their answer is pending."""


@dataclass(eq=False, slots=True)
class Peer:
    """A program that has said ``hello``."""

    session: str
    name: str
    role: m.Role
    offers: dict[str, m.Offer]
    outbox: Outbox
    heard: float
    """The time of its latest frame, in the core's seconds."""
    greeting: m.Hello | None
    """Its first ``hello``; None once it has sent anything else."""
    size: int = -1
    """Bytes of its latest message, 0 if unknown; negative until it sends more than ``hello``."""
    software: str = ""
    entrant: str = ""
    """The owner of the access token that it presented; empty for the broker's own."""
    token: str = ""
    """That token, which can be revoked; empty for the broker's own."""
    public: str = ""
    """Its public key, or its token's digest; see ``access.credential``."""
    key: str = ""
    """The name of that key."""
    allowance: Allowance = USUAL
    """Its limits."""
    machine: Machine[SessionPhase] = field(default_factory=partial(Machine, SESSION, "new"))
    lost: float = 0.0
    """The time at which its connection was lost, while it is away."""
    heartbeat: float = 0.0
    """Seconds between two pings, as in its ``welcome``."""
    due: float = 0.0
    """The time of its next ping."""
    ping: int = 0
    request: int = BEFORE_ANY
    """The highest ``id`` of its requests."""
    watching: dict[int | None, m.Watch] = field(default_factory=dict)
    """Its ``watch`` by run; None is the key for all other runs."""
    complaints: int = 0
    owed: float = 0.0
    """Its debt at the time ``charged``, in units."""
    charged: float = 0.0
    strikes: int = 0
    """Messages refused since it was last free of debt."""
    unanswered: int = 0
    """Its pending requests to other peers' programs."""
    saves: int = 0
    """The number of these that ask for a state."""
    held: int = 0
    """Bytes held by its offers, requests, agents and runs; see ``holdings``."""

    @property
    def owner(self) -> str:
        """The owner of its runs, agents and stored states: its key, or its session without keys."""
        return f"key {self.key}" if self.key else self.session

    @property
    def away(self) -> bool:
        """True if its connection is lost and it may still come back."""
        return self.machine.state == "away"

    def asks(self, request: int) -> bool:
        """Record a request's ``id``; return whether it is new.  A repeated request gets its earlier
        answer, if there was one."""
        if request > self.request:
            self.request = request
            return True
        answer = self.outbox.reply_to(request)
        if answer is not None:
            self.outbox.tell(answer)
        return False

    def reply(self, request: int, body: Any = None) -> None:
        self.outbox.deliver(m.Reply(request, body))

    def refuse(self, request: int, code: str, text: str) -> None:
        self.outbox.deliver(m.Error(code, text, id=request))

    def complain(self, code: Code, text: str) -> None:
        """Send the peer an error, unless it was sent too many already."""
        self.complaints += 1
        if self.complaints <= COMPLAINTS:
            self.outbox.tell(m.Error(code, text))


def heartbeat(usual: float, peers: int) -> float:
    """Return the heartbeat of a new peer, in seconds; ``usual`` is the one without a crowd.  The
    total rate of pings grows with the logarithm of the number, up to ``MAX_HEARTBEAT``."""
    return max(usual, min(usual * peers / CROWD, MAX_HEARTBEAT))


def timeout(beat: float, usual: float, patience: float) -> float:
    """Return the seconds for which a peer with a heartbeat may be silent; ``patience`` are those of
    one with the usual heartbeat, without a crowd."""
    return max(patience, PATIENCE * beat) if beat > usual else patience


def silent(peer: Peer, silence: float, patience: float) -> bool:
    """Return whether a peer has been silent for too long.  A peer at work may be silent longer:
    clocks bound its time for a turn, and ``AT_WORK`` that for a request."""
    if silence <= patience or peer.role not in ("environment", "agent"):
        return False
    asking = [each for each in peer.outbox.asked.values() if not isinstance(each, m.Init)]
    at_turn = any(isinstance(each, TURNS) for each in asking)
    return not asking or (not at_turn and silence >= AT_WORK * patience)
