"""Compiled vector environments play what the scalar rules play: same seeds, same actions, same columns."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dovetail.env_servers.connect_four import Configuration, ConnectFour
from dovetail.env_servers.environment import Environment, Spec, Turn, View
from dovetail.env_servers.vector import FAILED, Copies, Transitions
from dovetail.protocol.legal import unmask
from dovetail.protocol.spaces import Discrete

GAMES: list[tuple[type[Environment], Any]] = [
    (ConnectFour, Configuration()),
    (ConnectFour, Configuration(rows=4, columns=9, connect=3)),
    (ConnectFour, Configuration(rows=2, columns=2, connect=2)),
]


def same(one: Transitions, other: Transitions) -> None:
    for name in Transitions.__struct_fields__:
        a, b = getattr(one, name), getattr(other, name)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            assert a is not None, name
            assert b is not None, name
            assert (a.dtype, a.shape) == (b.dtype, b.shape), name
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), name
        else:
            assert a == b, name


@pytest.mark.parametrize(("kind", "configuration"), GAMES)
def test_the_compiled_game_is_the_scalar_one(kind: Any, configuration: Any) -> None:
    slots, rng = 11, random.Random(3)
    compiled = kind.vector(configuration, slots)
    assert compiled is not None
    copies = Copies(kind, configuration, slots)
    games = [compiled, copies]
    assert compiled.init() == copies.init()
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
        found, wanted = (game.transitions(named, afterstates=batch % 2 == 0) for game in games)
        same(found, wanted)
        gone = named[found.over != 0] if found.over is not None else named[:0]
        ended += len(gone)
        resting = np.setdiff1d(over, begun)
        over = np.union1d(resting, gone).astype(np.int32)
        rows, seats = found.rows, found.seats
        legal = [unmask(bits.tobytes()) for bits in found.legal]
        actions = np.array([rng.choice(each) for each in legal], np.int64)
    assert ended > 20


def test_rules_of_a_subclass_are_not_the_compiled_ones() -> None:
    class Other(ConnectFour):
        pass

    assert Other.vector(Configuration(), 4) is None


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
