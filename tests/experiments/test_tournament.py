"""Standings and ratings by hand, and a tournament from its file."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import DovetailError
from dovetail.experiments.file import read
from dovetail.experiments.runner import execute
from dovetail.experiments.schedule import stages
from dovetail.experiments.statistics import Tally
from dovetail.experiments.tournament import PRIOR, ratings, standings


def test_two_players_differ_by_what_their_score_says() -> None:
    found = ratings(["a", "b"], {("a", "b"): 75.0, ("b", "a"): 25.0})
    share = (75 + PRIOR / 2) / (100 + PRIOR)
    assert found["a"].value - found["b"].value == pytest.approx(-400 * math.log10(1 / share - 1))
    assert found["a"].value == pytest.approx(-found["b"].value)
    # Of the difference, the standard error is 400 / ln 10 / sqrt(n p (1 - p)); of each half of it.
    error = 400 / math.log(10) / math.sqrt((100 + PRIOR) * share * (1 - share)) / 2
    assert found["a"].high - found["a"].value == pytest.approx(1.959964 * error)


@given(st.lists(st.floats(-300, 300), min_size=2, max_size=6))
def test_ratings_are_found_again_from_expected_scores(strengths: list[float]) -> None:
    names = [f"p{i}" for i in range(len(strengths))]
    points = {
        (one, other): 1e6 / (1 + 10 ** ((strengths[j] - strengths[i]) / 400))
        for i, one in enumerate(names)
        for j, other in enumerate(names)
        if i != j
    }
    found = ratings(names, points)
    middle = sum(strengths) / len(strengths)
    for name, strength in zip(names, strengths, strict=True):
        assert found[name].value == pytest.approx(strength - middle, abs=0.1)


def test_a_player_who_won_all_games_has_a_finite_rating() -> None:
    found = ratings(["a", "b"], {("a", "b"): 10.0})
    assert 0 < found["a"].value < 1000
    assert math.isfinite(found["a"].high)


def test_standings_add_up() -> None:
    def tallies(one: str, other: str, wins: int, draws: int, losses: int) -> list[Tally]:
        return [Tally(one, 0, wins, draws, losses), Tally(other, 1, losses, draws, wins)]

    meetings = {
        ("a", "b"): tallies("a", "b", 1, 0, 3),
        ("a", "c"): tallies("a", "c", 0, 2, 2),
        ("b", "c"): tallies("b", "c", 4, 0, 0),
    }
    found = standings(["a", "b", "c"], meetings)
    assert [(each.player, each.wins, each.draws, each.losses) for each in found] == [
        ("b", 7, 0, 1),
        ("c", 2, 2, 4),
        ("a", 1, 2, 5),
    ]
    assert found[0].score.value == 7 / 8


FILE = """
name = "three"
seed = 5

[environment]
name = "connect_four"
configuration = { rows = 4, columns = 4, connect = 3 }

[agents.one]
type = "random"

[agents.two]
type = "random"

[agents.searching]
type = "alpha-beta"
parameters = { depth = 3 }

[[tournaments]]
name = "all"
players = ["one", "two", "searching"]
episodes = 10
lookahead = true
"""


def test_every_pair_meets_in_both_orders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "three.toml"
    path.write_text(FILE)
    found = stages(read(path))
    assert [each.part.seats for each in found] == [
        ["one", "two"],
        ["one", "searching"],
        ["two", "searching"],
    ]
    assert {each.mode for each in found} == {"evaluate"}
    done = execute(path, in_process=True, out=tmp_path)
    assert [len(each.episodes) for each in done.played] == [10, 10, 10]
    first_seat = [each.seats[0].agent for each in done.played[1].episodes]
    assert sorted(first_seat) == ["alpha-beta"] * 5 + ["random"] * 5
    text = (tmp_path / "three" / "summary.txt").read_text()
    assert "searching" in text
    assert "Elo" in text
    assert capsys.readouterr().out.count("searching") >= 1


def test_a_tournament_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    for old, new, problem in (
        ('"searching"]', '"nobody"]', "nobody"),
        ("episodes = 10", "episodes = 9", "multiple of 2"),
        ('players = ["one", "two", "searching"]', 'players = ["one"]', "length >= 2"),
    ):
        path.write_text(FILE.replace(old, new))
        with pytest.raises(DovetailError, match=problem):
            read(path)
    path.write_text(FILE[: FILE.index("[[tournaments]]")])
    with pytest.raises(DovetailError, match="nothing to play"):
        read(path)
