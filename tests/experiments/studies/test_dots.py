from __future__ import annotations

from dovetail.experiments.studies.dots.rows import STUDY


def test_a_step_that_suits_a_small_board_diverges_on_a_large_one() -> None:
    row = STUDY.row("six")
    assert row.units
    assert row.work
    assert row.draw
    units = row.units({"games": 20, "tests": 2, "most": 10_000}, [1])
    assert [unit["step"] for unit in units] == [0.02, 0.00259]
    found = [(unit, row.work({**unit, "turns": 1})) for unit in units]
    assert [result["diverged"] for _, result in found] == [True, False]
    assert found[0][1]["random"] is None
    assert found[1][1]["random"]["games"] == 2
    table = {line[0]: line[2] for line in row.draw(found).lines}
    assert table["step 0.02 / N: trainings that diverge"] == "1 of 1"
    assert table["step 0.00259 / N: trainings that diverge"] == "0 of 1"
    assert float(table["step 0.00259 / N: weight: own"].strip("*")) > 0.5


def test_a_training_on_the_largest_board_looks_as_far_ahead_as_the_study() -> None:
    row = STUDY.row("six")
    assert row.units
    assert row.work
    assert row.draw
    values = {"games": 20, "tests": 1, "most": 10_000}
    [unit] = [each for each in row.units(values, [1]) if each["step"] < 0.02]
    assert unit["turns"] == 4
    result = row.work({**unit, "most": 50})
    assert not result["diverged"]
    assert 0 < result["limited"] <= result["decisions"] <= 20 * 60
    assert result["random"]["games"] == 1
    table = {line[0]: line[2] for line in row.draw([(unit, result)]).lines}
    limited = "decisions in which a move used up its share of 10,000 positions"
    assert float(table[f"step 0.00259 / N: {limited}"].split()[0].strip("*")) > 0
