from __future__ import annotations

import math

import pytest

from dovetail_agents.games.amazons.agent import WEIGHTS
from dovetail_studies import working
from dovetail_studies.amazons import rows
from dovetail_studies.amazons.rows import settled, thinking
from dovetail_studies.rows import Unit, study


@pytest.mark.parametrize("share", [0.1, 0.01, 0.001])
def test_weights_have_settled_when_they_move_by_a_share_of_the_most(share: float) -> None:
    """Distances that halve from part to part: where the line of their logarithms passes the
    level."""
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


def test_a_search_is_timed_in_every_move_of_a_game() -> None:
    given = {"weights": "mp", "depth": 1, "rollouts": False}
    seconds = thinking(given, 1)
    assert 30 < len(seconds) <= 56
    assert min(seconds) >= 0 < max(seconds)
    assert sum(thinking({**given, "mobility": "full"}, 1)) > sum(seconds)
    row = study("amazons").row("cost")
    assert row.draw
    done = [(unit, {"seconds": [1.0, 3.0, 2.0]}) for unit in working.units(row, "study")]
    first, longest, whole = row.draw(done).lines[-3:]
    assert first == ["depth 3, whole moves: first move, seconds", "-", "1.000 (every seed)"]
    assert longest == [
        "depth 3, whole moves: longest move, seconds",
        "up to 180",
        "3.000 (every seed)",
    ]
    assert whole == ["depth 3, whole moves: whole game, seconds", "-", "6.000 (every seed)"]


def test_weights_learned_here_meet_the_published_ones_of_the_same_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[tuple[str, int]] = []

    def learned(run: str, seed: int) -> list[float]:
        taken.append((run, seed))
        return WEIGHTS["mp"]

    monkeypatch.setattr(rows, "learned", learned)
    row = study("amazons").row("tournament")
    assert row.draw

    def result(unit: Unit) -> dict[str, int]:
        wins = 5 + unit["seed"]
        return {"games": 20, "wins": wins, "losses": 20 - wins, "distinct": 20}

    units = working.units(row, "study")
    direct = [unit for unit in units if unit.get("learned") == "first"]
    assert len(direct) == 3 * 5
    played = rows.meeting({**direct[-1], "games": 2})
    assert played["games"] == played["wins"] + played["losses"] == 2
    assert taken == [("MpVsRandom", 5)]  # the other player has the published weights
    drawn = row.draw([(unit, result(unit)) for unit in units])
    assert drawn.lines[0][:5] == ["OnesVsAbMp", "317", "83", "+234", "79.2 %"]  # the study's
    for line, run in zip(drawn.lines[-3:], ("OnesVsAbMp", "MpVsMcMp", "MpVsRandom"), strict=True):
        name, *standing, share = line
        assert name == f"{run}, weights learned here, against the study's"
        assert standing == [*["-"] * 4, "40", "60", "-20"]
        assert share.startswith("40.0 % (30.2")  # over the five seeds
