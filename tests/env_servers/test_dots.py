"""Dots and boxes against rules written a second time, and solved boards."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import DovetailError
from dovetail.peer import options
from dovetail.peer.environments.environment import IllegalAction
from dovetail.protocol.scenes import Choice, Piece
from dovetail_games.dots import Configuration, Dots, DotsBoard

Line = frozenset[tuple[int, int]]


class Slow:
    """Lines are pairs of dots, boxes are found by looking at all four sides each time."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.lines: list[Line] = [
            frozenset({(r, c), (r, c + 1)}) for r in range(rows) for c in range(columns - 1)
        ] + [frozenset({(r, c), (r + 1, c)}) for r in range(rows - 1) for c in range(columns)]
        self.drawn: set[Line] = set()
        self.scores = [0, 0]
        self.mover = 0

    def boxes(self) -> int:
        count = 0
        for r in range(self.rows - 1):
            for c in range(self.columns - 1):
                a, b, x, y = (r, c), (r, c + 1), (r + 1, c), (r + 1, c + 1)
                count += {frozenset(p) for p in ((a, b), (x, y), (a, x), (b, y))} <= self.drawn
        return count

    def draw(self, number: int) -> None:
        before = self.boxes()
        self.drawn.add(self.lines[number])
        gained = self.boxes() - before
        self.scores[self.mover] += gained
        if not gained:
            self.mover = 1 - self.mover


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 5), st.integers(2, 5), st.randoms(use_true_random=False))
def test_it_agrees_with_slow_rules_line_by_line(rows: int, columns: int, rng: Any) -> None:
    board, slow = DotsBoard(rows, columns), Slow(rows, columns)
    while not board.over:
        assert board.legal() == [n for n, e in enumerate(slow.lines) if e not in slow.drawn]
        assert (board.mover, board.scores) == (slow.mover, slow.scores)
        line = rng.choice(board.legal())
        gained = sum(slow.scores)
        completes = board.completes(line)
        board.draw(line)
        slow.draw(line)
        assert completes == sum(slow.scores) - gained
    assert board.scores == slow.scores
    assert sum(board.scores) == (rows - 1) * (columns - 1)
    assert [board.owners.count(player) for player in (0, 1)] == board.scores


def solve(rows: int, columns: int) -> int:
    """Return the boxes that the first player wins by, both playing best; by the rules under
    test."""
    whole = DotsBoard(rows, columns)
    masks = whole.grid.beside
    lines = whole.grid.lines

    @cache
    def best(drawn: int) -> int:
        value = -99
        for line in range(lines):
            if not drawn >> line & 1:
                after = drawn | 1 << line
                gained = sum(after & mask == mask for _, mask in masks[line])
                rest = best(after) if after != (1 << lines) - 1 else 0
                value = max(value, gained + rest if gained else -rest)
        return value

    return best(0)


@pytest.mark.parametrize(
    ("rows", "columns", "lead"),
    [
        (2, 2, -1),  # one box: whoever must draw the third line loses it
        (2, 3, 0),  # 1 x 2 boxes
        (2, 4, -1),
        (3, 3, 2),  # 2 x 2 boxes: the first player wins 3-1
    ],
)
def test_solved_boards(rows: int, columns: int, lead: int) -> None:
    assert solve(rows, columns) == _solve_slowly(rows, columns) == lead


def _solve_slowly(rows: int, columns: int) -> int:
    shape = Slow(rows, columns)

    @cache
    def best(drawn: frozenset[int]) -> int:
        if len(drawn) == len(shape.lines):
            return 0
        shape.drawn = {shape.lines[n] for n in drawn}
        before = shape.boxes()
        value = -99
        for number in range(len(shape.lines)):
            if number not in drawn:
                after = drawn | {number}
                shape.drawn = {shape.lines[n] for n in after}
                gained = shape.boxes() - before
                rest = best(after)
                value = max(value, gained + rest if gained else -rest)
        return value

    return best(frozenset())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "columns", "lead"),
    [
        (3, 4, -2),  # 2 x 3 boxes: the second player wins 4-2
        (4, 4, -3),  # 3 x 3 boxes: the second player wins 6-3
    ],
)
def test_larger_boards_solved(rows: int, columns: int, lead: int) -> None:
    """Every set of lines from the last back to none, with boxes made of this file's own lines."""
    shape, mine = Slow(rows, columns), DotsBoard(rows, columns).grid
    number = {line: index for index, line in enumerate(shape.lines)}
    boxes = []
    for r in range(rows - 1):
        for c in range(columns - 1):
            a, b, x, y = (r, c), (r, c + 1), (r + 1, c), (r + 1, c + 1)
            boxes.append(sum(1 << number[frozenset(p)] for p in ((a, b), (x, y), (a, x), (b, y))))
    assert boxes == [sum(1 << line for line in sides) for sides in mine.sides]
    lines = len(shape.lines)
    assert _table(lines, np.array(boxes), np.zeros(1 << lines, np.int8)) == lead


