"""The state that the parts of the broker share: settings, output, numbers, the peers.

Other state is in the part that owns it: instances in ``instances``, requests in ``requests``, runs
in ``runs``, episodes in ``episodes``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mypy_extensions import mypyc_attr

from dovetail.broker.peers import limits
from dovetail.broker.peers.access import Access
from dovetail.broker.peers.outbox import Address, Out
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.timers import Timers
from dovetail.protocol import messages as m
from dovetail.protocol.journal import AnyRecord, StateRecord


@dataclass(frozen=True, slots=True)
class Settings:
    """How a broker behaves; times in seconds."""

    token: str | None = None
    """The access token that every peer must present at ``hello``."""
    heartbeat: float = 1.0
    peer_timeout: float = 30.0
    """An idle peer is considered lost after this much silence."""
    grace: float = 10.0
    """How long a lost peer's seats are kept."""
    limits: m.Limits = field(default_factory=m.Limits)
    access: Access | None = None
    """Permissions of the holders of keys; None for a broker without keys."""


@mypyc_attr(allow_interpreted_subclasses=True)
class BrokerPart:
    """A part of the broker with state that a snapshot keeps."""

    STATE: ClassVar[tuple[str, ...]] = ()
    """The fields with that state; all others follow from them or end with the program."""

    def state(self) -> dict[str, Any]:
        """Return these fields."""
        return {name: getattr(self, name) for name in self.STATE}

    def take_over(self, state: Mapping[str, Any]) -> None:
        """Continue with what ``state`` of another such part returned."""
        for name in self.STATE:
            value, own = state[name], getattr(self, name)
            if isinstance(own, dict):  # other parts may share it
                own.clear()
                own.update(value)
            else:
                setattr(self, name, value)


ALL = ""
"""In place of an owner: all of them, also those of earlier sessions."""


