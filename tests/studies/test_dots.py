from __future__ import annotations

import re
from pathlib import Path

import pytest

from dovetail_agents.games.dots.agent import WEIGHTS
from dovetail_studies import pages
from dovetail_studies.dots import rows
from dovetail_studies.dots.rows import STUDY

KEPT = Path(__file__).resolve().parents[2] / "studies/pages/results"


def test_each_reading_of_the_step_is_trained_and_a_large_one_diverges() -> None:
    """The scan lost every digit 0 and 5, so the step that it prints can only consist of these."""
    row = STUDY.row("six")
    assert row.units
    assert row.work
    assert row.draw
    units = row.units({"games": 20, "tests": 2, "most": 50}, [1])
    assert [unit["step"] for unit in units] == [0.5, 0.05, 0.005]
    assert {unit["turns"] for unit in units} == {4}
    found = [(unit, row.work({**unit, "turns": 1})) for unit in units]
    assert [result["diverged"] for _, result in found] == [True, True, False]
    assert "random" not in found[0][1]
    assert found[2][1]["random"]["games"] == 2
    assert 0 < found[2][1]["decisions"] <= 20 * 60
    drawn = row.draw(found)
    table = {line[0]: line[1:] for line in drawn.lines}
    assert drawn.columns[2:] == ("ours, 0.5 / N", "ours, 0.05 / N", "ours, 0.005 / N")
    assert table["trainings that diverge"] == ["-", "1 of 1", "1 of 1", "0 of 1"]
    assert table["games won against random"][:3] == ["-", "-", "-"]


def test_what_training_cannot_tell_apart_is_not_compared() -> None:
    """A constant moved from the boxes' weights to the seventh changes no value."""
    end = WEIGHTS["end"]
    moved = [*(each + 3 for each in end[:6]), end[6] - 9 * 3]
    assert rows.identified(moved, 9) == pytest.approx(rows.identified(end, 9))
    assert rows.signs(moved) == rows.signs(end) == 9
    assert rows.signs([-each for each in end]) == 0
    lost = [each / 10 if number % 2 else each for number, each in enumerate(end)]
    assert rows.signs(lost) == 9, "a digit that the scan lost changes no sign"


def test_weights_of_millions_have_no_decimals(tmp_path: Path) -> None:
    drawn = pages.find(STUDY, STUDY.row("five"), tmp_path, KEPT).drawn
    assert drawn
    cells = [cell for line in drawn.lines for cell in line]
    assert not any(re.search(r"\d,\d{3}\.\d", cell) for cell in cells)
    assert all("(-" not in cell for line in drawn.lines if "change" in line[0] for cell in line)
