from __future__ import annotations

import re
from pathlib import Path

from dovetail_studies import pages
from dovetail_studies.dots.rows import STUDY

KEPT = Path(__file__).resolve().parents[2] / "studies/pages/results"


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


def test_weights_of_millions_have_no_decimals_and_the_table_says_what_diverges(
    tmp_path: Path,
) -> None:
    """They stood there with hundredths, and beside them that no training diverges."""
    drawn = pages.find(STUDY, STUDY.row("five"), tmp_path, KEPT).drawn
    assert drawn
    cells = [cell for line in drawn.lines for cell in line]
    assert any(re.search(r"\d,\d{3},\d{3}", cell) for cell in cells)
    assert not any(re.search(r"\d,\d{3}\.\d", cell) for cell in cells)
    assert all("(-" not in line[2] for line in drawn.lines if ": change of" in line[0])
    assert "A training *diverges* if one passes 1,000,000,000" in drawn.note
