"""A minimal environment and agent, single and in batches, so that the bench measures what connects
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from dovetail import Agent, Decision, Environment, Seat, Spec, Turn, View, spaces
from dovetail.peer.agents.vector import Column, Rows, VectorAgent
from dovetail.peer.environments.vector import Transitions, VectorEnvironment

TURNS = 42
OBSERVATION = "12345678"
LEGAL = list(range(7))
BITS = sum(1 << action for action in LEGAL)


class Size(Struct, frozen=True, forbid_unknown_fields=True):
    """The option of ``Trivial``."""

    size: Annotated[int, Meta(ge=0, description="Bytes of an observation; 0 for a text.")] = 0


class Trivial(Environment[Size]):
    """Two seats act in turn, always for 42 turns, with observations of eight bytes, or of ``size``
    as frames have, and seven legal actions."""

    name = "trivial"
    turns: int = TURNS
    observation: Any = OBSERVATION
    legal = LEGAL
    space: spaces.Space = spaces.Text(max_length=len(OBSERVATION))

    def __init__(self, configuration: Size | None = None) -> None:
        super().__init__(configuration)
        self.turn = 0
        if size := self.configuration.size:
            self.observation = np.arange(size).astype(np.uint8)
            self.space = spaces.Box([size], 0, 255, "uint8")

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


class Slots(VectorEnvironment):
    """The trivial game in slots."""

    def __init__(self, game: Trivial, slots: int) -> None:
        super().__init__(game.configuration, slots)
        self._spec = game.init()
        self._turn = np.zeros(slots, np.int32)
        seen = game.observation
        self._seen = np.frombuffer(seen.encode(), np.uint8) if isinstance(seen, str) else seen

    def init(self) -> Spec:
        return self._spec

    def start(self, slots: Column, seeds: Column) -> None:
        self._turn[slots] = 0

    def step(self, slots: Column, seats: Column, actions: Column) -> None:
        self._turn[slots] += 1

    def transitions(self, slots: Column, *, afterstates: bool) -> Transitions:
        turn = self._turn[slots]
        over = turn == TURNS
        rows = slots[~over]
        seen = np.broadcast_to(self._seen, (len(rows), len(self._seen)))
        found = Transitions(rows, turn[~over] % 2, seen, np.full((len(rows), 1), BITS, np.uint8))
        if over.any():
            found.over = over.astype(np.uint8)
            ended = int(over.sum())
            found.finals = np.broadcast_to(self._seen, (ended, 2, len(self._seen)))
            found.outcomes = np.full((ended, 2), 0.5)
        return found


class Stacked(Trivial):
    """The trivial game, played as arrays in batches."""

    @classmethod
    def vector(cls, configuration: Any, slots: int) -> VectorEnvironment:
        return Slots(cls(configuration), slots)


class StackedFirst(First, VectorAgent):
    """Takes the first action, which is always legal in the trivial game."""

    def open_group(self, seats: Mapping[int, Seat], slots: int) -> Any:
        return True

    def step_rows(self, rows: Rows, memory: Any) -> Column:
        return np.zeros(len(rows.slots), np.int64)
