from __future__ import annotations

import math

import pytest

from dovetail.experiments.studies import working
from dovetail.experiments.studies.amazons.rows import settled
from dovetail.experiments.studies.rows import study


@pytest.mark.parametrize("share", [0.1, 0.01, 0.001])
def test_weights_have_settled_when_they_move_by_a_share_of_the_most(share: float) -> None:
    """Distances that halve from part to part: where the line of their logarithms passes the level."""
    moved = [12.0 / 2**part for part in range(20)]
    expected = (0.5 - math.log2(share)) * 5_000
    assert settled({"distances": moved}, 100_000, share) == pytest.approx(expected)
    assert settled({"distances": [1.0, 2.0, 1.5, 1.0]}, 100_000, share) == 100_000


def test_a_training_says_how_far_its_weights_move_and_what_the_study_says_of_it() -> None:
    row = study("amazons").row("run-5")
    assert row.work
    assert row.draw
    [unit] = working.units(row, "quick", 1)
    unit = {**unit, "moves": 1_100}
    result = row.work(unit)
    assert len(result["distances"]) == 20
    assert result["distances"][0] > result["distances"][-1] > 0
    drawn = row.draw([(unit, result)])
    assert [line[1] for line in drawn.lines] == ["-100", "-", "-", "-", *["80,000"] * 3]
    assert [each.name for each in drawn.compared] == ["score after 0 moves"]
