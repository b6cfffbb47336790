from __future__ import annotations

import random
from functools import cache

import pytest

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.agent import Agent, Seat
from dovetail.peer.agents.random_agent import Random
from dovetail_agents.games.dots import DotsPlayer
from dovetail_agents.games.dots.perfect import DotsPerfect, after, ending, keeping, values
from dovetail_games.dots import Configuration, Dots
from dovetail_games.dots.rules import DotsBoard, grid
from dovetail_studies.dots.rows import kept
from dovetail_studies.playing import match


def best(board: DotsBoard) -> int:
    """Return the value of a position to its mover, by the rules alone."""

    @cache
    def value(lines: tuple[int, ...]) -> int:
        found = -99
        there = DotsBoard(board.grid.rows, board.grid.columns)
        for line in lines:
            there.draw(line)
        for line in there.legal():
            next_ = there.copy()
            next_.draw(line)
            won = next_.scores[there.mover] - there.scores[there.mover]
            rest = value(tuple(sorted((*lines, line)))) if next_.free else 0
            found = max(found, won + rest if won else -rest)
        return found

    return value(tuple(line for line in range(board.grid.lines) if board.drawn >> line & 1))


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 4), (4, 3)])
def test_endings_have_the_values_of_the_whole_table(rows: int, columns: int) -> None:
    rng = random.Random(rows)
    for _ in range(20):
        board = DotsBoard(rows, columns)
        for _ in range(rng.randint(1, board.grid.lines - 1)):
            board.draw(rng.choice(board.legal()))
        found = ending(board.grid, board.drawn)
        assert found == {line: after(board.grid, board.drawn, line) for line in board.legal()}


@pytest.mark.parametrize(
    ("rows", "columns", "value"), [(2, 2, -1), (2, 3, 0), (2, 4, -1), (3, 3, 2), (3, 4, -2)]
)
def test_values_are_those_of_solved_boards(rows: int, columns: int, value: int) -> None:
    assert values(rows, columns)[0] == value
    if rows * columns < 9:
        assert best(DotsBoard(rows, columns)) == value


def test_the_value_of_a_line_is_that_of_the_rules() -> None:
    board = DotsBoard(3, 3)
    for line in (0, 2, 6, 7):
        board.draw(line)
    expected = {}
    for line in board.legal():
        there = board.copy()
        there.draw(line)
        won = there.scores[board.mover] - board.scores[board.mover]
        expected[line] = won + best(there) if won else -best(there)
    assert expected == {line: after(board.grid, board.drawn, line) for line in board.legal()}
    most = max(expected.values())
    assert keeping(board.grid, board.drawn) == [n for n, each in expected.items() if each == most]


def test_it_wins_every_won_seat_and_refuses_boards_that_are_too_large() -> None:
    with InProcess([Dots], [DotsPerfect, Random]) as experiment:
        players = [experiment.create("dots-perfect"), experiment.create("random")]
        found = match(experiment, "dots", players, 40, 1, {"rows": 3, "columns": 3})
        assert found.games == 40
        assert found.wins >= 30
        run = experiment.run(
            "dots", players[::-1], episodes=20, configuration={"rows": 2, "columns": 2}
        )
        assert [episode.outcome for episode in run] == [[0.0, 1.0]] * 20
    with pytest.raises(DovetailError, match="40 lines"):
        values(5, 5)


@pytest.mark.parametrize("kind", [DotsPerfect, DotsPlayer])
def test_it_plays_on_the_rows_that_it_is_given(kind: type[Agent]) -> None:
    def seat(rows: int, columns: int) -> Seat:
        return Seat(1, 0, Dots(Configuration(rows, columns)).init())

    def player(rows: int) -> Agent:
        return kind(kind.Parameters(rows=rows))

    player(0).init(seat(3, 3))
    player(3).init(seat(3, 4))
    player(4).init(seat(4, 3))
    for rows in (1, 5, 6, 20):
        with pytest.raises(
            DovetailError, match=f"6 boxes does not have {rows} rows of dots"
        ) as said:
            player(rows).init(seat(3, 4))
        assert str(said.value).startswith(f"agent {kind.name}, option 'rows':")
    with pytest.raises(DovetailError, match=f"{kind.name}: set its option rows, for the board is"):
        player(0).init(seat(3, 4))
    with pytest.raises(DovetailError, match=f"{kind.name} plays with at most"):
        player(0).init(seat(9, 9))


def test_a_share_of_kept_values_is_counted_in_positions_where_it_matters() -> None:
    right, count, chance = kept([0, 0, 0, 0, 1, -1, 0], 4, 30, 1)
    assert count == 30
    assert 0.1 < chance < 0.7 < right / count
    assert grid(4, 4).lines == 24
