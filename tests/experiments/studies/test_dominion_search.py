from __future__ import annotations

from typing import Any

import pytest

from dovetail.experiments.studies.dominion import factorial
from dovetail.experiments.studies.dominion.kingdom import DECKS, distance
from dovetail.experiments.studies.dominion.learning import EPSILON, FORCED, learn
from dovetail.experiments.studies.dominion.search import units
from dovetail.experiments.studies.dominion.search_page import differences, page
from dovetail.experiments.studies.results import Record


def record(unit: dict[str, Any], result: dict[str, Any]) -> Record:
    """Return a record of a piece of work."""
    return Record(unit, result, "2026-01-01", "v", 1.0)


def made_up(unit: dict[str, Any]) -> Record:
    """Return a training of the factorial by known effects: 20 points for *shaped*, 10 for high first values."""
    won = 0.1 + 0.2 * (unit["options"]["reward"] == "shaped")
    won += 0.1 * (unit["options"]["initial"] == 20) + 0.01 * unit["seed"]
    won += 0.05 * (unit["visits"] == EPSILON)
    cards = dict.fromkeys(DECKS, 0.0) | {"Estate": 3.0}
    ties = dict.fromkeys(factorial.TABLES, won + 0.02)
    return record(unit, {"again": won, "cards": cards, **ties})


def test_every_combination_is_a_training_and_the_best_comes_first() -> None:
    made = units("15-4", 40, ["points", "provinces"], [1.0, 10.0], [3])
    assert len(made) == 8
    assert {unit["visits"] for unit in made} == {EPSILON, FORCED}
    small = [{**unit, "again": 10, "tests": 2} for unit in made[:2]]
    found = [learn(unit) for unit in small]
    found[1]["again"] = 0.9
    records = [record(unit, each) for unit, each in zip(small, found, strict=True)]
    crossed = [made_up(unit) for unit in factorial.units()]
    lines = [line for line in page(records, crossed).splitlines() if line.startswith("| 15 ")]
    assert len(lines) == 2
    assert "| 10 | *90.0 %* |" in lines[0]  # of one seed: without an interval


def test_all_levels_are_crossed_and_their_effects_are_those_over_the_other_factors() -> None:
    made = factorial.units(seeds=(1, 2))
    assert len(made) == 2 * len({factorial.setting(unit) for unit in made})
    assert len(made) == 2 * 4 * 2 * 2 * 2
    results = factorial.by_setting([made_up(unit) for unit in made])
    names = list(factorial.FACTORS)
    assert factorial.effect(results, names.index("reward"), "shaped").value == pytest.approx(20)
    assert factorial.effect(results, names.index("first values"), 20.0).low == pytest.approx(10)
    assert factorial.effect(results, names.index("extra buys"), "none").value == pytest.approx(0)
    assert any("| shaped | 8 | " in line for line in factorial.effects(results))
    assert factorial.tests(results)[2].startswith("| ties to the last seat | 2.0 ")
    best = factorial.cells(results)[2]
    assert best.startswith("| shaped | 0 to 20 |")
    assert "| 2 | 20,000 |" in best
    assert "| 5.0" in best


def test_a_training_is_tested_again_with_each_further_rule() -> None:
    unit = {**factorial.units(40)[0], "version": "15-4", "tests": 2, "again": 200}
    found = learn(unit)
    assert found["games"] == 40 + 2 * 2 + 3 * 200
    assert all(0 <= found[name] <= 1 for name in factorial.TABLES)


def test_a_game_may_have_other_options_in_training_and_in_tests() -> None:
    unit = {**factorial.units(40)[0], "version": "15-4", "tests": 2, "again": 200, "tables": {}}
    usual, short = learn(unit), learn({**unit, "game": {"victory_pile": 1}})
    assert short["explored"] < usual["explored"]  # in training
    assert short["rounds"] < usual["rounds"]  # in the last test
    assert learn({**unit, "game": {}}) == usual


def test_methods_are_compared_by_seed() -> None:
    made = units("15-4", 40, ["points"], [1.0], [1, 2])
    records = [
        record(unit, {"again": 0.1 * unit["seed"] + 0.05 * (unit["visits"] == EPSILON)})
        for unit in made
    ]
    (line,) = differences(records)
    assert line[-2] == "2"
    assert line[-1].startswith("5.0 ")
    assert not differences(records[:2])  # one seed


def test_a_deck_is_compared_with_that_of_its_own_method() -> None:
    forced = {name: printed[1] for name, printed in DECKS.items()}
    assert distance(forced, FORCED) == 0
    assert distance(forced, EPSILON) > 0.5
