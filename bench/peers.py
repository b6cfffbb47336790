"""A minimal environment and agent, so that the bench measures what connects them."""

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
    """Two seats act in turn, always for 42 turns, with observations of eight bytes and seven legal
    actions."""

    name = "trivial"
    turns: int = TURNS
    observation: Any = OBSERVATION
    legal = LEGAL
    space: spaces.Space = spaces.Text(max_length=len(OBSERVATION))

    def __init__(self, configuration: Any = None) -> None:
        super().__init__(configuration)
        self.turn = 0

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[self.space],
            action_spaces=[spaces.Discrete(len(self.legal))],
            reward_range=(0.0, 0.0),
            max_turns=self.turns,
        )

    def start(self, seed: int) -> Turn:
        self.turn = 0
        return Turn(to_act=[0], seats=[View(0, self.observation, self.legal)])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.turn += 1
        if self.turn == self.turns:
            views = [View(0, self.observation), View(1, self.observation)]
            return Turn(seats=views, terminated=True, outcome=[0.5, 0.5])
        seat = self.turn % 2
        return Turn(to_act=[seat], seats=[View(seat, self.observation, self.legal)])


class Size(Struct, frozen=True, forbid_unknown_fields=True):
    """The option of ``Frames``."""

    size: Annotated[int, Meta(ge=1, description="Bytes of an observation.")] = 28_224


class Frames(Environment[Size]):
    """The trivial game with arrays as observations, as large as frames."""

    name = "frames"

    def __init__(self, configuration: Size | None = None) -> None:
        super().__init__(configuration)
        self.game = Trivial()
        self.game.observation = np.arange(self.configuration.size).astype(np.uint8)
        self.game.space = spaces.Box([self.configuration.size], 0, 255, "uint8")

    def init(self) -> Spec:
        return self.game.init()

    def start(self, seed: int) -> Turn:
        return self.game.start(seed)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        return self.game.step(actions)


class Bench(Trivial):
    """The game of every client library's bench program: 1,000 turns, the observation 0, two
    actions."""

    name = "bench"
    turns, observation, legal = 1_000, 0, [0, 1]
    space = spaces.Discrete(1)


class First(Agent):
    """Takes the first legal action, in any number of episodes at once."""

    name = "first"
    capacity = 0

    def step(self, turn: Decision) -> Any:
        return turn.legal[0] if turn.legal else 0


class BenchAgent(First):
    """The agent for the clients' bench."""

    name = "bench"
