from __future__ import annotations

from dovetail.experiments.studies.dots.rows import STUDY


def test_a_step_that_suits_a_small_board_diverges_on_a_large_one() -> None:
    row = STUDY.row("six")
    assert row.units
    assert row.work
    assert row.draw
    units = row.units({"games": 20, "tests": 2}, [1])
    assert [unit["step"] for unit in units] == [0.02, 0.00259]
    found = [(unit, row.work({**unit, "turns": 1})) for unit in units]
    assert [result["diverged"] for _, result in found] == [True, False]
    assert found[0][1]["random"] is None
    assert found[1][1]["random"]["games"] == 2
    table = {line[0]: line[2] for line in row.draw(found).lines}
    assert table["step 0.02: trainings that diverge"] == "1 of 1"
    assert table["step 0.00259: trainings that diverge"] == "0 of 1"
    assert float(table["step 0.00259: weight: own"].strip("*")) > 0.5
