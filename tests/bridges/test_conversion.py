"""Spaces and values keep their meaning on the way to Gymnasium and back."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces as theirs

from dovetail.peer.agents.sampling import sample
from dovetail.protocol import codec, spaces
from dovetail.protocol.errors import DovetailError
from dovetail_bridges import conversion as c
from dovetail_bridges.conversion import DEPTH, as_json, from_returns
from dovetail_bridges.gdl.prover import deep

pytestmark = pytest.mark.fast

OURS = [
    spaces.Discrete(5),
    spaces.Discrete(3, start=-4),
    spaces.Box([2, 3], 0, 1, "uint8"),
    spaces.Box([3], [-1.0, -2.0, -3.0], 2.0, "float32"),
    spaces.Box([2], dtype="float64"),
    spaces.Box([2], dtype="int64"),
    spaces.Box([], -5, 5, "int32"),
    spaces.MultiDiscrete([2, 3, 4]),
    spaces.MultiBinary([2, 2]),
    spaces.Text(8),
    spaces.Text(8, 2, "ab"),
    spaces.Tuple([spaces.Discrete(2), spaces.Box([1], 0.0, 1.0)]),
    spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Dict({"x": spaces.MultiBinary([3])})}),
    spaces.Sequence(spaces.Tuple([spaces.Discrete(2), spaces.Discrete(9)]), 6),
]
THEIRS = [
    theirs.Discrete(4, start=2),
    theirs.Box(-1, 1, (2,), np.float32),
    theirs.Box(np.array([0, 1]), np.array([5, 9]), dtype=np.int16),
    theirs.Box(0, 255, (4, 4), np.uint8),
    theirs.Box(-np.inf, np.inf, (2,), np.float64),
    theirs.MultiDiscrete([3, 4]),
    theirs.MultiDiscrete([[3, 4], [5, 6]]),
    theirs.MultiDiscrete([3, 4], start=[1, -1]),
    theirs.MultiBinary((2, 3)),
    theirs.Text(5, charset="xyz"),
    theirs.Tuple([theirs.Discrete(3), theirs.Box(0, 1, (2,))]),
    theirs.Dict({"one": theirs.Discrete(3), "two": theirs.MultiBinary(4)}),
    theirs.Sequence(theirs.Box(0, 1, (2,))),
    theirs.Sequence(theirs.Dict(a=theirs.Discrete(3), b=theirs.Box(0, 1, (2,))), stack=True),
    theirs.Sequence(theirs.Tuple([theirs.Discrete(3), theirs.Discrete(2)]), stack=True),
]


@pytest.mark.parametrize("space", OURS, ids=lambda each: type(each).__name__)
def test_our_values_are_in_their_space_and_come_back(space: spaces.Space) -> None:
    foreign = c.to_space(space)
    rng = random.Random(1)
    for _ in range(20):
        value = sample(space, rng)
        there = c.to_value(space, value)
        assert there in foreign
        back = c.from_value(space, there)
        assert space.contains(back)
        assert codec.encode(c.from_value(space, value)) == codec.encode(back)
    assert c.zeros(space) in foreign


@pytest.mark.parametrize("foreign", THEIRS, ids=lambda each: type(each).__name__)
def test_their_values_are_in_our_space_travel_and_come_back(foreign: theirs.Space) -> None:
    space = c.from_space(foreign)
    foreign.seed(3)
    for _ in range(20):
        value = foreign.sample()
        here = codec.decode(codec.encode(c.from_value(space, value, foreign)))
        assert space.contains(here)
        back = c.to_action(foreign, space, here)
        assert back in foreign
        assert repr(back) == repr(value) or np.array_equal(np.asarray(back), np.asarray(value))


@pytest.mark.parametrize("space", OURS, ids=lambda each: type(each).__name__)
def test_a_space_comes_back(space: spaces.Space) -> None:
    back = c.from_space(c.to_space(space))
    rng = random.Random(2)
    for _ in range(20):
        value = codec.decode(codec.encode(sample(space, rng)))
        assert back.contains(c.from_value(back, value))


@pytest.mark.parametrize(
    "foreign",
    [
        theirs.Graph(theirs.Discrete(2), theirs.Discrete(3)),
        theirs.OneOf([theirs.Discrete(2), theirs.Discrete(3)]),
        theirs.Dict(inner=theirs.Graph(theirs.Discrete(2), None)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_dovetail_cannot_describe_is_refused_in_one_line(foreign: theirs.Space) -> None:
    with pytest.raises(
        DovetailError, match=r"the observation space is a (Graph|OneOf), which [^\n]*"
    ):
        c.from_space(foreign, "the observation space")


class Sayings(theirs.Space):
    """A space of a library's own, such as MiniGrid's missions."""

    def __init__(self) -> None:
        super().__init__(dtype=str)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return f"go to {self.np_random.integers(9)}"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


def test_a_space_whose_samples_are_text_is_text() -> None:
    foreign = theirs.Dict(mission=Sayings(), direction=theirs.Discrete(4))
    space = c.from_space(foreign)
    assert space == spaces.Dict(
        {"mission": spaces.Text(c.LONGEST_TEXT), "direction": spaces.Discrete(4)}
    )
    value = c.from_value(space, foreign.sample(), foreign)
    assert value["mission"].startswith("go to ")
    assert space.contains(value)


def test_what_is_refused_is_named_by_its_key() -> None:
    foreign = theirs.Dict(inner=theirs.Dict(graph=theirs.Graph(theirs.Discrete(2), None)))
    with pytest.raises(
        DovetailError, match=r"^'graph' of 'inner' of the space is a Graph, which"
    ) as told:
        c.from_space(foreign)
    assert "leave it out (`ignore`" in str(told.value)


def test_values_are_copies() -> None:
    space = spaces.Box([2], 0, 1)
    reused = np.zeros(2, np.float32)
    first = c.from_value(space, reused)
    reused[:] = 1
    assert first.tolist() == [0, 0]


def test_masks_count_from_zero() -> None:
    space = spaces.Discrete(4, start=1)
    assert c.to_mask([2, 4], space).tolist() == [0, 1, 0, 1]  # type: ignore[union-attr]
    assert c.to_mask(bytes([0b10100]), space).tolist() == [0, 1, 0, 1]  # type: ignore[union-attr]
    assert c.to_mask(None, space).tolist() == [1, 1, 1, 1]  # type: ignore[union-attr]
    assert c.to_mask(None, spaces.Box([2])) is None
    assert c.from_mask(np.array([0, 1, 0, 1]), space) == [2, 4]
    assert c.from_mask(np.zeros(4), space) is None
    assert c.numbers(None, space) == [1, 2, 3, 4]


def test_outcomes_follow_the_returns() -> None:
    assert from_returns([1.0, -1.0]) == [1.0, 0.0]
    assert from_returns([3.0, 3.0, 3.0]) == [1 / 3] * 3
    assert from_returns([-2.0, 0.0, -1.0]) == pytest.approx([0.0, 2 / 3, 1 / 3])
    assert from_returns([7.0]) is None
    assert from_returns([1e308, -1e308, 0.0]) == pytest.approx([2 / 3, 0.0, 1 / 3])


def test_seeds_are_reduced_for_narrow_fields() -> None:
    assert c.narrow(2**63 - 1) == 2**31 - 1
    assert c.narrow(7) == 7


def test_values_need_no_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSpiel's bridge makes them with its own extra alone."""
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    space = spaces.Box([2], [1, -5], [3, 5], "int64")
    assert c.zeros(space).tolist() == [1, 0]
    assert c.to_value(space, [2, 4]).dtype == np.int64


def test_the_depth_of_an_observation_depends_on_no_program() -> None:
    value: Any = 0
    for _ in range(DEPTH):
        value = [value]
    assert as_json(value) == DEPTH * "[" + "0" + DEPTH * "]"
    with deep, pytest.raises(DovetailError, match="nested too deeply"):
        as_json([value])


def test_an_observation_that_never_becomes_plain_is_refused() -> None:
    class Endless:
        def tolist(self) -> Any:
            return self

    with pytest.raises(DovetailError, match="nested too deeply"):
        as_json(Endless())
