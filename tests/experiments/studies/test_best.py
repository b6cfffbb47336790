from __future__ import annotations

import json

import pytest

from dovetail.agent_servers.games.dots.perfect import DotsPerfect
from dovetail.env_servers.dots import Dots
from dovetail.experiments.inprocess import InProcess
from dovetail.experiments.studies import working
from dovetail.experiments.studies.best import dots
from dovetail.experiments.studies.best.parts import points
from dovetail.experiments.studies.rows import study

TINY = {
    "connect_four": {"games": 20, "positions": 5, "tests": 2},
    "rlgame": {"games": 10, "tests": 1},
    "amazons": {"moves": 10, "tests": 2},
    "dominion": {"games": 2_000, "again": 200},
    "tetris": {"population": 10, "each": 1, "generations": 2, "low": 1, "high": 1, "most": 500},
    "tetris-trainers": {"percent": 1, "low": 1, "high": 1, "most": 500},
    "2048": {"games": 10, "tests": 5},
    "dots": {"games": 10, "few": 5, "positions": 5, "tests": 2},
}


def test_there_is_a_row_for_each_game_and_one_for_trainers() -> None:
    assert [row.key for row in study("best").rows] == list(TINY)


@pytest.mark.parametrize("key", TINY)
def test_a_row_has_three_sizes_over_several_seeds(key: str) -> None:
    row = study("best").row(key)
    assert {name: size.seeds for name, size in row.sizes.items()} == {
        "quick": 2,
        "part": 5,
        "study": 5,
    }
    for size in row.sizes:
        made = working.units(row, size)
        assert len({json.dumps(unit, sort_keys=True) for unit in made}) == len(made)
        assert {unit["seed"] for unit in made} == set(range(1, row.sizes[size].seeds + 1))


@pytest.mark.parametrize("key", TINY)
def test_a_row_runs_and_is_drawn(key: str) -> None:
    row = study("best").row(key)
    assert row.work
    assert row.draw
    found = [(unit, row.work({**unit, **TINY[key]})) for unit in working.units(row, "quick", 2)]
    assert json.loads(json.dumps(found))
    drawn = row.draw([({**unit, **TINY[key]}, result) for unit, result in found])
    assert drawn.games == sum(result["games"] for _, result in found) > 0
    assert drawn.distinct
    assert all(len(line) == len(drawn.columns) for line in drawn.lines)


def test_a_game_cut_short_earns_nothing() -> None:
    one = {"games": 10, "wins": 4, "losses": 2, "cut": 2, "distinct": 10}  # and two draws
    other = {**one, "wins": 6, "losses": 0}
    found = points([{"match": one}, {"match": other}], "match")
    assert found.value == pytest.approx(0.6)
    assert 0 <= found.low < 0.5
    assert 0.7 < found.high <= 1
    same = points([{"match": one}, {"match": one}], "match")  # Wilson's
    assert same.value == pytest.approx(0.5)
    assert 0.25 < same.low < same.high < 0.75


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 4)])
def test_perfect_play_keeps_all_values_and_wins_from_won_openings(rows: int, columns: int) -> None:
    board = {"rows": rows, "columns": columns}
    unit = {"seed": 1, "positions": 20, "tests": 20}
    with InProcess([Dots, dots.KeepBoxes, dots.WonDots], [DotsPerfect]) as experiment:
        player = experiment.create("dots-perfect", parameters={"rows": rows}, seed=1)
        kept = dots._kept(experiment, player, unit, board)
        assert (kept["right"], kept["lost"]) == ([20, 20], 0)
        assert 0 < kept["chance"] < 1
        won = dots._won(experiment, player, unit, board)
        assert (won["games"], won["wins"], won["given"]) == (20, 20, 0)
        assert won["distinct"] > 10


def test_a_hard_position_is_the_same_for_the_same_seed_and_has_few_free_lines() -> None:
    for seed in range(5):
        found = dots.hard(seed, 4, 5)
        assert len(found.played) + len(found.values) == 31
        assert len(found.values) <= dots.MOST_FREE
        assert len(set(found.values.values())) > 1
        dots.hard.cache_clear()
        assert dots.hard(seed, 4, 5) == found
