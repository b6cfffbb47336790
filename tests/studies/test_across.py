from __future__ import annotations

from pathlib import Path

import pytest
from tests.studies.test_learned import assert_states_give, trained

from dovetail_studies import working
from dovetail_studies.rows import Result, Unit, study


@pytest.mark.parametrize("game", ["connect_four", "rlgame", "amazons", "dots"])
def test_learners_of_all_studies_meet_and_are_measured_again_with_their_states(
    game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = study("across").row(game)
    assert row.draw
    units = working.units(row, "quick", 2)
    found = trained(row, [{**unit, "games": 2, "tests": 2} for unit in units], tmp_path)
    players = found[0][1]["elo"]
    assert {"random", "td", "td-rlgame", "q-learning"} <= set(players)
    for _, result in found:
        assert result["elo"]["random"] == 0
        assert sum(result["points"].values()) == pytest.approx(len(players) / 2, abs=0.01)
    drawn = row.draw(found)
    assert {line[0] for line in drawn.lines} == {f"`{name}`" for name in players}
    assert ("value kept in hard positions %" in drawn.columns) == (game != "rlgame")
    assert all(0 <= share <= 1 for share in found[0][1].get("kept", {}).values())
    assert_states_give(row, found[:1], tmp_path, monkeypatch)


def test_the_leader_is_compared_with_the_next_seed_by_seed() -> None:
    row = study("across").row("rlgame")
    assert row.draw
    players = ("td", "td-rlgame", "q-learning", "random")
    done = []
    for seed, ratings in enumerate([(300, 200, 50, 0), (500, 420, 50, 0), (700, 610, 50, 0)]):
        elo = dict(zip(players, ratings, strict=True))
        points = dict.fromkeys(players, 0.5)
        counts = {"games": 6, "tested": 6, "distinct": 6}
        done.append(({"seed": seed}, {**counts, "elo": elo, "points": points}))
    # The ratings' own intervals overlap; those of a seed differ by 80 to 100.
    note = row.draw(done).note
    assert note.startswith("`td` is ahead of `td-rlgame` by 90 (65..115) Elo, paired by seed,")
    assert "in 3 of 3 seeds" in note


def test_the_trainings_of_amazons_meet_and_what_explains_their_points_is_told() -> None:
    row = study("across").row("amazons-trainings")
    assert row.draw
    units = working.units(row, "part", 2)
    assert len(units) == 2 * 15
    strength = {"Random": 1.0, "AbMp": 3.0}

    def result(unit: Unit) -> Result:
        """The opponent alone makes the difference."""
        one, other = (strength[name.split("Vs")[1]] for name in unit["players"])
        wins = round(unit["games"] * one / (one + other))
        games = unit["games"]
        return {"games": games, "wins": wins, "losses": games - wins, "distinct": games}

    drawn = row.draw([(unit, result(unit)) for unit in units])
    assert [line[0] for line in drawn.lines] == ["against AbMp", "against Random", "all"]
    assert drawn.lines[1][1:] == ["35.0 (every seed)"] * 4
    assert drawn.lines[0][1:] == ["65.0 (every seed)"] * 4
    parts = "the opponent explains 100 %, the initial weights 0 %, and 0 % is left"
    assert parts in drawn.note.replace(" (every seed)", "")
