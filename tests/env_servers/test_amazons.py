"""Amazons against rules written a second time, and published counts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import DovetailError
from dovetail.peer import options
from dovetail.peer.environments.environment import IllegalAction
from dovetail.protocol.scenes import Choice, Piece
from dovetail_games.amazons import Amazons, AmazonsBoard, Configuration, kernels, start_position

Square = tuple[int, int]
COMPASS = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]


class Slow:
    """Sets of squares; the three rules of the study, line for line."""

    def __init__(self, position: str) -> None:
        lines = position.split("/")
        self.rows, self.columns = len(lines), len(lines[0])
        at = {(r, c): m for r, line in enumerate(lines) for c, m in enumerate(line)}
        self.amazons = [{s for s, m in at.items() if m == mark} for mark in "ab"]
        self.arrows = {s for s, m in at.items() if m == "x"}
        self.mover = 0

    def free(self, square: Square) -> bool:
        inside = 0 <= square[0] < self.rows and 0 <= square[1] < self.columns
        return inside and square not in self.arrows | self.amazons[0] | self.amazons[1]

    def rays(self, square: Square) -> set[Square]:
        found = set()
        for down, right in COMPASS:
            here = (square[0] + down, square[1] + right)
            while self.free(here):
                found.add(here)
                here = (here[0] + down, here[1] + right)
        return found

    def moves(self) -> set[tuple[Square, Square, Square]]:
        mine = self.amazons[self.mover]
        found = set()
        for source in list(mine):
            targets = self.rays(source)
            mine.remove(source)
            for target in targets:
                mine.add(target)
                found |= {(source, target, arrow) for arrow in self.rays(target)}
                mine.remove(target)
            mine.add(source)
        return found

    def play(self, move: tuple[Square, Square, Square]) -> None:
        source, target, arrow = move
        self.amazons[self.mover].remove(source)
        self.amazons[self.mover].add(target)
        self.arrows.add(arrow)
        self.mover = 1 - self.mover

    def __str__(self) -> str:
        marks = dict.fromkeys(self.amazons[0], "a") | dict.fromkeys(self.amazons[1], "b")
        marks |= dict.fromkeys(self.arrows, "x")
        return "/".join(
            "".join(marks.get((r, c), ".") for c in range(self.columns)) for r in range(self.rows)
        )


def squares(action: int, board: AmazonsBoard) -> tuple[Square, Square, Square]:
    size = board.rows * board.columns
    source, target, arrow = action // size**2, action // size % size, action % size
    c = board.columns
    return divmod(source, c), divmod(target, c), divmod(arrow, c)


@settings(max_examples=12, deadline=None)
@given(st.integers(4, 6), st.integers(4, 6), st.randoms(use_true_random=False))
def test_it_agrees_with_slow_rules_move_by_move(rows: int, columns: int, rng: Any) -> None:
    board = AmazonsBoard(start_position(rows, columns))
    slow = Slow(str(board))
    while True:
        expected = slow.moves()
        assert {squares(action, board) for action in board.legal()} == expected
        assert board.over == (not expected)
        assert kernels.count_moves(board.squares, rows, columns, board.mover) == len(expected)
        if board.over:
            assert board.winner == 1 - slow.mover
            return
        action = rng.choice(board.legal())
        slow.play(squares(action, board))
        board.play(action)
        assert str(board) == str(slow)


@pytest.mark.parametrize(
    ("size", "one", "two"),
    [  # the study, section 1.3; 10 x 10 also published elsewhere
        (5, 260, 50_422),
        (6, 544, 238_532),
        (7, 812, 560_400),
        (8, 1_232, 1_331_198),
        (10, 2_176, 4_307_152),
    ],
)
def test_moves_from_the_start_are_as_many_as_published(size: int, one: int, two: int) -> None:
    board = AmazonsBoard(start_position(size, size))
    assert len(board.legal()) == one
    assert kernels.perft(board.squares, size, size, 0, 2) == two


def test_the_standard_position() -> None:
    assert start_position(10, 10).split("/") == [
        "...a..a...",
        "..........",
        "..........",
        "a........a",
        "..........",
        "..........",
        "b........b",
        "..........",
        "..........",
        "...b..b...",
    ]


def test_two_steps_are_the_same_moves() -> None:
    """Every queen move with every arrow that then follows is a move, and there are no others."""
    rng = random.Random(1)
    whole, steps = (
        AmazonsBoard(start_position(6, 6)),
        AmazonsBoard(start_position(6, 6), steps=True),
    )
    while not whole.over:
        found = set()
        size = 36
        for move in steps.legal():
            half = steps.copy()
            half.play(move)
            assert half.mover == steps.mover
            found |= {move * size + arrow - size * size for arrow in half.legal()}
        assert found == set(whole.legal())
        action = rng.choice(whole.legal())
        whole.play(action)
        steps.play(action // size)
        steps.play(size * size + action % size)
        assert str(whole) == str(steps)
        assert whole.winner == steps.winner


def random_games(size: int, games: int) -> tuple[float, float]:
    rng, moves, wins = random.Random(1), 0, 0
    for _ in range(games):
        board = AmazonsBoard(start_position(size, size))
        count = 0
        while not board.over:
            found = board.moves()
            board.play(int(found[rng.randrange(len(found))]))
            count += 1
            assert int((board.squares == kernels.ARROW).sum()) == count
        assert count <= size * size - 8
        assert all(int((board.squares == seat).sum()) == 4 for seat in (1, 2))
        moves += count
        wins += board.winner == 0
    return moves / games, wins / games


def test_random_games_are_as_long_as_the_study_found() -> None:
    """On 8 x 8: 47.1 plies, sd 3.7; on 6 x 6: 25.3, sd 2.0."""
    assert abs(random_games(8, 400)[0] - 47.1) < 4 * 3.7 / 20
    assert abs(random_games(6, 400)[0] - 25.3) < 4 * 2.0 / 20


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_random_games() -> None:
    print("amazons 6x6, 10^5 random games: plies, first wins", random_games(6, 100_000))


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"rows": 3}, "environment amazons, option 'rows': "),
        ({"columns": 21}, "environment amazons, option 'columns': "),
        ({"action": "arrow"}, "environment amazons, option 'action': "),
        ({"position": "ab/x"}, "option 'position': 'ab/x' is not a position"),
        ({"position": "a./.."}, "seat 1 has no amazon"),
        ({"position": "axb"}, "the seat that begins cannot move"),
        ({"position": "a" + "." * 19 + "b"}, "1 rows and 21 columns; at most 20 of each"),
        ({"position": "a./" * 20 + "b."}, "21 rows and 2 columns; at most 20 of each"),
        ({"size": 10}, "size"),
    ],
)
def test_bad_options_get_one_line(given_: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DovetailError) as caught:
        Amazons(options.read(Configuration, given_, "environment amazons"))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        ((0 * 9 + 4) * 9 + 0, "seat 0 has no amazon on square 0"),
        ((1 * 9 + 5) * 9 + 8, "no arrow gets from square 5 to 8"),
        ((1 * 9 + 6) * 9 + 0, "no amazon gets from square 1 to 6"),
        (-1, "^-1 is not an action of this game"),
        (9**3, "^729 is not an action of this game"),
        (2**64 - 1, "is not an action of this game"),
        (-(2**70), "is not an action of this game"),
        (True, "True is not an action of this game"),
        (None, "None is not an action of this game"),
    ],
)
def test_what_the_rules_say_of_a_wrong_move(action: Any, complaint: str) -> None:
    board = AmazonsBoard(".a./x../b.b")
    with pytest.raises(IllegalAction, match=complaint) as caught:
        board.play(action)
    assert caught.value.seat == 0
    assert (str(board), board.mover, board.last) == (".a./x../b.b", 0, ())


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        (0 * 9 + 4, "seat 0 has no amazon on square 0"),
        (1 * 9 + 6, "no amazon gets from square 1 to 6"),
        (-1, "^-1 is not an action of this game"),
        (9 * 9 + 1, "^82 is not an action of this game"),
        (2**70, "is not an action of this game"),
    ],
)
def test_what_the_rules_say_of_a_wrong_step(action: int, complaint: str) -> None:
    board = AmazonsBoard(".a./x../b.b", steps=True)
    with pytest.raises(IllegalAction, match=complaint):
        board.play(action)
    assert (str(board), board.mover, board.shooter) == (".a./x../b.b", 0, None)
    board.play(1 * 9 + 4)
    for arrow in (1, 9 * 9 + 4, 9 * 9 + 3, 9 * 9 + 9, -1, 2**70):
        with pytest.raises(IllegalAction, match=f"^{arrow} is not an arrow from square 4"):
            board.play(arrow)
    assert (str(board), board.mover, board.shooter) == (".../xa./b.b", 0, 4)


@pytest.mark.parametrize("action", ["move", "steps"])
def test_only_the_seat_to_act_may_act_and_nobody_after_the_end(action: Any) -> None:
    game = Amazons(Configuration(position="a.b", action=action))
    game.start(0)
    for wrong in ({1: 5}, {0: 5, 1: 5}, {}):
        with pytest.raises(IllegalAction, match="seat 0 is to act, and only it"):
            game.step(wrong)
    assert str(game.board) == "a.b"
    # The amazon steps to the middle and shoots back: neither seat has a free square left.
    turn = game.step({0: (0 * 3 + 1) * 3 + 0} if action == "move" else {0: 0 * 3 + 1})
    if action == "steps":
        assert (turn.to_act, turn.seats[0].legal) == ([0], [9])
        assert turn.seats[0].observation.tolist() == [
            [[0, 1, 0]],
            [[0, 0, 1]],
            [[0] * 3],
            [[0, 1, 0]],
        ]
        turn = game.step({0: 9 + 0})
    assert (turn.to_act, turn.terminated, turn.outcome) == ([], True, [1.0, 0.0])
    assert [(view.seat, view.reward) for view in turn.seats] == [(0, 1.0), (1, -1.0)]
    assert turn.seats[1].observation[:3].tolist() == [[[0, 0, 1]], [[0, 1, 0]], [[1, 0, 0]]]
    for seat in (0, 1):
        with pytest.raises(IllegalAction, match="the game is over"):
            game.step({seat: 5})
    assert game.text().splitlines()[-1] == "A has won"
    assert [game.scene(seat).choices for seat in (None, 0, 1)] == [[], [], []]


def test_either_seat_may_begin() -> None:
    game = Amazons(Configuration(5, 5, first=1))
    turn = game.start(0)
    assert turn.to_act == [1]
    own, other, arrows = turn.seats[0].observation
    assert own.tolist() == other[::-1].tolist()
    assert [list(found) for found in zip(*own.nonzero(), strict=True)] == [
        [3, 0],
        [3, 4],
        [4, 1],
        [4, 3],
    ]
    assert not arrows.any()
    assert len(turn.seats[0].legal or []) == 260


def test_text() -> None:
    game = Amazons(Configuration(position="a.../..../...b"))
    game.start(0)
    game.step({0: (0 * 12 + 5) * 12 + 0})
    assert game.text().splitlines() == [
        " 1  X  .  .  .",
        " 2  .  A  .  .",
        " 3  .  .  .  B",
        "    a  b  c  d",
        "B to move",
    ]


def test_scene() -> None:
    game = Amazons(Configuration(position="a.b/x.x", action="steps"))
    game.start(0)
    game.step({0: 0 * 6 + 4})
    scene = game.scene(0)
    assert (scene.width, scene.height) == (3, 2)
    assert [(cell.x, cell.y) for cell in scene.cells] == [(x, y) for y in (1, 0) for x in (0, 1, 2)]
    assert scene.pieces == [
        Piece(2, "queen", 1, key="1"),
        Piece(3, "arrow"),
        Piece(4, "queen", 0, key="0"),
        Piece(5, "arrow"),
    ]
    assert scene.choices == [Choice(36, "/a1", [0]), Choice(37, "/b1", [1])]
    assert game.scene(1).choices == []
    whole = Amazons(Configuration(position="a.b/x.x"))
    whole.start(0)
    assert whole.scene().choices == []
    assert whole.scene(0).choices[0] == Choice((0 * 6 + 1) * 6 + 0, "a1-b1/a1", [0, 1, 0])
