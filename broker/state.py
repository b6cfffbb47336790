"""What the broker knows, and what it is about to say.

``Sessions``, ``Requests``, ``Runs`` and ``Watching`` each change their part of it; nothing here
decides anything.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.broker.match import Match
from dovetail.broker.peers import Connection, Instance, Peer
from dovetail.broker.records import AnyRecord
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code

if TYPE_CHECKING:
    from dovetail.broker.run import Running

COMPLAINTS = 100
"""Errors about no request that a peer is told; no more until its next `pong`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a broker behaves; times in seconds."""

    token: str | None = None
    """What every peer must present at ``hello``."""
    heartbeat: float = 1.0
    patience: float = 30.0
    """A peer that owes nothing and was silent for so long is taken for lost."""
    grace: float = 10.0
    """How long a lost peer's seats are kept."""
    limits: m.Limits = field(default_factory=m.Limits)


@dataclass(slots=True)
class Request:
    """Something asked of an agent's or environment's program on behalf of another peer."""

    peer: Peer
    message: m.Message
    asker: Peer | None
    id: int
    """The asker's own number of it."""
    instance: Instance | None = None
    keep: str | None = None


class State:
    """The tables that the parts of the broker share, and the way out."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.out: list[tuple[Connection, m.Message]] = []
        self.records: list[AnyRecord] = []
        self.kept: dict[str, bytes] = {}
        """Agents' states by the name that they are kept under."""
        self.counters = {"turns": 0, "episodes": 0, "ignored": 0, "refused": 0}
        self.stopping = False
        self.connections: dict[Connection, Peer] = {}
        self.sessions: dict[str, Peer] = {}
        self.instances: dict[int, Instance] = {}
        self.runs: dict[int, Running] = {}
        self.matches: dict[int, Match] = {}
        self.episodes: dict[int, Match] = {}
        self.requests: dict[int, Request] = {}
        self._numbers = itertools.count(1)

    def number(self) -> int:
        """Return a number that nothing else has."""
        return next(self._numbers)

    def send(self, peer: Peer, message: m.Message, must: bool = False) -> None:
        """Send a message; one that must arrive is sent again after a reconnection."""
        connection = peer.connection
        if must:
            self.resend(peer, message)
        if connection is not None:
            self.out.append((connection, message))

    def resend(self, peer: Peer, message: m.Message) -> None:
        """Keep a message until the peer confirms that it has come."""
        if not getattr(peer.connection, "reliable", False):
            peer.unconfirmed.append((peer.ping + 1, message))

    def complain(self, peer: Peer, code: Code, text: str, **about: int | None) -> None:
        """Tell a peer of its mistake, unless it was told of too many already."""
        peer.complaints += 1
        if peer.complaints <= COMPLAINTS or about.get("id") is not None:
            self.send(peer, m.Error(code, text, **about))

    def reply(self, peer: Peer, number: int, body: Any) -> None:
        """Answer an experiment's request."""
        reply = m.Reply(number, body)
        peer.remember(reply)
        self.send(peer, reply, True)

    def repeated(self, peer: Peer, number: int) -> bool:
        """Whether a request came before; it is then answered as before, once it was."""
        answer = peer.answered.get(number)
        if answer is not None:
            self.send(peer, answer)
            return True
        return any(r.asker is peer and r.id == number for r in self.requests.values())
