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
        self.specification: Any = Struct(game.specification)
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

    def run(self, agents: list[Callable[..., Any]]) -> list[Any]:
        self.reset(len(agents))
        while not self.done:
            actions = [
                agent(self._told(number), copy.deepcopy(self.configuration))
                if self.state[number].status == "ACTIVE"
                else None
                for number, agent in enumerate(agents)
            ]
            self.step(actions)
        return self.steps

    def _told(self, number: int) -> Any:
        found: Any = copy.deepcopy(self.state[number].observation)
        for key, schema in self.specification.observation.items():
            if schema.get("shared"):
                found[key] = self.state[0].observation[key]
        return Struct(found)

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


def _begin_walk(state: list[Any], configuration: Any) -> None:
    state[0].observation.place = 0


def _play_walk(state: list[Any], actions: list[Any], configuration: Any) -> None:
    """It is over at a distance from the start; north earns."""
    state[0].observation.place += 1 if actions[0] == "NORTH" else -1
    state[0].reward = state[0].observation.place
    if abs(state[0].observation.place) == configuration.far:
        state[0].status = "DONE"


def _begin_shared(state: list[Any], configuration: Any) -> None:
    SHARED.clear()


def _play_shared(state: list[Any], actions: list[Any], configuration: Any) -> None:
    """As lux_ai_2021, it keeps its match in the module: three moves of any match end it."""
    SHARED.append(actions)
    state[0].reward = len(SHARED)
    if len(SHARED) == 3:
        state[0].status = "DONE"


SHARED: list[Any] = []
GAMES = {
    "lux_ai_2021": SimpleNamespace(
        specification={
            "agents": [1],
            "action": {"enum": ["wait"]},
            "configuration": {},
            "observation": {"step": {"shared": True}},
        },
        configuration={},
        begin=_begin_shared,
        play=_play_shared,
    ),
    "connectx": SimpleNamespace(
        specification={
            "agents": [2],
            "action": {"type": "integer", "minimum": 0},
            "configuration": {"columns": {}},
            "observation": {"board": {"shared": True}, "mark": {}, "step": {"shared": True}},
        },
        configuration={"rows": 1, "columns": 4, "inarow": 4, "actTimeout": 2},
        begin=_begin_row,
        play=_play_row,
    ),
    "duel": SimpleNamespace(
        specification={
            "agents": [2, 3],
            "action": {"type": "object"},
            "configuration": {"seed": {}},
            "observation": {
                "rounds": {"shared": True},
                "private": {},
                "log": {"hidden": True},
                "step": {"shared": True},
            },
        },
        configuration={"seed": None},
        begin=_begin_duel,
        play=_play_duel,
    ),
    "walk": SimpleNamespace(
        specification={
            "agents": [1],
            "action": {"enum": ["NORTH", "SOUTH"], "default": "NORTH"},
            "configuration": {},
            "observation": {"place": {"shared": True}, "step": {"shared": True}},
        },
        configuration={"far": 2},
        begin=_begin_walk,
        play=_play_walk,
    ),
}


def make(environment: str, configuration: dict[str, Any] | None = None) -> Environment:
    if environment not in GAMES:
        raise ValueError("Unknown Environment Specification")
    return Environment(environment, configuration or {}, GAMES[environment])
