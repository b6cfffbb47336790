"""Games that the page has seen: their positions, and how closely they are watched."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dovetail.protocol import messages as m
from dovetail.protocol.scenes import Choice
from dovetail_web.positions import LONGEST_TEXT, drawn, encode, plain
from dovetail_web.thoughts import choices, thought

LONGEST_NAME = 100
CLOSE = 0.1, 25.0
"""Of games that a browser looks at: the least seconds between two turns of one, and the turns a
second of all together.  A turn costs the broker about 0.25 ms of CPU time: this is less than 1 % of
it."""
AFAR = 1.0, 10.0
"""The same of all others; so there is something to see when a browser comes."""


@dataclass(eq=False)
class Game:
    """An episode that is or was watched."""

    episode: int
    run: int
    environment: str
    agents: list[str]
    positions: list[bytes] = field(default_factory=list)
    """JSON of each turn that was seen, in order."""
    first: int = 0
    """The place of the first position, at first its turn: a late watcher has none of the earlier
    ones."""
    turns: list[int] = field(default_factory=list)
    """That of each position: of a fast game not all are seen."""
    over: bool = False
    secret: bool = False
    """True if thoughts are kept back until the end, since a person plays."""
    result: dict[str, Any] | None = None
    version: int = 0
    heard: float = field(default_factory=time.monotonic)
    """The moment since which the seats to act were seen to think."""
    running: list[int] = field(default_factory=list)
    """Seats whose clock runs."""
    seconds: dict[int, float] = field(default_factory=dict)
    """By seat, the seconds for which it was seen to think."""
    thoughts: dict[int, bytes] = field(default_factory=dict)
    """By turn, JSON of what is kept back until the end of a secret game."""
    scene: Any = None
    """Of the newest position, as it came."""
    thought: list[Any] = field(default_factory=list)
    """The turn that led to the newest position."""
    size: int = 0
    """Bytes of the positions, and of the thoughts that are kept back."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Other threads look for positions while old ones are dropped."""

    @property
    def whole(self) -> bool:
        """True if every turn up to the newest was seen."""
        return not self.turns or self.turns[-1] == len(self.turns) - 1

    @property
    def newest(self) -> bytes | None:
        """JSON of the newest position."""
        with self._lock:
            return self.positions[-1] if self.positions else None

    def position(self, place: int) -> bytes | None:
        """Return the JSON of a position, None if it is not kept.

        Args:
            place: counted from ``first``; the number of its turn, if every turn was seen.
        """
        with self._lock:
            at = place - self.first
            if not 0 <= at < len(self.positions):
                return None
            found, turn = self.positions[at], self.turns[at]
        if self.over and turn in self.thoughts:
            found = encode(
                {**msgspec.json.decode(found), "thoughts": msgspec.Raw(self.thoughts[turn])}
            )
        return found

    def thinking(self, turn: m.WatchedTurn, now: float) -> list[float]:
        """Return for how many seconds each seat has thought, when a turn comes, perhaps again."""
        again = bool(self.turns) and self.turns[-1] == turn.turn
        if again:  # its clocks begin to run, or one of several seats to act has answered
            done = [seat for seat in self.running if seat not in turn.running]
        elif self.turns:
            acted = [seat for seat, _ in turn.actions]
            done = [each for each in acted if each in self.running] if self.running else acted
        else:
            done = []
        for seat in done:
            self.seconds[seat] = self.seconds.get(seat, 0.0) + now - self.heard
        if not again or (turn.clocks and not self.running):
            self.heard = now
        self.running = turn.running
        return [round(self.seconds.get(seat, 0.0), 3) for seat in range(len(turn.rewards))]

    def heard_thoughts(self, turn: m.WatchedTurn) -> list[Any]:
        """Return what was thought before a turn, which is kept next; it comes only once."""
        newest = self.turns[-1] if self.turns else None
        if turn.thoughts or newest != turn.turn:
            named: list[Choice] = []
            if turn.thoughts and newest == turn.turn - 1:
                named = choices(self.scene)
            self.thought = [[seat, thought(each, named)] for seat, each in turn.thoughts]
        self.scene = turn.scene
        return self.thought

    def keep(self, turn: int, position: bytes) -> None:
        """Keep the newest position, or the newest again."""
        with self._lock:
            if self.turns and self.turns[-1] == turn:
                self.size += len(position) - len(self.positions[-1])
                self.positions[-1] = position
            elif not self.turns or self.turns[-1] < turn:
                self.size += len(position)
                self.turns.append(turn)
                self.positions.append(position)
        self.version += 1

    def keep_back(self, turn: int, thoughts: bytes) -> None:
        """Keep thoughts until the end of a secret game."""
        with self._lock:
            self.size += len(thoughts) - len(self.thoughts.get(turn, b""))
            self.thoughts[turn] = thoughts

    def shorten(self, most: int) -> int:
        """Drop the oldest positions beyond ``most`` bytes, but not the newest.

        Returns:
            The bytes that are kept.
        """
        with self._lock:
            count = 0
            while self.size > most and count < len(self.positions) - 1:
                self.size -= len(self.positions[count])
                self.size -= len(self.thoughts.pop(self.turns[count], b""))
                count += 1
            del self.positions[:count], self.turns[:count]
            self.first += count
            return self.size

    def about(self) -> dict[str, Any]:
        """Return what is to be said of it beside its positions."""
        return {
            "episode": self.episode,
            "run": self.run,
            "environment": self.environment[:LONGEST_NAME],
            "agents": [name[:LONGEST_NAME] for name in self.agents],
            "first": self.first,
            "count": len(self.positions),
            "whole": self.whole,
            "over": self.over,
            "result": self.result,
        }


def position_of(turn: m.WatchedTurn) -> dict[str, Any]:
    """Return a turn as the browser gets it."""
    scene, problem = drawn(turn.scene)
    return {
        "turn": turn.turn,
        "to_act": turn.to_act,
        "actions": [[seat, plain(action)] for seat, action in turn.actions],
        "rewards": plain(turn.rewards),
        "outcome": turn.outcome,
        "reason": turn.reason or ("terminated" if turn.terminated else None),
        "scene": scene,
        "problem": problem,
        "text": (turn.text or "")[:LONGEST_TEXT],
        "thoughts": [],
        "clocks": [[each.decision, each.left] for each in turn.clocks],
        "running": turn.running,
    }


def pace(bounds: tuple[float, float], matches: int) -> float:
    """Return the seconds for each turn of a match that is seen, by how many are played; it changes
    by steps."""
    least, together = bounds
    steps = math.ceil(math.log2(max(1.0, matches / together / least)))
    return least * 2.0**steps
