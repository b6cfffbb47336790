"""A run: what an experiment asked for, how far it is, and which episode comes next.  Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from dovetail.broker.match import Match, Rules
from dovetail.broker.peers import Instance, Peer
from dovetail.protocol.messages import Progress, Run
from dovetail.protocol.seeds import derive


@dataclass(eq=False, slots=True)
class Running:
    """A run in progress."""

    number: int
    experiment: Peer
    asked: Run
    agents: list[Instance]
    rules: Rules
    state: str = "running"
    matches: set[Match] = field(default_factory=set)
    idle: list[Match] = field(default_factory=list)
    following: int = 0
    """The index of the next episode that was never begun."""
    again: deque[int] = field(default_factory=deque)
    """Indices of interrupted episodes to be played again."""
    tries: dict[int, int] = field(default_factory=dict)
    playing: int = 0
    finished: int = 0
    told: int = 0
    """``finished`` in the last ``progress``."""
    permits: int = 0
    """Stepwise: episodes that the experiment has asked to begin."""
    request: int | None = None
    """Stepwise: the request that the next turn answers."""

    def __post_init__(self) -> None:
        self.following = self.asked.first

    @property
    def last(self) -> int:
        """One past the index of the last episode."""
        return self.asked.first + self.asked.episodes

    def waiting(self) -> bool:
        """Whether any episode remains to be begun."""
        return bool(self.again) or self.following < self.last

    def peek(self) -> int:
        """Return the index of the next episode."""
        return self.again[0] if self.again else self.following

    def take(self) -> int:
        """Return the index of the next episode and move on."""
        if self.again:
            return self.again.popleft()
        self.following += 1
        return self.following - 1

    def seating(self, index: int) -> list[int]:
        """Return who sits where in an episode: by seat, a place in ``agents``."""
        seats = len(self.agents)
        shift = index % seats if self.asked.rotate else 0
        return [(seat - shift) % seats for seat in range(seats)]

    def seed(self, index: int) -> int:
        """Return the environment's seed of an episode."""
        if self.asked.seeds is not None:
            return self.asked.seeds[index - self.asked.first]
        if self.asked.rotate:
            index //= len(self.agents)
        return derive(self.asked.seed, "episode", index)

    def interrupted(self, index: int) -> bool:
        """Note that an episode was interrupted; return whether it is to be played again."""
        tries = self.tries.get(index, 0)
        if tries >= self.asked.retries or self.state not in ("running", "paused"):
            self.tries.pop(index, None)
            return False
        self.tries[index] = tries + 1
        self.again.append(index)
        return True

    def progress(self) -> Progress:
        """Return how far the run is."""
        return Progress(self.number, self.finished, self.playing, self.asked.episodes)
