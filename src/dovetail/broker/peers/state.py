"""State shared by the broker's parts: settings, output, numbers, peers.

All other state is in the part that owns it: ``instances``, ``requests``, ``runs``, ``episodes``.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from mypy_extensions import mypyc_attr

from dovetail.broker.peers import limits
from dovetail.broker.peers.access import Access
from dovetail.broker.peers.outbox import Address, Out
from dovetail.broker.peers.peers import Peer
from dovetail.broker.rules.clocks import FOREVER
from dovetail.protocol import messages as m
from dovetail.protocol.journal import AnyRecord, StateRecord


class Timed(Protocol):
    """Something with a deadline."""

    @property
    def deadline(self) -> float:
        """The time at which it is overdue; ``FOREVER`` for never."""
        ...

    timer: float
    """The time of its earliest entry in the heap; ``FOREVER`` without one."""


class Timers:
    """A heap of deadlines, each checked again when its entry comes up."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timed]] = []
        """Entries by time; an object can have several."""
        self._order = itertools.count()

    def watch(self, timed: Timed) -> None:
        """Watch an object's deadline; call again if it becomes earlier."""
        if timed.deadline < timed.timer:
            timed.timer = timed.deadline
            heapq.heappush(self.heap, (timed.timer, next(self._order), timed))

    def rewatch(self, timed: Timed) -> None:
        """Watch an object whose entries were cleared from the heap."""
        timed.timer = FOREVER
        self.watch(timed)

    def due(self, now: float) -> Iterator[Timed]:
        """Yield the overdue objects; the caller handles each before it takes the next."""
        while self.heap and self.heap[0][0] <= now:
            due, _, timed = heapq.heappop(self.heap)
            if timed.timer != due:
                continue
            timed.timer = FOREVER
            if timed.deadline <= now:
                yield timed
            self.watch(timed)


@dataclass(frozen=True, slots=True)
class Settings:
    """A broker's settings; times in seconds."""

    token: str | None = None
    """The access token that every peer must present."""
    heartbeat: float = 1.0
    peer_timeout: float = 30.0
    """Silence after which an idle peer counts as lost."""
    grace: float = 10.0
    """Time for which a lost peer's seats are kept."""
    limits: m.Limits = field(default_factory=m.Limits)
    access: Access | None = None
    """Permissions by key; None for a broker without keys."""


@mypyc_attr(allow_interpreted_subclasses=True)
class BrokerPart:
    """A part of the broker whose state is in snapshots."""

    STATE: ClassVar[tuple[str, ...]] = ()
    """The fields with that state; all others can be derived or end with the process."""

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.STATE}

    def take_over(self, state: Mapping[str, Any]) -> None:
        """Restore the fields from the ``state`` of another such part."""
        for name in self.STATE:
            value, own = state[name], getattr(self, name)
            if isinstance(own, dict):  # other parts may share it
                own.clear()
                own.update(value)
            else:
                setattr(self, name, value)


