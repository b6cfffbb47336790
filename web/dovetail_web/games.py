"""Games that the page has seen: their positions, and the pace of watching."""

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
"""For games shown in a browser: the minimum seconds between two turns of one, and the maximum turns
per second of all.  A turn costs the broker about 0.25 ms of CPU time, less than 1 % in all."""
AFAR = 1.0, 10.0
"""The same for all other games, so that there is something to see when a browser comes."""


@dataclass(eq=False)
class Game:
    """A watched episode, in progress or over."""

    episode: int
    run: int
    environment: str
    agents: list[str]
    positions: list[bytes] = field(default_factory=list)
    """The JSON of each turn seen, in order."""
    first: int = 0
    """The index of the first position kept; initially its turn, for a watcher that came late."""
    turns: list[int] = field(default_factory=list)
    """The turn of each position; not every turn of a fast game is seen."""
    over: bool = False
    secret: bool = False
    """True if thoughts are held back until the end, since a person is playing."""
    result: dict[str, Any] | None = None
    version: int = 0
    heard: float = field(default_factory=time.monotonic)
    """The time since which the seats to act have been thinking."""
    running: list[int] = field(default_factory=list)
    """The seats whose clock is running."""
    seconds: dict[int, float] = field(default_factory=dict)
    """Seconds of thinking seen, by seat."""
    thoughts: dict[int, bytes] = field(default_factory=dict)
    """The JSON of thoughts held back in a secret game, by turn."""
    scene: Any = None
    """The scene of the newest position, as received."""
    thought: list[Any] = field(default_factory=list)
    """The thoughts that led to the newest position."""
    size: int = 0
    """Bytes of the positions and of the thoughts held back."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards the positions, which other threads read while old ones are dropped."""

    @property
    def whole(self) -> bool:
        """True if every turn up to the newest was seen."""
        return not self.turns or self.turns[-1] == len(self.turns) - 1

    @property
    def newest(self) -> bytes | None:
        """The JSON of the newest position; None if there is none."""
        with self._lock:
            return self.positions[-1] if self.positions else None

    def position(self, place: int) -> bytes | None:
        """Return the JSON of a position; None if it is not kept.

        Args:
            place: the index, counted from ``first``; the turn's number if every turn was seen.
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
        """Return each seat's seconds of thinking at a turn, which may be a repeated one."""
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
        """Return the thoughts that led to a turn, which are sent only once."""
        newest = self.turns[-1] if self.turns else None
        if turn.thoughts or newest != turn.turn:
            named: list[Choice] = []
            if turn.thoughts and newest == turn.turn - 1:
                named = choices(self.scene)
            self.thought = [[seat, thought(each, named)] for seat, each in turn.thoughts]
        self.scene = turn.scene
        return self.thought

    def keep(self, turn: int, position: bytes) -> None:
        """Add the newest position, or replace it."""
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
        """Hold back thoughts until the end of a secret game."""
        with self._lock:
            self.size += len(thoughts) - len(self.thoughts.get(turn, b""))
            self.thoughts[turn] = thoughts

    def shorten(self, most: int) -> int:
        """Drop old positions beyond ``most`` bytes, but not the newest; return the bytes left."""
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
        """Return the game's details apart from its positions."""
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
    """Return a turn for the browser."""
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
    """Return the seconds per turn seen of a match, given the number of matches; it changes in
    steps."""
    least, together = bounds
    steps = math.ceil(math.log2(max(1.0, matches / together / least)))
    return least * 2.0**steps
