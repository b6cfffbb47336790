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
"""Errors about no request that a peer is told; no more until its next ``pong``."""
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
"""What clocks bound, so that a peer may be silent while it owes the answer."""


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
    """Bytes of what it said last, 0 if they are not known; below 0 until it says anything but ``hello``."""
    software: str = ""
    entrant: str = ""
    """Whose own access token it came with; empty for the broker's."""
    token: str = ""
    """That token, which may be revoked; empty for the broker's."""
    public: str = ""
    """Its public key; empty without keys, and for a peer in the broker's program."""
    key: str = ""
    """The name of that key."""
    allowance: Allowance = USUAL
    """What it may cost."""
    machine: Machine[SessionPhase] = field(default_factory=_new)
    lost: float = 0.0
    """When its connection went, while it is away."""
    ping: int = 0
    request: int = BEFORE_ANY
    """The highest ``id`` of a request that it has made."""
    watching: dict[int | None, m.Watch] = field(default_factory=dict)
    """By run, what it asked to be shown, or not to be; None is all runs for which it did not ask by number."""
    complaints: int = 0
    owed: float = 0.0
    """Units that it was charged for and that have not worn off, at the time ``charged``."""
    charged: float = 0.0
    strikes: int = 0
    """Messages refused since it owed nothing."""
    unanswered: int = 0
    """Its requests to other peers' programs that are under way."""
    saves: int = 0
    """How many of these ask for a state."""
    held: int = 0
    """Bytes that its requests, agents and runs hold, as of ``holdings``."""

    @property
    def owner(self) -> str:
        """What its runs, agents and stored states belong to: its key, without keys its session."""
        return f"key {self.key}" if self.key else self.session

    @property
    def away(self) -> bool:
        """Whether its connection is gone, and it may yet come back."""
        return self.machine.state == "away"

    def asks(self, request: int) -> bool:
        """Take the ``id`` of a request; return whether it is a new one.

        One that came before is answered as before, once it was.
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
