"""Peers as the broker knows them.  A session outlives its connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dovetail.broker.peers.limits import USUAL, Allowance
from dovetail.broker.peers.outbox import Outbox
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code
from dovetail.protocol.states import SESSION, Machine, SessionPhase

COMPLAINTS = 100
"""Maximum errors about no request that a peer is told before its next ``pong``."""
CROWD = 64
"""Peers with the usual heartbeat; those that come later have longer ones, in proportion."""
MAX_HEARTBEAT = 30.0
"""Seconds of the longest heartbeat in a crowd."""
PATIENCE = 3.0
"""Heartbeats in a crowd for which a peer may be silent at least."""
BEFORE_ANY = -(1 << 63) - 1
AT_WORK = 10
"""How many times longer than others a peer may be silent that is at work on a request."""
TURNS = (
    m.Open
    | m.EnvironmentStart
    | m.EnvironmentStep
    | m.EnvironmentSteps
    | m.AgentStart
    | m.AgentStep
    | m.AgentSteps
)
"""Requests bounded by clocks, so that a peer may be silent while it owes the answer."""


def _new() -> Machine[SessionPhase]:
    return Machine(SESSION, "new")


@dataclass(eq=False, slots=True)
class Peer:
    """A program that has said ``hello``."""

    session: str
    name: str
    role: m.Role
    offers: dict[str, m.Offer]
    outbox: Outbox
    heard: float
    """When its last frame came, in the core's seconds."""
    greeting: m.Hello | None
    """Its first ``hello``, as long as ``size`` is below 0."""
    size: int = -1
    """Bytes of its last message, 0 if unknown; below 0 until it sends anything but ``hello``."""
    software: str = ""
    entrant: str = ""
    """The owner of the access token that it presented; empty for the broker's."""
    token: str = ""
    """That token, which may be revoked; empty for the broker's."""
    public: str = ""
    """Its public key, or the digest of its token (``access.credential``)."""
    key: str = ""
    """The name of that key."""
    allowance: Allowance = USUAL
    """Its limits."""
    machine: Machine[SessionPhase] = field(default_factory=_new)
    lost: float = 0.0
    """When its connection went, while it is away."""
    heartbeat: float = 0.0
    """Seconds between two pings, as its `welcome` says."""
    due: float = 0.0
    """When it is pinged next."""
    ping: int = 0
    request: int = BEFORE_ANY
    """The highest ``id`` of a request that it has made."""
    watching: dict[int | None, m.Watch] = field(default_factory=dict)
    """Its `watch` per run; key None covers all other runs."""
    complaints: int = 0
    owed: float = 0.0
    """Outstanding debt at time ``charged``."""
    charged: float = 0.0
    strikes: int = 0
    """Messages refused since it owed nothing."""
    unanswered: int = 0
    """Its requests to other peers' programs that are under way."""
    saves: int = 0
    """How many of these ask for a state."""
    held: int = 0
    """Bytes that its requests, agents and runs hold; see ``holdings``."""

    @property
    def owner(self) -> str:
        """The owner of its runs, agents and stored states: its key, without keys its session."""
        return f"key {self.key}" if self.key else self.session

    @property
    def away(self) -> bool:
        """True if its connection is gone, and it may yet come back."""
        return self.machine.state == "away"

    def asks(self, request: int) -> bool:
        """Note the ``id`` of a request; return whether it is new.

        A repeated one gets the same answer again, if there was one.
        """
        if request > self.request:
            self.request = request
            return True
        answer = self.outbox.reply_to(request)
        if answer is not None:
            self.outbox.tell(answer)
        return False

    def reply(self, request: int, body: Any = None) -> None:
        """Answer a request."""
        self.outbox.deliver(m.Reply(request, body))

    def refuse(self, request: int, code: str, text: str) -> None:
        """Answer a request with an error."""
        self.outbox.deliver(m.Error(code, text, id=request))

    def complain(self, code: Code, text: str) -> None:
        """Tell the peer of a mistake, unless it was told of too many already."""
        self.complaints += 1
        if self.complaints <= COMPLAINTS:
            self.outbox.tell(m.Error(code, text))


def heartbeat(usual: float, peers: int) -> float:
    """Return the seconds between two pings of a peer.

    Args:
        usual: for a peer that is not in a crowd.
        peers: how many there are when it comes.

    The pings of all together grow with the logarithm of their number, up to ``MAX_HEARTBEAT``.
    """
    return max(usual, min(usual * peers / CROWD, MAX_HEARTBEAT))


def timeout(beat: float, usual: float, patience: float) -> float:
    """Return the seconds for which a peer may be silent.

    Args:
        beat: its heartbeat.
        usual: that of a peer that is not in a crowd.
        patience: for such a peer.
    """
    return max(patience, PATIENCE * beat) if beat > usual else patience


def silent(peer: Peer, silence: float, patience: float) -> bool:
    """Return whether a peer was silent for too long.

    One that is at work on something may be: clocks bound how long it may be at work on a turn;
    a request may take longer.
    """
    if silence <= patience or peer.role not in ("environment", "agent"):
        return False
    asking = [each for each in peer.outbox.asked.values() if not isinstance(each, m.Init)]
    at_turn = any(isinstance(each, TURNS) for each in asking)
    return not asking or (not at_turn and silence >= AT_WORK * patience)
