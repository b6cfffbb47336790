"""Agent instances, with their owners and users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.protocol.messages import ExperimentCreate, Offer


@dataclass(eq=False, slots=True)
class Instance:
    """An agent instance."""

    number: int
    offer: Offer
    peer: Peer
    """The program that holds it."""
    owner: Peer
    """The experiment that created it and takes it along; a single agent's program itself."""
    ready: bool = False
    """True once the program has created it."""
    busy: int = 0
    """Episodes in progress."""
    runs: set[int] = field(default_factory=set)
    """The numbers of the runs that seat it."""
    stalled: bool = False
    """True if it left a decision unanswered; it is seated again once its program is heard."""
    made: ExperimentCreate | None = None
    """The request that created it; None for a program that is a single agent."""
    lost: bool = False
    """True if its program is gone and it has not been recreated yet."""
    losses: int = 0
    """The number of times it was lost."""
    size: int = 0
    """Bytes charged to its owner, without those of ``saved``; see ``holdings``."""
    saved: bytes | None = None
    """The state from which it is recreated."""
    unsaved: int = 0
    """Learning episodes since that state."""
    saving: int = 0
    """The part of ``unsaved`` that a pending save covers; 0 if none is pending."""

    @property
    def agent(self) -> str:
        """The agent type, or the name of a program that is a single agent."""
        return self.offer.name

    @property
    def held(self) -> int:
        """Bytes held for its owner; 0 for a peer in this process."""
        return self.size + len(self.saved or b"") if self.size else 0

    def open_to(self, experiment: Peer, broker: BrokerState) -> bool:
        """Return whether an experiment may use it: its own, a shared one, or a program's own."""
        return self.made is None or self.made.shared or broker.may_use(experiment, self.owner)

    @property
    def closed(self) -> str:
        """The error for an experiment that may not use it."""
        return f"agent {self.number} is another experiment's, which may create it as `shared`"

    def free(self) -> bool:
        """Return whether it can start another episode now."""
        capacity = self.offer.capacity
        there = not (self.stalled or self.lost) and self.peer.machine.state != "gone"
        return there and (capacity == 0 or self.busy < capacity)

    def room(self, most: int) -> int:
        """Return how many episodes it can start now, up to ``most``."""
        if not self.free():
            return 0
        capacity = self.offer.capacity
        return min(most, capacity - self.busy) if capacity else most


class Instances(BrokerPart):
    """All instances; nothing else adds or removes one."""

    STATE = ("_all", "_at", "_made", "_named")

    def __init__(self) -> None:
        self._all: dict[int, Instance] = {}
        self._at: dict[Peer, dict[int, Instance]] = {}
        self._made: dict[Peer, dict[int, Instance]] = {}  # by their owners
        self._named: dict[str, Instance] = {}
        """Programs that are single agents, by their unique names."""

    def __iter__(self) -> Iterator[Instance]:
        return iter(self._all.values())

    def add(self, instance: Instance) -> None:
        self._all[instance.number] = instance
        instance.owner.held += instance.held
        for index, peer in ((self._at, instance.peer), (self._made, instance.owner)):
            index.setdefault(peer, {})[instance.number] = instance
        if instance.offer.instance:
            self._named[instance.agent] = instance

    def drop(self, instance: Instance) -> None:
        if self._all.pop(instance.number, None) is not None:
            instance.owner.held -= instance.held
            for index, peer in ((self._at, instance.peer), (self._made, instance.owner)):
                del index[peer][instance.number]
                if not index[peer]:
                    del index[peer]
            if self._named.get(instance.agent) is instance:
                del self._named[instance.agent]

    def get(self, number: int) -> Instance | None:
        """Return an instance by number, ready or not."""
        return self._all.get(number)

    def called(self, name: str) -> Instance | None:
        """Return the single-agent program of this name."""
        return self._named.get(name)

    def find(self, name: int | str) -> Instance | None:
        """Return the instance that a run names, if it is ready."""
        if isinstance(name, str):
            return self.called(name)
        instance = self._all.get(name)
        return instance if instance is not None and instance.ready else None

    def at(self, peer: Peer) -> list[Instance]:
        return list(self._at.get(peer, {}).values())

    def made_for(self, experiment: Peer) -> list[Instance]:
        """Return the instances that an experiment created."""
        return list(self._made.get(experiment, {}).values())


class SeatAssignment(NamedTuple):
    """The assignment of an agent to a seat for an episode."""

    player_index: int
    """The agent's index in the run's list."""
    instance: Instance
    stands_for: int | None
    """The number of the lost agent that it replaces; None if it replaces none."""
