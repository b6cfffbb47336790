"""Connect Four against rules written a second time, slowly, and against published counts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import DovetailError
from dovetail.env_servers.connect_four import Board, Configuration, ConnectFour
from dovetail.env_servers.environment import IllegalAction
from dovetail.experiments.statistics import wilson
from dovetail.protocol import options

Discs = dict[tuple[int, int], int]
TROMP = [1, 7, 49, 238, 1120, 4263, 16422]
"""Positions after so many discs on 6 x 7: OEIS A212693, after J. Tromp."""


def wins_slowly(discs: Discs, player: int, connect: int) -> bool:
    """Look along every line from every disc."""
    mine = {place for place, owner in discs.items() if owner == player}
    return any(
        all((row + i * up, column + i * right) in mine for i in range(connect))
        for row, column in mine
        for up, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    )


def drop_slowly(discs: Discs, rows: int, column: int, player: int) -> None:
    row = sum(1 for _, c in discs if c == column)
    assert row < rows
    discs[row, column] = player


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_it_agrees_with_slow_rules_move_by_move(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 8))
    connect = data.draw(st.integers(2, max(2, rows, columns)))
    board, discs = Board(rows, columns, connect), Discs()
    player = 0
    while True:
        full = len(discs) == rows * columns
        won = wins_slowly(discs, 1 - player, connect)
        assert board.winner == (1 - player if won else None)
        assert board.over == (won or full)
        free = [c for c in range(columns) if sum(1 for _, x in discs if x == c) < rows]
        assert board.legal() == ([] if won else free)
        if board.over:
            return
        column = data.draw(st.sampled_from(free))
        board.drop(column)
        drop_slowly(discs, rows, column, player)
        player = 1 - player


def successors(board: Board) -> list[Board]:
    found = []
    for column in board.legal():
        after = Board(board.rows, board.columns, board.connect)
        after.discs, after.heights = board.discs.copy(), board.heights.copy()
        after.moves = board.moves
        after.drop(column)
        found.append(after)
    return found


def test_the_positions_by_ply_are_as_many_as_tromp_counted() -> None:
    level = [Board()]
    counts = [1]
    for _ in TROMP[1:]:
        unique = {tuple(after.discs): after for board in level for after in successors(board)}
        level = list(unique.values())
        counts.append(len(level))
    assert counts == TROMP


def perft(board: Board, depth: int) -> int:
    """Count games of so many moves, or shorter ones that are over."""
    if depth == 0 or board.over:
        return 1
    return sum(perft(after, depth - 1) for after in successors(board))


def perft_slowly(discs: Discs, player: int, depth: int, rows: int, columns: int) -> int:
    if depth == 0 or wins_slowly(discs, 1 - player, 4) or len(discs) == rows * columns:
        return 1
    total = 0
    for column in range(columns):
        if sum(1 for _, c in discs if c == column) < rows:
            after = dict(discs)
            drop_slowly(after, rows, column, player)
            total += perft_slowly(after, 1 - player, depth - 1, rows, columns)
    return total


@pytest.mark.parametrize("opening", ["", "3332", "010101", "33333322", "0123456"])
def test_games_are_as_many_as_by_slow_rules(opening: str) -> None:
    board, discs = Board(), Discs()
    for number, column in enumerate(map(int, opening)):
        board.drop(column)
        drop_slowly(discs, 6, column, number % 2)
    assert perft(board, 4) == perft_slowly(discs, len(opening) % 2, 4, 6, 7)


def test_random_players_share_games_as_published() -> None:
    """55.5 %, 44.3 % and 0.22 %, as many report; here within a 99.99 % interval of 4,000 games."""
    rng, wins = random.Random(1), [0, 0, 0]
    for _ in range(4_000):
        board = Board()
        while not board.over:
            board.drop(rng.choice(board.legal()))
        wins[2 if board.winner is None else board.winner] += 1
    for share, count in zip((0.555, 0.443, 0.0022), wins, strict=True):
        found = wilson(count, 4_000)
        assert abs(found.value - share) < 2 * max(found.high - found.value, found.value - found.low)


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"rows": 0}, "environment connect_four, option 'rows': "),
        ({"columns": 21}, "environment connect_four, option 'columns': "),
        ({"connect": "four"}, "environment connect_four, option 'connect': "),
        ({"rows": 3, "columns": 3}, "option 'connect': 4 in a row do not fit"),
        ({"colums": 7}, "colums"),
    ],
)
def test_bad_options_get_one_line(given_: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DovetailError) as caught:
        ConnectFour(options.read(Configuration, given_, "environment connect_four"))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (7, "7 is no column; the columns are 0 to 6"),
        (-1, "-1 is no column"),
        (0, "column 0 is full"),
    ],
)
def test_what_the_rules_say_of_a_wrong_move(column: int, complaint: str) -> None:
    board = Board()
    for _ in range(6):
        board.drop(0)
    with pytest.raises(IllegalAction, match=complaint) as caught:
        board.drop(column)
    assert caught.value.seat == 0


def test_text() -> None:
    game = ConnectFour()
    game.start(0)
    for number, column in enumerate((3, 3, 2, 4, 4)):
        game.step({number % 2: column})
    assert game.text().splitlines() == [
        ". . . . . . .",
        ". . . . . . .",
        ". . . . . . .",
        ". . . . . . .",
        ". . . O x . .",
        ". . X X O . .",
        "0 1 2 3 4 5 6",
    ]
