"""The least an environment and an agent can be, so that what is measured is what lies between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


class First(Agent):
    """Takes the first legal action, in any number of episodes at once."""

    name = "first"
    capacity = 0

    def step(self, turn: Decision) -> Any:
        return turn.legal[0] if turn.legal else 0
