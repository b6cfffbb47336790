"""As much of kaggle-environments 1.33 as the tests use: states, shared fields, and three games."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class Struct(dict):  # type: ignore[type-arg]
    """A dictionary whose keys are attributes, too; as theirs, an item that is set later is none."""

    def __init__(self, *given: Any, **entries: Any) -> None:
        super().__init__(*given, **entries)
        self.__dict__.update(self)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = self[name] = value


class Environment:
    """The states of the agents, and the interpreter that changes them."""

    def __init__(self, name: str, given: dict[str, Any], game: Any) -> None:
        self.name = name
        self.specification = Struct(game.specification)
        self.configuration = Struct({"episodeSteps": 1000, **game.configuration, **given})
        self._play: Callable[..., None] = game.play
        self._begin: Callable[..., None] = game.begin
        self.info: dict[str, Any] = {}
        self.steps: list[Any] = []
        self.state: list[Any] = []

    def reset(self, number: int) -> None:
        print("a game that prints")
        self.state = [
            Struct(status="ACTIVE", reward=0, observation=Struct(remainingOverageTime=60), info={})
            for _ in range(number)
        ]
        # As many of theirs: the seed of the first episode stays.
        self.configuration.seed = self.info.setdefault("seed", self.configuration.get("seed"))
        self._begin(self.state, self.configuration)
        self.state[0].observation.step = 0
        self.steps = [copy.deepcopy(self.state)]

    def step(self, actions: list[Any]) -> None:
        self._play(self.state, actions, self.configuration)
        for state in self.state:
            if state.status in ("INVALID", "ERROR"):
                state.reward = None
        self.state[0].observation.step = len(self.steps)
        self.steps.append(copy.deepcopy(self.state))

    @property
    def done(self) -> bool:
        return all(state.status != "ACTIVE" for state in self.state)

    def render(self, mode: str) -> str:
        return str(self.state[0].observation.get("board", ""))


def _begin_row(state: list[Any], configuration: Any) -> None:
    state[0].observation.board = [0] * configuration.columns
    for number, each in enumerate(state):
        each.observation.mark = number + 1
    state[1].status = "INACTIVE"


def _play_row(state: list[Any], actions: list[Any], configuration: Any) -> None:
    """The agent that fills the last column loses."""
    mover = next(number for number, each in enumerate(state) if each.status == "ACTIVE")
    board = state[0].observation.board
    if board[actions[mover]]:
        state[mover].status, state[1 - mover].status = "INVALID", "DONE"
        return
    board[actions[mover]] = mover + 1
    state[mover].status, state[1 - mover].status = "INACTIVE", "ACTIVE"
    if all(board):
        state[mover].reward, state[1 - mover].reward = -1, 1
        state[0].status = state[1].status = "DONE"


def _begin_duel(state: list[Any], configuration: Any) -> None:
    for each in state:
        each.observation.private = random.Random(configuration.seed or random.random()).random()
    state[0].observation.secret = "of the first alone"
    state[0].observation.log = ["hidden"]
    state[0].observation.rounds = 0


def _play_duel(state: list[Any], actions: list[Any], configuration: Any) -> None:
    """Both act at once, three times; rewards are totals so far."""
    state[0].observation.rounds += 1
    for each, action in zip(state, actions, strict=True):
        each.reward += action["add"]
        if state[0].observation.rounds == 3:
            each.status = "DONE"


GAMES = {
    "connectx": SimpleNamespace(
        specification={
            "agents": [2],
            "action": {"type": "integer", "minimum": 0},
            "configuration": {"columns": {}},
            "observation": {"board": {"shared": True}, "mark": {}, "step": {"shared": True}},
        },
        configuration={"columns": 4},
        begin=_begin_row,
        play=_play_row,
    ),
    "duel": SimpleNamespace(
        specification={
            "agents": [2, 3],
            "action": {"type": "object"},
            "configuration": {"seed": {}},
            "observation": {"rounds": {"shared": True}, "private": {}, "log": {"hidden": True}},
        },
        configuration={"seed": None},
        begin=_begin_duel,
        play=_play_duel,
    ),
}


def make(environment: str, configuration: dict[str, Any] | None = None) -> Environment:
    if environment not in GAMES:
        raise ValueError("Unknown Environment Specification")
    return Environment(environment, configuration or {}, GAMES[environment])
