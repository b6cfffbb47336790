"""As much of TextArena 0.7.4 as the tests use: its state, its loop, and two games."""

from __future__ import annotations

import random
from enum import Enum, auto
from types import SimpleNamespace
from typing import Any

GAME_ID = -1


class ObservationType(Enum):
    """The kinds of a message."""

    PROMPT = auto()
    PLAYER_ACTION = auto()
    GAME_ADMIN = auto()
    GAME_BOARD = auto()


class State:
    """Boxes of messages, errors, and the end."""

    def __init__(self, num_players: int, seed: int | None) -> None:
        if seed is not None:
            random.seed(seed)
        self.num_players = num_players
        self.current_player_id = 0
        self.role_mapping = {GAME_ID: "GAME", 0: "Player 0", 1: "Player 1"}
        self.observations: dict[int, list[Any]] = {each: [] for each in range(num_players)}
        self.game_info = {each: {"invalid_move": False} for each in range(num_players)}
        self.rewards: dict[int, Any] | None = None
        self.errors = 0
        self.done = False

    def tell(self, text: Any, to: int = -1, of: int = GAME_ID) -> None:
        for player, box in self.observations.items():
            if to in (-1, player):
                box.append((of, text, ObservationType.GAME_BOARD))

    def invalid(self) -> None:
        player = self.current_player_id
        if self.errors == 0:
            self.errors = 1
            self.tell(f"Player {player} attempted an invalid move.", player)
            return
        self.rewards = {each: -1 if each == player else 1 for each in range(self.num_players)}
        self.game_info[player]["invalid_move"] = True
        self.done = True


class Env:
    """The loop of a game."""

    players = (2,)

    def reset(self, num_players: int, seed: int | None = None) -> None:
        assert num_players in self.players, f"received {num_players} players"
        self.state = State(num_players, seed)
        self.begin()

    def begin(self) -> None:
        raise NotImplementedError

    def get_observation(self) -> tuple[int, list[Any]]:
        player = self.state.current_player_id
        box, self.state.observations[player] = self.state.observations[player], []
        return player, box

    def close(self) -> tuple[Any, Any]:
        return self.state.rewards, self.state.game_info


class Nim(Env):
    """Take one to three from a random heap; who takes the last wins."""

    def __init__(self) -> None:
        self.heaps = list(range(7, 13))

    def begin(self) -> None:
        print("a game that prints")
        random.shuffle(self.heaps)  # which an episode finds as the last one left them
        self.heap = self.heaps[0]
        for player in range(2):
            self.state.tell(f"You are player {player}. Take [1], [2] or [3].", player)
        self.state.tell(f"heap\n  {self.heap}")

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        state = self.state
        player = state.current_player_id
        state.tell(action, of=player)
        found = [each for each in (1, 2, 3) if f"[{each}]" in action and each <= self.heap]
        if not found:
            state.invalid()
            return state.done, {}
        state.errors = 0
        self.heap -= found[0]
        if random.random() < 0.2:
            state.tell("a cat walks by", player)
        if self.heap == 0:
            state.rewards, state.done = {player: 1, 1 - player: -1}, True
        state.current_player_id = 1 - player
        state.tell(f"heap\n  {self.heap}")
        return state.done, {}


class Faulty(Env):
    """Ends with a reward that is not a number."""

    players = (1,)

    def begin(self) -> None:
        self.state.tell("Say anything.")

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        if action == "raise":
            raise TypeError("a fault of the game")
        self.state.rewards = {0: "well done"}
        return True, {}


GAMES: dict[str, type[Env]] = {
    **dict.fromkeys(("TicTacToe-v0-raw", "KuhnPoker-v0-raw"), Nim),
    "Faulty-v0-raw": Faulty,
}
envs = SimpleNamespace(registration=SimpleNamespace(ENV_REGISTRY={**GAMES, "TicTacToe-v0": Nim}))


def make(env_id: str, **arguments: Any) -> Env:
    if env_id == "Hangman-v0-raw":
        text = "\n*****\n  Resource '\x1b[93mwords\x1b[0m' not found.\n  Use the downloader"
        raise LookupError(text)
    if env_id not in GAMES:
        raise ValueError(f"Environment {env_id} not found in registry.")
    return GAMES[env_id](**arguments)
