"""Connect Four against rules written a second time, slowly, and against published counts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import DovetailError
from dovetail.peer import options
from dovetail.peer.environments.environment import IllegalAction
from dovetail.protocol.scenes import Choice, Mark, Piece
from dovetail_games.connect_four import Configuration, ConnectFour, ConnectFourBoard

Discs = dict[tuple[int, int], int]
TROMP = [1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275]
"""Positions by the number of discs on 6 x 7: OEIS A212693, after J. Tromp."""
SHARES = (0.5559, 0.4416, 0.0026)
"""First wins, second wins, draws between random players: 20 million games of other rules, on plain
arrays, gave 55.586 %, 44.157 % and 0.257 %, each within 0.022 %.  J. Cancela's 100,000 published
games (javiercancela.com, Training Connect 4, part IV) had 55,751, 43,977 and so 272."""


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
    board, discs = ConnectFourBoard(rows, columns, connect), Discs()
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


def planes_slowly(discs: Discs, rows: int, columns: int, seat: int) -> list[Any]:
    """Return a seat's view as nested lists: own discs, then the other's, the lowest row first."""
    return [
        [
            [int(discs.get((row, column)) == owner) for column in range(columns)]
            for row in range(rows)
        ]
        for owner in (seat, 1 - seat)
    ]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_environment_shows_and_pays_what_slow_rules_say(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 7))
    connect = data.draw(st.integers(2, max(rows, columns)))
    game, discs, seat = ConnectFour(Configuration(rows, columns, connect)), Discs(), 0
    spec = game.init()
    turn = game.start(data.draw(st.integers(0, 9)))
    handed_out = []
    while turn.to_act:
        assert turn.to_act == [seat]
        (view,) = turn.seats
        free = [c for c in range(columns) if sum(1 for _, x in discs if x == c) < rows]
        assert (view.seat, view.legal, view.reward) == (seat, free, 0)
        assert view.observation.tolist() == planes_slowly(discs, rows, columns, seat)
        assert spec.observation_spaces[0].contains(view.observation)
        ahead = game.afterstates(seat)
        handed_out += [(each, each.copy()) for each in (view.observation, ahead)]
        expected = []
        for column in free:
            after = dict(discs)
            drop_slowly(after, rows, column, seat)
            expected.append(planes_slowly(after, rows, columns, seat))
        assert ahead.tolist() == expected
        column = data.draw(st.sampled_from(free))
        drop_slowly(discs, rows, column, seat)
        turn = game.step({seat: column})
        seat = 1 - seat
    won = wins_slowly(discs, 1 - seat, connect)
    assert turn.terminated
    assert won or len(discs) == rows * columns
    assert turn.outcome == ([float(s != seat) for s in (0, 1)] if won else [0.5, 0.5])
    assert [view.seat for view in turn.seats] == [0, 1]
    for view in turn.seats:
        assert view.reward == (0 if not won else -1 if view.seat == seat else 1)
        assert view.observation.tolist() == planes_slowly(discs, rows, columns, view.seat)
    for now, then in handed_out:
        np.testing.assert_array_equal(now, then)


def successors(board: ConnectFourBoard) -> list[ConnectFourBoard]:
    found = []
    for column in board.legal():
        after = board.copy()
        after.drop(column)
        found.append(after)
    return found


@pytest.mark.parametrize("plies", [6, pytest.param(8, marks=pytest.mark.slow)])
def test_the_positions_by_ply_are_as_many_as_tromp_counted(plies: int) -> None:
    level = [ConnectFourBoard()]
    counts = [1]
    for _ in range(plies):
        unique = {tuple(after.discs): after for board in level for after in successors(board)}
        level = list(unique.values())
        counts.append(len(level))
    assert counts == TROMP[: plies + 1]


def perft(board: ConnectFourBoard, depth: int) -> int:
    """Count games of ``depth`` moves, or shorter ones that are over."""
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
    board, discs = ConnectFourBoard(), Discs()
    for number, column in enumerate(map(int, opening)):
        board.drop(column)
        drop_slowly(discs, 6, column, number % 2)
    assert perft(board, 4) == perft_slowly(discs, len(opening) % 2, 4, 6, 7)


@pytest.mark.parametrize("games", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_random_players_share_games_as_others_found(games: int) -> None:
    """Each share is within the 99.99 % range of a score test with this number of games."""
    rng, counts = random.Random(1), [0, 0, 0]
    for _ in range(games):
        board = ConnectFourBoard()
        while not board.over:
            board.drop(rng.choice(board.legal()))
        assert board.moves == sum(board.heights) == sum(discs.bit_count() for discs in board.discs)
        assert board.discs[0] & board.discs[1] == 0
        counts[2 if board.winner is None else board.winner] += 1
    for share, count in zip(SHARES, counts, strict=True):
        assert abs(count - games * share) < 3.891 * (games * share * (1 - share)) ** 0.5


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


def state(board: ConnectFourBoard) -> list[Any]:
    return [repr(getattr(board, name)) for name in ConnectFourBoard.__slots__]


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (7, "7 is not a column; the columns are 0 to 6"),
        (-1, "-1 is not a column"),
        (True, "True is not a column"),
        ("3", "'3' is not a column"),
        (0, r"column 0 is full; legal are \[1, 2, 3, 4, 5, 6\]"),
    ],
)
def test_a_wrong_move_is_named_and_changes_nothing(column: Any, complaint: str) -> None:
    board = ConnectFourBoard()
    for _ in range(6):
        board.drop(0)
    before = state(board)
    with pytest.raises(IllegalAction, match=complaint) as caught:
        board.drop(column)
    assert caught.value.seat == 0
    assert state(board) == before


def test_no_move_is_legal_once_the_game_is_over() -> None:
    game = ConnectFour(Configuration(rows=1, columns=3, connect=2))
    game.start(0)
    for seat, column in ((0, 0), (1, 2), (0, 1)):
        turn = game.step({seat: column})
    assert turn.outcome == [1.0, 0.0]
    before = state(game.board)
    for actions in ({1: 0}, {0: 0}, {}):
        with pytest.raises(IllegalAction, match="the game is over"):
            game.step(actions)
    assert game.board.legal() == []
    assert state(game.board) == before


@pytest.mark.parametrize("columns", [[3, 4], [3, 0, 3, 0, 3, 0, 3]])
def test_a_start_clears_the_board_of_a_game_in_progress_or_over(columns: list[int]) -> None:
    game = ConnectFour()
    game.start(0)
    for number, column in enumerate(columns):
        game.step({number % 2: column})
    (view,) = game.start(1).seats
    assert not view.observation.any()
    assert (view.seat, view.legal) == (0, list(range(7)))
    assert state(game.board) == state(ConnectFourBoard())
    assert game.text() == ConnectFour().text()


@pytest.mark.parametrize("actions", [{1: 3}, {0: 3, 1: 3}, {}])
def test_only_the_seat_to_act_may_act(actions: dict[int, int]) -> None:
    game = ConnectFour()
    game.start(0)
    with pytest.raises(IllegalAction, match="seat 0 is to act, and only it"):
        game.step(actions)
    assert state(game.board) == state(ConnectFourBoard())


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


def test_text_of_a_wide_board_keeps_its_columns() -> None:
    game = ConnectFour(Configuration(rows=2, columns=11))
    game.start(0)
    for number, column in enumerate((10, 10, 0)):
        game.step({number % 2: column})
    assert game.text().splitlines() == [
        " .  .  .  .  .  .  .  .  .  .  O",
        " x  .  .  .  .  .  .  .  .  .  X",
        " 0  1  2  3  4  5  6  7  8  9 10",
    ]


def test_scene() -> None:
    game = ConnectFour(Configuration(rows=2, columns=3, connect=3))
    game.start(0)
    for number, column in enumerate((1, 1, 2)):
        game.step({number % 2: column})
    scene = game.scene(1)
    assert (scene.width, scene.height) == (3, 2)
    # Cells 0 to 2 are the upper row, 3 to 5 the lower.
    places = [(cell.x, cell.y) for cell in scene.cells[:6]]
    assert places == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert scene.pieces == [Piece(4, "disc", 0), Piece(5, "disc", 0), Piece(1, "disc", 1)]
    # Then the columns, which are pointed at; the square where the disc will lie is shown.
    assert [(c.x, c.height, c.kind) for c in scene.cells[6:]] == [(x, 2, "area") for x in (0, 1, 2)]
    assert scene.choices == [
        Choice(0, "column a", [6], shows=[3], key="a"),
        Choice(2, "column c", [8], shows=[2], key="c"),
    ]
    assert scene.marks == [Mark("last", [5])]
    assert game.scene().choices == []
    waiting = game.scene(0)
    assert waiting.choices == []
    assert (waiting.cells, waiting.pieces) == (scene.cells, scene.pieces)


def test_a_scene_of_a_finished_game_offers_nothing() -> None:
    game = ConnectFour(Configuration(rows=1, columns=3, connect=2))
    game.start(0)
    for seat, column in ((0, 0), (1, 2), (0, 1)):
        game.step({seat: column})
    assert [game.scene(seat).choices for seat in (None, 0, 1)] == [[], [], []]
    assert len(game.scene().pieces) == 3
    assert game.scene().marks == [Mark("last", [1]), Mark("win", [0, 1])]
