from __future__ import annotations

from typing import Any

import pytest

from dovetail_studies.dominion import changes, factorial
from dovetail_studies.dominion.kingdom import DECKS, distance
from dovetail_studies.dominion.learning import EPSILON, FORCED, learn
from dovetail_studies.dominion.search import units
from dovetail_studies.dominion.search_page import complete, decks, differences, page
from dovetail_studies.results import Record, key


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
    more = {"best": won, "best at": 1, "rounds": 16.0, "explored": 9}
    return record(unit, {"again": won, "cards": cards, **more, **ties})


def test_every_combination_is_a_training_and_the_best_comes_first() -> None:
    made = units("15-4", 40, ["points", "provinces"], [1.0, 10.0], [3])
    assert len(made) == 8
    assert {unit["visits"] for unit in made} == {EPSILON, FORCED}
    small = [{**unit, "again": 10, "tests": 2} for unit in made[:2]]
    found = [learn(unit) for unit in small]
    found[1]["again"] = 0.9
    records = [record(unit, each) for unit, each in zip(small, found, strict=True)]
    crossed = [made_up(unit) for unit in factorial.units()]
    changed = [made_up(unit) for unit in changes.units() + changes.large()]
    whole = page(records, crossed, changed).splitlines()
    lines = [line for line in whole if line.startswith("| 15 ")]
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


def test_each_change_is_one_from_the_base() -> None:
    base = changes.of(changes.CHANGES[changes.NOTHING], {}, seeds=(1,))[0]
    for name, change in changes.CHANGES.items():
        unit = changes.of(change, {}, seeds=(1,))[0]
        parts = [*unit["options"].items(), *unit.get("game", {}).items()]
        parts += [unit["opponents"]] * (unit["opponents"] != base["opponents"])
        changed = [part for part in parts if part not in base["options"].items()]
        assert len(changed) == (name != changes.NOTHING)
    made = changes.units(seeds=(1, 2))
    assert len({key(unit) for unit in made}) == len(made) == len(changes.CHANGES) * 2 * 2 * 2


def test_a_change_is_compared_with_the_base_by_seed() -> None:
    records = [made_up(unit) for unit in changes.units()]
    for rate in changes.RATES:
        lines = changes.lines(records, rate)
        (points,) = (line for line in lines if line.startswith("| reward *points* |"))
        cells = [cell.strip() for cell in points.split("|")[1:-1]]
        assert cells[1] == "5"
        assert cells[3].startswith("-20.0 ")  # for both methods
        assert cells[7].startswith("-20.0 ")
        assert cells[10].startswith("5.0 ")


def test_one_change_at_the_studys_size_has_its_base_in_the_search() -> None:
    base = units("23-4", changes.LARGEST, ["shaped"], [20.0], [1, 2, 3, 4, 5])
    changed = [{**unit, "game": {"tie": "highest-seat"}} for unit in base]
    assert {key(unit) for unit in changed} == {key(unit) for unit in changes.large()}
    records = [made_up(unit) for unit in [*changes.units(), *base, *changes.large()]]
    section = changes.section(records)
    assert "460 trainings of 200,000 games" in section[0]
    assert any(line.startswith("| ties to the last seat | 5 | ") for line in section[-16:])
    best = section[-8]  # two methods with four figures each
    assert best.startswith("| epsilon-greedy: best test % | 71.98 | 48.0 ")
    low, high = best.split("|")[-2].split("..")
    assert float(low) < 46 < 50 < float(high)  # wider than the interval of the mean


def test_decks_at_the_studys_size_stand_beside_the_studys() -> None:
    made = units("23-4", 5_000_000, ["points"], [1.0], [1, 2])
    small = units("23-4", 1_000_000, ["points"], [1.0], [1, 2])
    cards = dict.fromkeys(DECKS, 0.5)
    records = [record(unit, {"again": 0.5, "cards": cards}) for unit in made + small]
    lines = decks(records)
    assert [line[0] for line in lines] == ["the study"] * 2 + ["points"] * 2
    assert lines[0][5:] == ["7.45", "3.75", "1.53", "1.00", "0.11"]
    assert lines[2][-1].startswith("4.5 ")  # nine others


def test_settings_with_too_few_seeds_are_left_out() -> None:
    few = units("15-4", 40, ["points"], [1.0], [1, 2, 3, 4])
    enough = units("15-4", 40, ["points"], [10.0], [1, 2, 3, 4, 5])
    records = [record(unit, {"again": 0.1}) for unit in few + enough]
    assert [each.unit["options"]["initial"] for each in complete(records)] == [10.0] * 10


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
