"""Dots and boxes against rules written a second time, and solved boards."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import DovetailError
from dovetail.env_servers.dots import Board, Configuration, Dots
from dovetail.env_servers.environment import IllegalAction
from dovetail.protocol import options

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
    board, slow = Board(rows, columns), Slow(rows, columns)
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
    """Return the boxes that the first player wins by, both playing best; by the rules under test."""
    whole = Board(rows, columns)
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
def test_two_by_three_boxes_solved() -> None:
    """2 x 3 boxes; the figure is this search's own, by two sets of rules."""
    assert solve(3, 4) == _solve_slowly(3, 4)


def random_games(games: int) -> float:
    """Return the share of games that the first player wins."""
    rng, wins = random.Random(1), 0
    for _ in range(games):
        board = Board()
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
    board = Board(2, 2)
    board.draw(1)
    with pytest.raises(IllegalAction, match="line 1 is drawn already"):
        board.draw(1)
    with pytest.raises(IllegalAction, match="4 is no line; the lines are 0 to 3"):
        board.draw(4)
    assert (board.drawn, board.mover) == (2, 1)


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
