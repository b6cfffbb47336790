"""Compiled vector environments play what the scalar rules play: same seeds, same actions, same columns."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dovetail.env_servers.connect_four import Configuration, ConnectFour
from dovetail.env_servers.environment import Environment
from dovetail.env_servers.vector import Copies, Transitions
from dovetail.protocol.legal import unmask

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
