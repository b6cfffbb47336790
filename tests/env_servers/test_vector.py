"""Compiled vector environments play what the scalar rules play: same seeds, same actions, same
columns."""

from __future__ import annotations

import random
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest

from dovetail.peer.environments.environment import Environment, Spec, Turn, View
from dovetail.peer.environments.vector import FAILED, Copies, Transitions
from dovetail.protocol.legal import unmask
from dovetail.protocol.spaces import Discrete
from dovetail_games import amazons, dominion, dots, game_2048, rlgame, tetris
from dovetail_games.connect_four import Configuration, ConnectFour

GAMES: list[tuple[type[Environment], dict[str, Any]]] = [
    (ConnectFour, {}),
    (ConnectFour, {"rows": 4, "columns": 9, "connect": 3}),
    (ConnectFour, {"rows": 2, "columns": 2, "connect": 2}),
    (game_2048.Game2048, {"rows": 3, "columns": 3}),
    (game_2048.Game2048, {"rows": 2, "columns": 3, "four": 0.5, "encoding": "planes", "tiles": 1}),
    (game_2048.Game2048, {"rows": 3, "columns": 2, "tiles": 6}),  # may be over as it begins
    (dots.Dots, {}),
    (dots.Dots, {"rows": 2, "columns": 4, "rewards": "boxes"}),
    (dots.Dots, {"rows": 3, "columns": 3, "rewards": "difference"}),
    (rlgame.RLGame, {"size": 5, "pawns": 3, "max_moves": 40, "pawn_reward": 0.3}),
    (
        rlgame.RLGame,
        {"size": 4, "base": 1, "pawns": 4, "loss": "simultaneous", "first": 1, "encoding": "study"},
    ),
    (rlgame.RLGame, {"size": 5, "pawns": 5, "base_pawns": False, "encoding": "planes"}),
    (tetris.Tetris, {"height": 6, "width": 5}),
    (tetris.Tetris, {"pieces": "SZ", "max_pieces": 12, "height": 5, "afterstates": "boards"}),
    (dominion.Dominion, {"max_rounds": 8}),
    (
        dominion.Dominion,
        {"players": 4, "victory_pile": 4, "kingdom_pile": 2, "rewards": "purchase", "end": "round"},
    ),
    (
        dominion.Dominion,
        {
            "players": 3,
            "kingdom": ("Chapel", "Adventurer", "Conspirator", "Moneylender", "Bazaar"),
            "kingdom_size": 5,
            "kingdom_pile": 2,
            "victory_pile": 2,
            "curses": 0,
            "first": "seat-0",
            "played": "discard",
            "chapel": 2,
            "conspirator": 2,
            "rewards": "difference",
            "tie": "shared",
        },
    ),
    (dominion.Dominion, {"victory_pile": 1, "tie": "highest-seat", "max_rounds": 3}),
    (amazons.Amazons, {"rows": 4, "columns": 4}),
    (amazons.Amazons, {"rows": 4, "columns": 5, "first": 1, "action": "steps"}),
]


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        alike = (one.dtype, one.shape) == (other.dtype, other.shape)
        return alike and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    return bool(one == other)


@pytest.mark.parametrize(("kind", "options"), GAMES)
def test_the_compiled_game_is_the_scalar_one(kind: Any, options: dict[str, Any]) -> None:
    slots, rng = 7, random.Random(3)
    configuration = kind.Configuration(**options)
    compiled = kind.vector(configuration, slots)
    assert compiled is not None
    copies = Copies(kind, configuration, slots)
    games = [compiled, copies]
    spec = compiled.init()
    assert spec == copies.init()
    over = np.arange(slots, dtype=np.int32)
    rows, seats = over[:0], over[:0]
    actions = np.zeros(0, np.int64)
    ended = 0
    for batch in range(200):
        begun = over if batch % 3 else over[:1]  # now and then a slot rests
        seeds = np.array([rng.getrandbits(60) for _ in begun], np.uint64)
        named = np.union1d(rows, begun).astype(np.int32)
        if not len(named):
            continue
        for game in games:
            if len(begun):
                game.start(begun, seeds)
            if len(rows):
                game.step(rows, seats, actions)
        asked = spec.afterstates and batch % 2 == 0
        found, wanted = (game.transitions(named, afterstates=asked) for game in games)
        for name in Transitions.__struct_fields__:
            assert equal(getattr(found, name), getattr(wanted, name)), name
        gone = named[found.over != 0] if found.over is not None else named[:0]
        ended += len(gone)
        resting = np.setdiff1d(over, begun)
        over = np.union1d(resting, gone).astype(np.int32)
        rows, seats = found.rows, found.seats
        legal = [] if found.legal is None else [unmask(bits.tobytes()) for bits in found.legal]
        actions = np.array([rng.choice(each) for each in legal], np.int64)
    assert ended > 20


def test_every_compiled_game_is_compared() -> None:
    own = entry_points(group="dovetail.environments")
    kinds = {each.load() for each in own if each.value.startswith("dovetail_games.")}
    compiled = {kind for kind in kinds if kind.vector(kind.Configuration(), 1) is not None}
    assert compiled == {kind for kind, _ in GAMES}


def test_rules_of_a_subclass_are_not_the_compiled_ones() -> None:
    class Other(ConnectFour):
        pass

    assert Other.vector(Configuration(), 4) is None


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in GAMES}, key=str))
def test_no_game_has_a_compiled_form_without_numba(kind: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("dovetail_games.board_game.find_spec", lambda name: None)
    assert kind.vector(kind.Configuration(), 4) is None


def test_more_rounds_than_an_observation_counts_are_left_to_copies() -> None:
    kind = dominion.Dominion
    assert kind.vector(kind.Configuration(max_rounds=32_767), 1) is not None
    assert kind.vector(kind.Configuration(max_rounds=32_768), 1) is None


class Odd(Environment):
    """A game whose first view is wrong where the seed is 1."""

    wrong: Any = None

    def init(self) -> Spec:
        return Spec(seats=1, observation_spaces=[Discrete(1)], action_spaces=[Discrete(3)])

    def start(self, seed: int) -> Turn:
        view = View(0, 0, [0, 2], 0.5)
        if seed == 1:
            setattr(view, *self.wrong)
        return Turn(to_act=[0], seats=[view])

    def step(self, actions: Any) -> Turn:
        raise AssertionError


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (("legal", b"\1\0"), "the mask of seat 0 is 2 bytes long"),
        (("legal", b"\0"), "the mask of seat 0 allows no action"),
        (("legal", [77]), "IndexError"),
        (("reward", "much"), "ValueError"),
        (("seat", -1), "a seat is foreign"),
    ],
)
def test_what_a_copy_says_wrongly_fails_its_own_slot(wrong: Any, text: str) -> None:
    class Game(Odd):
        pass

    Game.wrong = wrong
    copies = Copies(Game, None, 3)
    copies.init()
    slots = np.arange(3, dtype=np.int32)
    copies.start(slots, slots.astype(np.uint64))
    found = copies.transitions(slots, afterstates=False)
    assert found.over is not None
    assert found.over.tolist() == [0, FAILED, 0]
    assert found.rows.tolist() == [0, 2]
    assert [fault.slot for fault in found.faults] == [1]
    assert text in found.faults[0].message
