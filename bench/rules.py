"""Random play on the bare rules of games, ours and OpenSpiel's."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from dovetail_games.amazons import AmazonsBoard as Amazons
from dovetail_games.amazons import start_position
from dovetail_games.connect_four import ConnectFourBoard as ConnectFour
from dovetail_games.dots import DotsBoard as Dots
from dovetail_games.game_2048 import Board2048 as Game2048


def _pick(legal: Any, rng: random.Random) -> Any:
    return legal[int(rng.random() * len(legal))]


def connect_four(rng: random.Random) -> Iterator[int]:
    """Yield the moves of each random game, as all of these do."""
    while True:
        board = ConnectFour()
        while not board.over:
            board.drop(_pick(board.legal(), rng))
        yield board.moves


def dots(rng: random.Random) -> Iterator[int]:
    while True:
        board, moves = Dots(), 0
        while not board.over:
            board.draw(_pick(board.free, rng))
            moves += 1
        yield moves


def amazons(rng: random.Random) -> Iterator[int]:
    """Whole moves, on 6 x 6 as OpenSpiel's."""
    start = start_position(6, 6)
    while True:
        board, moves = Amazons(start), 0
        while not board.over:
            board.play(int(_pick(board.moves(), rng)))
            moves += 1
        yield moves


def game_2048(rng: random.Random) -> Iterator[int]:
    while True:
        board, moves = Game2048(rng=rng), 0
        while not board.over:
            board.play(_pick(board.legal(), rng))
            board.appear()
            moves += 1
        yield moves


def open_spiel(game: str, actions_a_move: int, rng: random.Random) -> Iterator[int]:
    """Drive OpenSpiel's C++ rules from Python; chance is drawn evenly from its outcomes."""
    import pyspiel

    loaded = pyspiel.load_game(game)
    while True:
        state, actions = loaded.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, weights)[0])
                continue
            state.apply_action(_pick(state.legal_actions(), rng))
            actions += 1
        yield actions // actions_a_move


OURS: dict[str, Callable[[random.Random], Iterator[int]]] = {
    "connect_four": connect_four,
    "amazons": amazons,
    "dots": dots,
    "2048": game_2048,
}
THEIRS = {
    "connect_four": ("connect_four", 1),
    "amazons": ("amazons", 3),
    "dots": ("dots_and_boxes(num_rows=3,num_cols=3)", 1),
    "2048": ("2048", 1),
}
"""OpenSpiel's names, and how many of its actions are one of our moves."""
