"""Tournaments from their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail import DovetailError
from dovetail.experiments.file import read
from dovetail.experiments.runner import execute
from dovetail.experiments.schedule import stages

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
        ('players = ["one", "two", "searching"]', 'players = ["one"]', "2 seats need as many"),
        ('"two", "searching"]', '"two", "two"]', "named twice"),
        ("episodes = 10", "seats = 3\nformat = 'swiss'", "episodes must be a multiple of 3"),
        ("episodes = 10", "seats = 3\nepisodes = 9\nformat = 'swiss'", "format is for two seats"),
        ("episodes = 10", "sprt = { elo0 = 5, elo1 = 5 }", "elo0 must be below elo1"),
        ("episodes = 10", "best_of = 101", "best_of = 101 needs as many episodes"),
        ("episodes = 10", "format = 'gauntlet'\nchallengers = 3", "other than its challengers"),
        ('"searching"]', '"one@*"]', "no league trains 'one'"),
    ):
        path.write_text(FILE.replace(old, new))
        with pytest.raises(DovetailError, match=problem):
            read(path)
    path.write_text(FILE[: FILE.index("[[tournaments]]")])
    with pytest.raises(DovetailError, match="nothing to play"):
        read(path)
