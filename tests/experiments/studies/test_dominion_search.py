from __future__ import annotations

from dovetail.experiments.studies.dominion.kingdom import DECKS
from dovetail.experiments.studies.dominion.learning import EPSILON, FORCED, learn
from dovetail.experiments.studies.dominion.search import distance, page, units
from dovetail.experiments.studies.results import Record


def test_every_combination_is_a_training_and_the_best_comes_first() -> None:
    made = units("15-4", 40, ["points", "provinces"], [1.0, 10.0], [3])
    assert len(made) == 8
    assert {unit["visits"] for unit in made} == {EPSILON, FORCED}
    small = [{**unit, "again": 10, "tests": 2} for unit in made[:2]]
    found = [learn(unit) for unit in small]
    found[1]["again"] = 0.9
    records = [
        Record(unit, each, "2026-01-01", "v", 1.0) for unit, each in zip(small, found, strict=True)
    ]
    lines = [
        line for line in page(records, "what it says").splitlines() if line.startswith("| 15 ")
    ]
    assert len(lines) == 2
    assert "90.0 %" in lines[0]
    assert page(records, "what it says").endswith("what it says")


def test_a_deck_is_compared_with_that_of_its_own_method() -> None:
    forced = {name: printed[1] for name, printed in DECKS.items()}
    assert distance(forced, FORCED) == 0
    assert distance(forced, EPSILON) > 0.5