ALL = ""
"""The key of ``recorded`` for all owners, those of earlier sessions included."""


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
        """Events raised by the parts, for the core to dispatch; see ``runs.events``."""
        self.records: list[AnyRecord] = []
        self.states: dict[str, bytes] = {}
        """Stored agent states, by name."""
        self.keepers: dict[str, str] = {}
        """The owner (``Peer.owner``) of each stored state; a session only while it lasts."""
        self.shared: set[str] = set()
        """The names of states that any experiment may use."""
        self.journalled = False
        """True if there is a journal."""
        self.recorded: dict[str, int] = {}
        """Bytes of the journal by ``Peer.owner``, ``ALL`` in all; a session only while it lasts."""
        self.counters = {"turns": 0, "episodes": 0, "ignored": 0, "refused": 0}
        self.stopping = False
        self.entrant: Callable[[str], str | None] = lambda token: None
        """Returns the entrant of an access token; None if it is unknown."""
        self.origin: Callable[[Address], str] | None = None
        """Returns the machine of a connection, for the catalogue; None leaves it out."""
        self.missed: Callable[[str], None] = lambda text: None
        """Called with a line to log when a run starts waiting for a lost peer."""
        self.timers = Timers()
        self.connections: dict[Address, Peer] = {}
        """The connected peers."""
        self.sessions: dict[str, Peer] = {}
        """All peers, those away included, by session token."""
        self.next = 1
        """The next unused number."""
        self.slowed: dict[Address, float] = {}
        """Connections not to be read, with the seconds."""
        self.dropped: dict[Address, str] = {}
        """Connections to close, with the reason; an empty one was told already."""
        self._unauthenticated: dict[Address, int] = {}

    def keeps(self, peer: Peer, name: str) -> bool:
        """Return whether an experiment may read and replace a stored state."""
        keeper = self.keepers.get(name)
        if keeper is None or keeper == peer.owner or name in self.shared:
            return True
        _, key, other = keeper.partition("key ")
        if key:
            access = self.settings.access
            return access is None or access.may_use(peer.key, other)
        return keeper not in self.sessions

    def store(self, peer: Peer, name: str, agent: str, state: bytes, *, shared: bool) -> None:
        """Store a peer's state; others may use it if it is ``shared``."""
        self.states[name] = state
        self.keepers[name] = peer.owner
        self.shared.discard(name)
        if shared:
            self.shared.add(name)
        self.record(peer, StateRecord(name, agent, state, key=peer.key, shared=shared), len(state))

    def record(self, peer: Peer, record: AnyRecord, size: int) -> None:
        """Queue a record for the journal; ``size`` is that of the state, or of actions and run."""
        self.records.append(record)
        if self.journalled:
            for owner in (peer.owner, ALL):
                self.recorded[owner] = self.recorded.get(owner, 0) + size + limits.RECORD

    def recorded_too_much(self, peer: Peer) -> str:
        """Return why nothing more may be recorded for a peer, or an empty string."""
        if peer.outbox.reliable:
            return ""
        size, most = self.recorded.get(peer.owner, 0), peer.allowance.record_bytes
        if size > most:
            text = f"your episodes and states have {size:,} bytes in the journal"
            return f"{text}, and may have {most:,}"
        whole = self.recorded.get(ALL, 0)
        if whole > limits.RECORDS_IN_ALL:
            text = f"the broker's journal has {whole:,} bytes, and may have"
            return f"{text} {limits.RECORDS_IN_ALL:,}; ask for a broker with another --journal"
        return ""

    def admits(self, public: str) -> bool:
        """Return whether a program with a public key may connect."""
        access = self.settings.access
        return access is not None and access.admits(public)

    def allowance(self, key: str) -> limits.Allowance:
        """Return the limits of a peer with a key; an empty name is for none."""
        access = self.settings.access
        return limits.USUAL if access is None else access.allowance(key)

    def may_use(self, peer: Peer, other: Peer) -> bool:
        """Return whether a peer may use what belongs to another."""
        access = self.settings.access
        return peer is other or (
            access is not None and bool(other.key) and access.may_use(peer.key, other.key)
        )

    def number(self) -> int:
        return self.numbers(1)[0]

    def numbers(self, count: int) -> range:
        first = self.next
        self.next = first + count
        return range(first, self.next)

    def ignore(self, peer: Peer, message: m.Message | None = None) -> None:
        """Count, and charge for, a message that is late, doubled or foreign."""
        self.counters["ignored"] += 1
        if not peer.outbox.reliable:
            units = 0.0
            if message is not None:
                units = limits.values(message, peer.size, self.settings.limits.elements)
            self.charge(peer, limits.IGNORED + units)

    def charge(self, peer: Peer, units: float) -> None:
        """Charge a peer that was just heard, unless it is in this process."""
        if not peer.outbox.reliable:
            limits.charge(peer, units, peer.heard)
            seconds = limits.rest(peer)
            if seconds:
                self.slowed[peer.outbox.address] = seconds

    def count_unauthenticated(self, address: Address) -> None:
        """Count a message on a connection without a session."""
        count = self._unauthenticated[address] = self._unauthenticated.get(address, 0) + 1
        if count > limits.UNAUTHENTICATED:
            self.dropped[address] = f"{count} messages without a session; say hello first"
            del self._unauthenticated[address]

    def authenticated(self, address: Address) -> None:
        """Stop counting for a connection, which has a session or has ended."""
        self._unauthenticated.pop(address, None)
