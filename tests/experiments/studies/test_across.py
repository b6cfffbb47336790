from __future__ import annotations

import pytest

from dovetail.experiments.studies import working
from dovetail.experiments.studies.rows import study


@pytest.mark.parametrize("game", ["connect_four", "rlgame", "amazons", "dots"])
def test_learners_of_all_studies_meet(game: str) -> None:
    row = study("across").row(game)
    assert row.work
    assert row.draw
    units = working.units(row, "quick", 2)
    found = [(unit, row.work({**unit, "games": 2, "tests": 2})) for unit in units]
    players = found[0][1]["elo"]
    assert {"random", "td", "td-rlgame", "q-learning"} <= set(players)
    for _, result in found:
        assert result["elo"]["random"] == 0
        assert sum(result["points"].values()) == pytest.approx(len(players) / 2, abs=0.01)
    drawn = row.draw(found)
    assert {line[0] for line in drawn.lines} == {f"`{name}`" for name in players}
    assert ("value kept in hard positions %" in drawn.columns) == (game != "rlgame")
    assert all(0 <= share <= 1 for share in found[0][1].get("kept", {}).values())
