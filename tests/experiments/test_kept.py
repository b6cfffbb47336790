"""The share of value-keeping moves: exact values against brute force, and the table of a report."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.reports import kept
from dovetail_experiments.reports.exact import (
    FREE,
    amazons_values,
    connect_four_values,
    dots_values,
    uneven,
)
from dovetail_experiments.reports.games import counted
from dovetail_experiments.stages.runner import RunnerOptions, execute
from dovetail_experiments.statistics.estimates import rate, wilson
from dovetail_games import amazons, connect_four, dots

CUP = """
name = "dots"
seed = 1

[environment]
name = "dots"
configuration = { rows = 3, columns = 3 }

[agents.perfect]
type = "dots-perfect"

[agents.dice]
type = "random"

[[tournaments]]
name = "cup"
players = ["perfect", "dice"]
episodes = 30

[[evaluations]]
name = "alone"
seats = ["dice", "dice"]
episodes = 10
"""


def winner(board: Any) -> int | None:
    if isinstance(board, dots.DotsBoard):
        one, other = board.scores
        return None if one == other else int(other > one)
    found: int | None = board.winner
    return found


def worth(board: Any, act: Callable[[Any, int], object]) -> int:
    """The value of a position to the side to move, by trying everything."""
    if board.over:
        won = winner(board)
        return 0 if won is None else 1 if won == board.mover else -1
    return max(after(board, action, act) for action in board.legal())


def after(board: Any, action: int, act: Callable[[Any, int], object]) -> int:
    copy = board.copy()
    act(copy, action)
    found = worth(copy, act)
    return found if copy.mover == board.mover else -found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7))
def test_values_of_connect_four_are_those_of_trying_everything(seed: int, left: int) -> None:
    board, rng = connect_four.ConnectFourBoard(4, 5, 4), random.Random(seed)
    while not board.over and 20 - board.moves > left:
        board.drop(rng.choice(board.legal()))
    values = connect_four_values(board)
    if board.over:
        assert values is None
    else:
        act = connect_four.ConnectFourBoard.drop
        assert values == {each: after(board, each, act) for each in board.legal()}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_values_of_dots_are_those_of_trying_everything(seed: int, left: int) -> None:
    board, rng = dots.DotsBoard(3, 3), random.Random(seed)
    while len(board.free) > left:
        board.draw(rng.choice(board.free))
    assert dots_values(board) == {
        each: after(board, each, dots.DotsBoard.draw) for each in board.legal()
    }


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_values_of_amazons_are_those_of_trying_everything(seed: int, left: int) -> None:
    board = amazons.AmazonsBoard(amazons.start_position(4, 4))
    rng = random.Random(seed)
    while not board.over and (board.squares == 0).sum() > left:
        board.play(rng.choice(board.legal()))
    values = amazons_values(board)
    if board.over:
        assert values is None
    else:
        act = amazons.AmazonsBoard.play
        assert values == {each: after(board, each, act) for each in board.legal()}


def test_positions_out_of_reach_have_no_values() -> None:
    assert connect_four_values(connect_four.ConnectFourBoard()) is None
    assert connect_four_values(connect_four.ConnectFourBoard(4, 5, 3)) is None
    assert connect_four_values(connect_four.ConnectFourBoard(8, 8)) is None
    assert dots_values(dots.DotsBoard(4, 4)) is None
    board = amazons.AmazonsBoard(amazons.start_position(6, 6))
    assert (board.squares == 0).sum() > FREE
    assert amazons_values(board) is None
    assert amazons_values(amazons.AmazonsBoard(amazons.start_position(4, 4), 0, True)) is None
    assert not uneven({1: 1, 2: 1})


def test_a_rate_over_games_is_wider_than_over_positions_that_belong_together() -> None:
    games = [(8.0, 8.0), (0.0, 8.0)] * 10
    found = rate(games)
    # Each game counts as one throw: the interval of a mean of twenty.
    half = stats.t.ppf(0.975, 19) * 0.5 / (19**0.5)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))
    assert found.high - found.low > 2 * (wilson(80, 160).high - 0.5)
    assert rate([(4.0, 4.0), (2.0, 2.0)]) == wilson(6, 6)
    assert not rate([(0.0, 0.0)]).known


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("kept")
    path = folder / "dots.toml"
    path.write_text(CUP)
    return execute(path, out=folder / "out", options=RunnerOptions(in_process=True))


def table(played: Any, execution: int = 1, most: int = kept.GAMES) -> Any:
    sample = kept.KeptSample(execution, played.played, most)
    for _, record in counted(next(Path(played.folder).glob("games-*.journal"))):
        sample.add(record)
    return sample.table()


def test_the_report_says_how_often_players_kept_the_value(played: Any) -> None:
    found = table(played)
    assert found is not None
    rows = {(stage, player): cells for stage, player, *cells in found.rows}
    assert set(rows) == {("cup", "perfect"), ("cup", "dice"), ("alone", "dice")}
    games, positions, share, _ = rows["cup", "perfect"]
    assert share == "100.0"
    assert 0 < int(games) <= int(positions)
    assert 10 < float(rows["cup", "dice"][2]) < 90
    assert table(played, most=0) is None
    assert table(played, 2) is None
    fewer = table(played, most=2)
    assert fewer is not None
    assert all(int(games) <= 4 for _, _, games, *_ in fewer.rows)
    page = (played.folder / "report.html").read_text()
    assert "Value-keeping moves" in page
    text = re.sub(r"<[^>]+>", " ", page)
    assert re.search(rf"cup\s+perfect\s+{games}\s+{positions}\s+100\.0", text)


def test_games_that_another_version_would_play_otherwise_have_no_table(
    played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(record: Any) -> Any:
        raise DovetailError("the replay differs in turn 3")
        yield

    monkeypatch.setattr(kept, "replay", fails)
    assert table(played) is None
