"""Agent instances, with their owners and users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
    """The experiment that had it made, and with which it goes; the program itself if it is one
    agent."""
    ready: bool = False
    """True if the program has made it."""
    busy: int = 0
    """Episodes in progress."""
    runs: set[int] = field(default_factory=set)
    """The numbers of the runs that have it in a seat."""
    stalled: bool = False
    """It left a decision unanswered; it is seated again once its peer is heard."""
    made: ExperimentCreate | None = None
    """How it was made; None for a program that is one agent."""
    lost: bool = False
    """Its program is gone, and it is not made again yet."""
    losses: int = 0
    """How often it was lost."""
    size: int = 0
    """Bytes charged to its owner besides those of ``saved``; see ``holdings``."""
    saved: bytes | None = None
    """The state from which it is made again."""
    unsaved: int = 0
    """Episodes in which it could learn since then."""
    saving: int = 0
    """How many of these are in the save that it was asked for; 0 if it was not."""

    @property
    def agent(self) -> str:
        """The agent type, or the name of a program that is one agent."""
        return self.offer.name

    @property
    def held(self) -> int:
        """Bytes that it holds for its owner; none for a peer in this program."""
        return self.size + len(self.saved or b"") if self.size else 0

    def open_to(self, experiment: Peer, broker: BrokerState) -> bool:
        """Return whether an experiment may use it: it is shared, offers itself, or is its own."""
        return self.made is None or self.made.shared or broker.may_use(experiment, self.owner)

    @property
    def closed(self) -> str:
        """The refusal for an experiment that it is not open to."""
        return f"agent {self.number} is another experiment's, which may create it as `shared`"

    def free(self) -> bool:
        """Return whether it can begin another episode now."""
        capacity = self.offer.capacity
        there = not (self.stalled or self.lost) and self.peer.machine.state != "gone"
        return there and (capacity == 0 or self.busy < capacity)

    def room(self, most: int) -> int:
        """Return how many episodes it can begin now, at most ``most``."""
        if not self.free():
            return 0
        capacity = self.offer.capacity
        return min(most, capacity - self.busy) if capacity else most


class Instances(BrokerPart):
    """All instances; nothing else adds or removes one."""

    STATE = ("_all", "_at", "_named")

    def __init__(self) -> None:
        self._all: dict[int, Instance] = {}
        self._at: dict[Peer, dict[int, Instance]] = {}
        self._named: dict[str, Instance] = {}
        """Programs that are one agent, by its name, which no two have."""

    def __iter__(self) -> Iterator[Instance]:
        return iter(self._all.values())

    def add(self, instance: Instance) -> None:
        """Add one."""
        self._all[instance.number] = instance
        instance.owner.held += instance.held
        self._at.setdefault(instance.peer, {})[instance.number] = instance
        if instance.offer.instance:
            self._named[instance.agent] = instance

    def drop(self, instance: Instance) -> None:
        """Remove one, if it is still there."""
        if self._all.pop(instance.number, None) is not None:
            instance.owner.held -= instance.held
            del self._at[instance.peer][instance.number]
            if not self._at[instance.peer]:
                del self._at[instance.peer]
            if self._named.get(instance.agent) is instance:
                del self._named[instance.agent]

    def get(self, number: int) -> Instance | None:
        """Return the instance of a number, made or in the making."""
        return self._all.get(number)

    def called(self, name: str) -> Instance | None:
        """Return the program that is one agent of this name."""
        return self._named.get(name)

    def find(self, name: int | str) -> Instance | None:
        """Return the instance that a run names, if it can be seated."""
        if isinstance(name, str):
            return self.called(name)
        instance = self._all.get(name)
        return instance if instance is not None and instance.ready else None

    def at(self, peer: Peer) -> list[Instance]:
        """Return those that a program holds."""
        return list(self._at.get(peer, {}).values())

    def made_for(self, experiment: Peer) -> list[Instance]:
        """Return the instances that an experiment created."""
        return [each for each in self._all.values() if each.owner is experiment]