class BrokerState(BrokerPart):
    """The broker's shared state, outgoing messages and pending events."""

    STATE = (
        *("settings", "counters", "stopping", "connections", "sessions", "next", "keepers"),
        *("shared", "recorded"),
    )

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.out = Out()
        self.events: deque[tuple[Any, ...]] = deque()
        """Events that the parts have raised, which the core dispatches; see ``runs.events``."""
        self.records: list[AnyRecord] = []
        self.states: dict[str, bytes] = {}
        """Agents' saved states by name."""
        self.keepers: dict[str, str] = {}
        """The owner (``Peer.owner``) of each state; a session only while it lasts."""
        self.shared: set[str] = set()
        """The names of states that any experiment may use."""
        self.journalled = False
        """True if records are kept."""
        self.recorded: dict[str, int] = {}
        """Bytes of records for each ``Peer.owner``, a session only while it lasts; those of the
        whole journal under ``ALL``."""
        self.counters = {"turns": 0, "episodes": 0, "ignored": 0, "refused": 0}
        self.stopping = False
        self.entrant: Callable[[str], str | None] = lambda token: None
        """Maps an access token to its entrant."""
        self.origin: Callable[[Address], str] | None = None
        """Returns the address of a connection's machine, for the catalogue; None keeps it out."""
        self.missed: Callable[[str], None] = lambda text: None
        """Called with a line when a run starts waiting for a lost peer."""
        self.timers = Timers()
        self.connections: dict[Address, Peer] = {}
        """The peers that are present."""
        self.sessions: dict[str, Peer] = {}
        """All peers, also those that are away, by session token."""
        self.next = 1
        """The number that the next thing gets."""
        self.slowed: dict[Address, float] = {}
        """Connections that are not to be read, and for how many seconds."""
        self.dropped: dict[Address, str] = {}
        """Connections to close, and why; the reason is empty if it has been told."""
        self._unauthenticated: dict[Address, int] = {}

    def keeps(self, peer: Peer, name: str) -> bool:
        """Return whether a saved state may be read and replaced by an experiment."""
        keeper = self.keepers.get(name)
        if keeper is None or keeper == peer.owner or name in self.shared:
            return True
        _, key, other = keeper.partition("key ")
        if key:
            access = self.settings.access
            return access is None or access.may_use(peer.key, other)
        return keeper not in self.sessions

    def store(self, peer: Peer, name: str, agent: str, state: bytes, *, shared: bool) -> None:
        """Store a state that a peer may keep; others may use it if it is ``shared``."""
        self.states[name] = state
        self.keepers[name] = peer.owner
        if shared:
            self.shared.add(name)
        else:
            self.shared.discard(name)
        self.record(peer, StateRecord(name, agent, state, key=peer.key, shared=shared), len(state))

    def record(self, peer: Peer, record: AnyRecord, size: int) -> None:
        """Have an episode or a state of a peer written down.

        Args:
            peer: the experiment whose it is.
            record: of it.
            size: of the state, or of the actions and of what is repeated of the run.
        """
        self.records.append(record)
        if self.journalled:
            for owner in (peer.owner, ALL):
                self.recorded[owner] = self.recorded.get(owner, 0) + size + limits.RECORD

    def recorded_too_much(self, peer: Peer) -> str:
        """Return why nothing more of a peer may be recorded; empty if it may."""
        if peer.outbox.reliable:
            return ""
        size, most = self.recorded.get(peer.owner, 0), peer.allowance.record_bytes
        if size > most:
            text = f"your episodes and states have {size:,} bytes in the journal"
            return f"{text}, and may have {most:,}"
        whole = self.recorded.get(ALL, 0)
        if whole > limits.RECORDS_IN_ALL:
            return (
                f"the broker's journal has {whole:,} bytes, and may have "
                f"{limits.RECORDS_IN_ALL:,}; "
                "ask for a broker with another --journal"
            )
        return ""

    def admits(self, public: str) -> bool:
        """Return whether a program with this public key may connect."""
        access = self.settings.access
        return access is not None and access.admits(public)

    def allowance(self, key: str) -> limits.Allowance:
        """Return the limits of a peer; ``key`` is the name of its key, or empty."""
        access = self.settings.access
        return limits.USUAL if access is None else access.allowance(key)

    def may_use(self, peer: Peer, other: Peer) -> bool:
        """Return whether a peer may use what belongs to another."""
        access = self.settings.access
        return peer is other or (
            access is not None and bool(other.key) and access.may_use(peer.key, other.key)
        )

    def experiments(self) -> list[Address]:
        """Return the connections of the experiments that are present."""
        peers = self.connections.items()
        return [address for address, peer in peers if peer.role == "experiment"]

    def number(self) -> int:
        """Return a number that nothing else has."""
        return self.numbers(1)[0]

    def numbers(self, count: int) -> range:
        """Return ``count`` numbers that nothing else has."""
        first = self.next
        self.next = first + count
        return range(first, self.next)

    def ignore(self, peer: Peer, message: m.Message | None = None) -> None:
        """Count a message that is late, doubled or foreign; it may have many values."""
        self.counters["ignored"] += 1
        if not peer.outbox.reliable:
            units = 0.0
            if message is not None:
                units = limits.values(message, peer.size, self.settings.limits.elements)
            self.charge(peer, limits.IGNORED + units)

    def charge(self, peer: Peer, units: float) -> None:
        """Charge a peer that was just heard; one in this program is trusted."""
        if not peer.outbox.reliable:
            limits.charge(peer, units, peer.heard)
            seconds = limits.rest(peer)
            if seconds:
                self.slowed[peer.outbox.address] = seconds

    def count_unauthenticated(self, address: Address) -> None:
        """Count something said over a connection that has no session."""
        count = self._unauthenticated[address] = self._unauthenticated.get(address, 0) + 1
        if count > limits.UNAUTHENTICATED:
            self.dropped[address] = f"{count} messages without a session; say hello first"
            del self._unauthenticated[address]

    def authenticated(self, address: Address) -> None:
        """Take note that a connection has a session, or has ended."""
        self._unauthenticated.pop(address, None)
