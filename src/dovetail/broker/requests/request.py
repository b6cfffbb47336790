"""A pending request to another peer's program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dovetail.broker.peers.peers import Peer
from dovetail.broker.rules.clocks import FOREVER
from dovetail.protocol import messages as m

Passed = (
    m.Create
    | m.Save
    | m.Load
    | m.AgentMessage
    | m.Cleanup
    | m.EnvironmentMessage
    | m.EnvironmentLookahead
)
"""The messages that carry a request to the program that answers it."""


@dataclass(eq=False, slots=True)
class Request:
    """A request to an agent's or environment's program, on behalf of another peer."""

    peer: Peer
    """The peer that answers."""
    message: Passed
    asker: Peer
    id: int
    """The asker's ``id`` of it."""
    seconds: float | None
    """The asker's timeout; None for no limit."""
    deadline: float
    state_name: str | None = None
    """The name under which a saved state is stored."""
    shared: bool = False
    """True if others may use that state."""
    agent: str = ""
    """The agent type of that state."""
    given_up: bool = False
    """True if the answer is no longer wanted."""
    size: int = 0
    """Bytes held for it; see ``holdings``."""
    timer: float = FOREVER
    internal: bool = False
    """True if the broker itself is asking."""


class Answered(NamedTuple):
    """The event of an answer to one of the broker's own requests."""

    request: Request
    state: bytes | None
    """The agent's state, if that was requested."""
    failure: str
    """The reason for a failure; empty on success."""
