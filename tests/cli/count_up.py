"""A tiny game and players for it, as a user would keep them in a file of their own."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from dovetail import Agent, Environment, Spec, Turn, View, spaces


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    target: Annotated[int, msgspec.Meta(ge=2, le=1_000_000, description="Who says it wins.")] = 10
    hold: int | None = None
    """Never come back from the step that reaches this."""
    broken: bool = False
    """Count in a way that depends on the time, not on the seed."""


class CountUp(Environment[Options]):
    """Count up in turns by one, two or three; whoever reaches the target wins.

    The seed says where it begins.
    """

    name = "count_up"

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[spaces.Discrete(1_000_010)],
            action_spaces=[spaces.Discrete(3, 1)],
            forfeit=(-1.0, 1.0),
        )

    def start(self, seed: int) -> Turn:
        self.total = random.Random(seed).randrange(3)
        self.seat = 0
        return self._turn()

    def step(self, actions: Any) -> Turn:
        self.total += actions[self.seat]
        if self.configuration.broken:
            self.total += time.monotonic_ns() % 3
        hold = self.configuration.hold
        if hold is not None and self.total >= hold:
            print("holding", flush=True)
            threading.Event().wait()
        if self.total >= self.configuration.target:
            rewards = [1.0 if seat == self.seat else -1.0 for seat in (0, 1)]
            return Turn(
                terminated=True,
                outcome=[max(0.0, reward) for reward in rewards],
                seats=[View(seat, self.total, reward=rewards[seat]) for seat in (0, 1)],
            )
        self.seat = 1 - self.seat
        return self._turn()

    def _turn(self) -> Turn:
        return Turn(to_act=[self.seat], seats=[View(self.seat, self.total, legal=[1, 2, 3])])

    def text(self, seat: int | None = None) -> str:
        return f"the count is {self.total}"


class Uncountable(Environment):
    def init(self) -> Spec:
        raise NotImplementedError


class Undecided(Agent):
    pass


class First(Agent):
    """Plays the first legal action and says what it hears."""

    def step(self, turn: Any) -> int:
        if turn.turn < 2:
            print(f"turn {turn.turn}", flush=True)
        action: int = turn.legal[0]
        return action

    def end(self, end: Any) -> None:
        print(f"end {end.reason} blame {end.blame}", flush=True)


class AtEase(First):
    """Takes a few milliseconds for every move."""

    def step(self, turn: Any) -> int:
        time.sleep(0.01)
        return super().step(turn)


class Chance(First):
    """Plays at random."""

    class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        bias: Annotated[int, msgspec.Meta(ge=0, le=3)] = 0

    def step(self, turn: Any) -> int:
        action: int = self.parameters.bias or turn.rng.choice(turn.legal)
        return action


class Stuck(First):
    """Never answers its second decision."""

    def step(self, turn: Any) -> int:
        if turn.turn >= 2:
            print("thinking", flush=True)
            threading.Event().wait()
        return super().step(turn)


class Kept(First):
    """Its state is a file's."""

    def load(self, state: bytes) -> None:
        Path("loaded").write_bytes(state)


class Failing(First):
    """Has a bug."""

    def step(self, turn: Any) -> int:
        raise RuntimeError("a bug")


class Piles(msgspec.Struct, frozen=True):
    heaps: tuple[int, ...] = (3, 4, 5)


class Heaps(CountUp):
    """Takes a list."""

    name = "heaps"
    Configuration: ClassVar[type[msgspec.Struct]] = Piles
