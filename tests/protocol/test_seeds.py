"""Seeds are derived as SPEC.md says, forever."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol.seeds import SeatSeeds, derive, derived


@pytest.mark.parametrize(
    ("path", "seed"),
    [
        ((0,), 3456079177858693020),
        ((1, "episode", 0), 4384949654484100906),
        ((7, "seat", 1), 2741667346559110548),
        ((4384949654484100906, "seat", 0), 961693405461234125),
        ((4384949654484100906, "seat", 1), 5226225177447152697),
    ],
)
def test_golden_seeds(path: tuple[int, *tuple[str | int, ...]], seed: int) -> None:
    assert derive(*path) == seed


@pytest.mark.rule("S8.6")
@given(st.integers(), st.lists(st.integers() | st.text(max_size=5), max_size=3))
def test_the_rule_of_the_spec(master: int, path: list[int | str]) -> None:
    text = "/".join([str(master), *map(str, path)])
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert derive(master, *path) == int(digest[:16], 16) // 2
    assert 0 <= derive(master, *path) < 2**63


def test_seeds_of_many_episodes_differ() -> None:
    assert len({derive(1, "episode", index) for index in range(10_000)}) == 10_000


@given(st.lists(st.tuples(st.integers(), st.integers())), st.sampled_from(["episode", "seat"]))
def test_many_seeds_are_those_one_by_one(pairs: list[tuple[int, int]], kind: str) -> None:
    found = derived([pair[0] for pair in pairs], kind, [pair[1] for pair in pairs])
    assert found.tolist() == [derive(master, kind, number) for master, number in pairs]


@pytest.mark.rule("S8.6", "S8.7", "S8.8")
def test_golden_seats() -> None:
    run, environment = 1, derive(1, "episode", 3)
    old, new = SeatSeeds(1, derive(run, "agents")), SeatSeeds(2, derive(run, "agents"))
    assert old.one(environment, 3, 1) == derive(environment, "seat", 1)
    assert [new.one(environment, 3, place) for place in (0, 1)] == [
        derive(derive(run, "agents"), "seat", 3, 0),
        derive(derive(run, "agents"), "seat", 3, 1),
    ]
    assert new.one(environment, 0, 1) == 1192103257609790628


@pytest.mark.parametrize("derivation", [1, 2])
@given(st.lists(st.tuples(st.integers(), st.integers(0), st.permutations(range(3)))))
def test_seats_of_many_episodes_are_those_one_by_one(
    derivation: int, episodes: list[tuple[int, int, list[int]]]
) -> None:
    seeds = SeatSeeds(derivation, 5)
    environments, indices = [each[0] for each in episodes], [each[1] for each in episodes]
    found = seeds.column(environments, indices, [each[2] for each in episodes])
    assert found.tolist() == [[seeds.one(e, i, k) for k in seats] for e, i, seats in episodes]