@numba.njit
def _table(lines: int, boxes: Any, values: Any) -> int:
    for drawn in range((1 << lines) - 2, -1, -1):
        best = -99
        for line in range(lines):
            after = drawn | 1 << line
            if after != drawn:
                gained = 0
                for box in boxes:
                    gained += after & box == box and drawn & box != box
                value = gained + values[after] if gained else -values[after]
                best = max(best, value)
        values[drawn] = best
    return int(values[0])


@pytest.mark.slow
def test_two_by_three_boxes_solved_by_both_rules() -> None:
    assert solve(3, 4) == _solve_slowly(3, 4) == -2


def random_games(games: int) -> float:
    """Return the share of games that the first player wins."""
    rng, wins = random.Random(1), 0
    for _ in range(games):
        board = DotsBoard()
        while not board.over:
            drawn, mover = board.drawn, board.mover
            line = rng.choice(board.legal())
            gained = board.completes(line)
            board.draw(line)
            assert board.drawn == drawn | 1 << line
            assert board.mover == (mover if gained else 1 - mover)
        assert sum(board.scores) == 9
        wins += board.scores[0] > board.scores[1]
    return wins / games


def test_random_play_keeps_the_boxes() -> None:
    assert 0.4 < random_games(500) < 0.6


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_random_games() -> None:
    print("dots, 10^5 random games: first wins", random_games(100_000))


@pytest.mark.parametrize("rewards", ["win", "difference", "boxes"])
def test_rewards(rewards: str) -> None:
    game, rng = Dots(Configuration(3, 4, rewards)), random.Random(1)  # type: ignore[arg-type]
    for seed in range(50):
        turn = game.start(seed)
        totals = [0.0, 0.0]
        while True:
            for view in turn.seats:
                totals[view.seat] += view.reward
            if not turn.to_act:
                break
            legal = game.board.legal()
            turn = game.step({turn.to_act[0]: rng.choice(legal)})
        lead = game.board.scores[0] - game.board.scores[1]
        expected = (lead > 0) - (lead < 0) if rewards == "win" else lead
        assert totals == [expected, -expected]


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"rows": 1}, "environment dots, option 'rows': "),
        ({"columns": "x"}, "environment dots, option 'columns': "),
        ({"rewards": "lines"}, "environment dots, option 'rewards': "),
        ({"size": 3}, "size"),
    ],
)
def test_bad_options_get_one_line(given_: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DovetailError) as caught:
        Dots(options.read(Configuration, given_, "environment dots"))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_the_rules_say_of_a_wrong_line() -> None:
    board = DotsBoard(2, 2)
    board.draw(1)
    with pytest.raises(IllegalAction, match="line 1 is drawn already"):
        board.draw(1)
    with pytest.raises(IllegalAction, match="4 is not a line; the lines are 0 to 3"):
        board.draw(4)
    assert (board.drawn, board.mover) == (2, 1)


@pytest.mark.parametrize(
    ("rewards", "forfeit", "reach"),
    [("win", 1.0, 1.0), ("difference", 6.0, 6.0), ("boxes", 6.0, 2.0)],
)
def test_to_forfeit_costs_what_losing_every_box_does(
    rewards: Any, forfeit: float, reach: float
) -> None:
    spec = Dots(Configuration(3, 4, rewards)).init()
    assert spec.forfeit == (-forfeit, forfeit)
    assert spec.reward_range == (-reach, reach)


