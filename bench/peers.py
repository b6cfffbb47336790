"""A minimal environment and agent, so that the bench measures what lies between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from dovetail import Agent, Decision, Environment, Spec, Turn, View, spaces

TURNS = 42
OBSERVATION = "12345678"
LEGAL = list(range(7))


class Trivial(Environment):
    """Two seats in turn, always 42 turns, eight bytes to see and seven legal actions."""

    name = "trivial"

    def __init__(self, configuration: Any = None) -> None:
        super().__init__(configuration)
        self.turn = 0

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[spaces.Text(max_length=len(OBSERVATION))],
            action_spaces=[spaces.Discrete(len(LEGAL))],
            reward_range=(0.0, 0.0),
            max_turns=TURNS,
        )

    def start(self, seed: int) -> Turn:
        self.turn = 0
        return Turn(to_act=[0], seats=[View(0, OBSERVATION, LEGAL)])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.turn += 1
        if self.turn == TURNS:
            views = [View(0, OBSERVATION), View(1, OBSERVATION)]
            return Turn(seats=views, terminated=True, outcome=[0.5, 0.5])
        seat = self.turn % 2
        return Turn(to_act=[seat], seats=[View(seat, OBSERVATION, LEGAL)])


class Size(Struct, frozen=True, forbid_unknown_fields=True):
    """The option of ``Frames``."""

    size: Annotated[int, Meta(ge=1, description="Bytes of an observation.")] = 28_224


class Frames(Environment[Size]):
    """The trivial game with an array to see, of the size of frames."""

    name = "frames"

    def __init__(self, configuration: Size | None = None) -> None:
        super().__init__(configuration)
        self.seen = np.arange(self.configuration.size).astype(np.uint8)
        self.game = Trivial()

    def init(self) -> Spec:
        spec = self.game.init()
        spec.observation_spaces = [spaces.Box([self.seen.size], 0, 255, "uint8")]
        return spec

    def start(self, seed: int) -> Turn:
        return self._seen(self.game.start(seed))

    def step(self, actions: Mapping[int, Any]) -> Turn:
        return self._seen(self.game.step(actions))

    def _seen(self, turn: Turn) -> Turn:
        for view in turn.seats:
            view.observation = self.seen
        return turn


class BenchConfiguration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of ``Bench``."""

    turns: Annotated[int, Meta(ge=1, description="Turns of an episode.")] = 1000


class Bench(Environment[BenchConfiguration]):
    """What the bench program of every client library serves: two seats in turn, the number 0 to see, two actions."""

    name = "bench"

    def __init__(self, configuration: BenchConfiguration | None = None) -> None:
        super().__init__(configuration)
        self.turn = 0

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[spaces.Discrete(1)],
            action_spaces=[spaces.Discrete(2)],
            reward_range=(0.0, 0.0),
            max_turns=self.configuration.turns,
        )

    def start(self, seed: int) -> Turn:
        self.turn = 0
        return Turn(to_act=[0], seats=[View(0, 0, [0, 1])])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.turn += 1
        if self.turn == self.configuration.turns:
            return Turn(seats=[View(0, 0), View(1, 0)], terminated=True, outcome=[0.5, 0.5])
        seat = self.turn % 2
        return Turn(to_act=[seat], seats=[View(seat, 0, [0, 1])])


class First(Agent):
    """Takes the first legal action, in any number of episodes at once."""

    name = "first"
    capacity = 0

    def step(self, turn: Decision) -> Any:
        return turn.legal[0] if turn.legal else 0


class BenchAgent(First):
    """The same for the bench of the clients."""

    name = "bench"
