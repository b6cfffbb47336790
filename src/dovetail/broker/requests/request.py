"""A request on its way to another peer's program."""

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
"""Messages in which a request reaches the program that is to answer it."""


@dataclass(eq=False, slots=True)
class Request:
    """A request to an agent's or environment's program on behalf of another peer."""

    peer: Peer
    """The peer that is to answer."""
    message: Passed
    asker: Peer
    id: int
    """The asker's own number of it."""
    seconds: float | None
    """How long the asker waits."""
    deadline: float
    state_name: str | None = None
    """For ``save``: the name under which to keep the state."""
    shared: bool = False
    """For ``save``: whether others may use the state."""
    agent: str = ""
    """For ``save``: the type of the agent."""
    given_up: bool = False
    """Nothing waits for the answer any more."""
    size: int = 0
    """Bytes that it holds; see ``holdings``."""
    timer: float = FOREVER
    internal: bool = False
    """True if the broker itself asks, and no peer."""


class Answered(NamedTuple):
    """The answer to one of the broker's own requests."""

    request: Request
    state: bytes | None
    """The agent's, if that was asked for."""
    failure: str
    """The reason why it failed; empty if it did not."""