def test_who_completes_a_box_is_asked_again_and_the_other_told_of_its_reward() -> None:
    game = Dots(Configuration(2, 3, "boxes"))
    game.start(0)
    for seat, line in ((0, 0), (1, 2), (0, 4)):
        game.step({seat: line})
    # Line 5, between the two boxes, is the left one's fourth.
    turn = game.step({1: 5})
    assert turn.to_act == [1]
    assert [(view.seat, view.legal, view.reward) for view in turn.seats] == [
        (1, [1, 3, 6], 1.0),
        (0, None, -1.0),
    ]
    mover, waiting = (view.observation.tolist() for view in turn.seats)
    lines = [1, 0, 1, 0, 1, 1, 0]
    assert mover == [*lines, 1, 0, 0, 0, 1]
    assert waiting == [*lines, 0, 0, 1, 0, 0]


def test_one_line_may_complete_two_boxes() -> None:
    game = Dots(Configuration(2, 3, "boxes"))
    game.start(0)
    for number, line in enumerate((0, 1, 2, 3, 4, 6)):
        game.step({number % 2: line})
    assert game.afterstates(0).tolist() == [[1] * 9 + [0] * 3]
    turn = game.step({0: 5})
    assert (turn.terminated, turn.outcome) == (True, [1.0, 0.0])
    assert [(view.seat, view.reward) for view in turn.seats] == [(0, 2.0), (1, -2.0)]


@pytest.mark.parametrize("line", [-1, 7, True, None, "3", 2**70])
def test_what_is_no_line_changes_nothing(line: Any) -> None:
    board = DotsBoard(2, 3)
    with pytest.raises(IllegalAction, match="is not a line; the lines are 0 to 6") as caught:
        board.draw(line)
    assert caught.value.seat == 0
    assert (board.drawn, board.mover, board.free, board.last) == (0, 0, list(range(7)), None)


def test_only_the_seat_to_act_may_act_and_nobody_after_the_end() -> None:
    game = Dots(Configuration(2, 2))
    game.start(0)
    for wrong in ({1: 0}, {0: 0, 1: 0}, {}):
        with pytest.raises(IllegalAction, match="seat 0 is to act, and only it"):
            game.step(wrong)
    for number in range(4):
        turn = game.step({number % 2: number})
    assert (turn.outcome, [view.reward for view in turn.seats]) == ([0.0, 1.0], [-1.0, 1.0])
    for seat in (0, 1):
        with pytest.raises(IllegalAction, match="the game is over"):
            game.step({seat: 0})


def test_scene() -> None:
    game = Dots(Configuration(2, 3))
    game.start(0)
    for seat, line in ((0, 0), (1, 2), (0, 4), (1, 5)):
        game.step({seat: line})
    scene = game.scene(1)
    assert (scene.width, scene.height, [each.score for each in scene.seats]) == (2, 1, [0, 1])
    # Two boxes, then the lines: two above, two below, three upright.
    assert [cell.kind for cell in scene.cells] == ["box"] * 2 + ["edge"] * 7 + ["dot"] * 6
    middles = [(cell.x + cell.width / 2, cell.y + cell.height / 2) for cell in scene.cells[2:9]]
    assert [(round(x, 9), round(y, 9)) for x, y in middles] == [
        (0.5, 0),
        (1.5, 0),
        (0.5, 1),
        (1.5, 1),
        (0, 0.5),
        (1, 0.5),
        (2, 0.5),
    ]
    drawn = [Piece(2 + line, "line") for line in (0, 2, 4, 5)]
    assert scene.pieces == [Piece(0, "box", 1), *drawn]
    assert scene.choices == [
        Choice(line, name, [2 + line]) for line, name in ((1, "b2-c2"), (3, "b1-c1"), (6, "c1-c2"))
    ]
    assert [cell.name for cell in scene.cells[9:]] == ["a2", "b2", "c2", "a1", "b1", "c1"]
    assert scene.moved == "b1-b2"
    assert [(each.name, each.score) for each in scene.seats] == [("A", 0), ("B", 1)]
    assert game.scene().choices == []
    assert game.scene(0).choices == []


def test_text() -> None:
    game = Dots(Configuration(2, 3))
    game.start(0)
    for seat, line in ((0, 0), (1, 2), (0, 4), (1, 5), (1, 1)):
        game.step({seat: line})
    assert game.text().splitlines() == [
        "+---+---+",
        "| B |   :   6",
        "+---+ 3 +",
        "A 0, B 1",
    ]
