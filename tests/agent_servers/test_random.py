import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dovetail.peer.agents.agent import Decision, Seat
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.agents.sampling import sample
from dovetail.peer.vector_random import Twisters
from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.legal import unmask
from dovetail.protocol.messages import Spec
from dovetail_generate import examples

SPACES: list[spaces.Space] = [
    spaces.Discrete(3, -1),
    spaces.Box([2, 3], 0, 2, "int8"),
    spaces.Box([2], dtype="uint8"),
    spaces.Box([3], 0, 1, "bool"),
    spaces.Box([2], [0.0, -1.0], [1.0, 1.0]),
    spaces.Box([2], 0.1, 0.1 + 1e-8),
    spaces.Box([4], 2.0),
    spaces.Box([4], high=2.0, dtype="float64"),
    spaces.Box([4], -1.7e308, 1.7e308, "float64"),
    spaces.Box([]),
    spaces.MultiDiscrete([3, 2]),
    spaces.MultiBinary([2, 2]),
    spaces.Text(8, 1, "abc"),
    spaces.Text(4),
    spaces.Text(4, charset=""),
    spaces.Tuple([spaces.Discrete(2), spaces.Text(4)]),
    spaces.Dict({"board": spaces.Box([2, 3], 0, 2, "int8"), "phase": spaces.Discrete(2)}),
    *{str(space): space for space, _, member in examples.members() if member}.values(),
]


def long(element: spaces.Space) -> spaces.Space:
    return spaces.Sequence(element, 10_000, 10_000)


LARGE: list[spaces.Space] = [
    spaces.Box([2**40], 0, 1),
    spaces.Box([2**40, 0], 0, 1),
    spaces.MultiBinary([2**62, 2]),
    spaces.Text(2**62, 2**62),
    long(long(spaces.Discrete(2))),
    spaces.Tuple([long(spaces.Discrete(2))] * 1000),
    spaces.Dict({"a": spaces.Sequence(spaces.Tuple([]), 2**62, 2**62)}),
]


def turn(legal: list[int] | None, rng: random.Random, spec: Spec | None = None) -> Decision:
    return Decision(Seat(1, 1, spec or Spec(seats=2)), 1, 0, None, legal, 0.0, "learn", rng)


def even(counts: Counter[Any], n: int) -> bool:
    """Chi-square at about one in ten thousand, by the normal approximation of Wilson and
    Hilferty."""
    expected = counts.total() / n
    chi = sum((count - expected) ** 2 / expected for count in counts.values())
    chi += (n - len(counts)) * expected
    f = n - 1
    return bool((chi / f) ** (1 / 3) < 1 - 2 / (9 * f) + 3.7 * (2 / (9 * f)) ** 0.5)


def test_legal_actions_are_equally_frequent() -> None:
    agent, rng = Random(), random.Random(1)
    legal = [0, 2, 3, 6, 9]
    counts = Counter(agent.step(turn(legal, rng)) for _ in range(20_000))
    assert set(counts) == set(legal)
    assert even(counts, len(legal))


def test_the_chi_square_notices_a_bias() -> None:
    assert not even(Counter({0: 4_300, 1: 4_000, 2: 4_000, 3: 4_000, 4: 3_700}), 5)


@pytest.mark.parametrize("space", LARGE, ids=lambda space: type(space).__name__)
def test_members_that_fit_into_no_message_are_not_drawn(space: spaces.Space) -> None:
    with pytest.raises(DovetailError, match="cannot be drawn from"):
        sample(space, random.Random(1))


def test_lengths_without_an_end_are_drawn_short() -> None:
    assert len(sample(spaces.Text(2**62, 3), random.Random(1))) <= 102
    assert len(sample(spaces.Sequence(spaces.Discrete(2), 2**62), random.Random(1))) <= 99


def test_without_a_list_it_samples_the_space_of_its_own_seat() -> None:
    agent, rng = Random(), random.Random(1)
    spec = Spec(seats=2, action_spaces=[spaces.Text(3), spaces.Discrete(4, 5)])
    counts = Counter(agent.step(turn(None, rng, spec)) for _ in range(4_000))
    assert set(counts) == {5, 6, 7, 8}
    assert even(counts, 4)
    shared = Spec(seats=2, action_spaces=[spaces.Discrete(2)])
    assert agent.step(turn(None, rng, shared)) in (0, 1)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_samples_are_in_their_space_and_repeat_with_the_seed(space: spaces.Space) -> None:
    values = [sample(space, rng) for rng in map(random.Random, range(200))]
    assert all(space.contains(value) for value in values)
    assert all(
        str(value) == str(sample(space, random.Random(seed))) for seed, value in enumerate(values)
    )


def test_whole_boxes_reach_both_bounds() -> None:
    rng = random.Random(1)
    drawn = np.concatenate([sample(spaces.Box([50], -1, 1, "int8"), rng) for _ in range(20)])
    assert set(drawn.tolist()) == {-1, 0, 1}


def test_many_generators_at_once_draw_as_single_ones() -> None:
    seeds = [0, 1, 2**32 - 1, 2**32, 2**40 + 3, 2**63 - 1]
    which = np.arange(len(seeds))
    many = Twisters(len(seeds))
    for _ in range(2):  # begun again, they begin again
        singles = [random.Random(seed) for seed in seeds]
        many.begin(which, np.array(seeds, np.uint64))
        for draw in range(1500):
            mask = np.array([[1 + (draw * 7 + row) % 255, row] for row in which], np.uint8)
            wanted = [s.choice(unmask(m.tobytes())) for s, m in zip(singles, mask, strict=True)]
            assert many.choose(which, mask).tolist() == wanted
            numbers = [-5 + s.randrange(3 + draw) for s in singles]
            assert many.number(which, -5, 3 + draw).tolist() == numbers
