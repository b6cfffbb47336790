"""2048 against rules written a second time, square by square."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.env_servers.cases import after_moves

from dovetail import DovetailError
from dovetail.peer import options
from dovetail.peer.environments.environment import IllegalAction
from dovetail_games.game_2048 import Board2048, Configuration, Game2048
from dovetail_games.game_2048.rules import Rows, slide

STEPS = [(-1, 0), (0, 1), (1, 0), (0, -1)]


def moved_slowly(rows: Rows, move: int) -> tuple[Rows, int]:
    """Move tile after tile, nearest to the wall first, until it meets the wall or a tile."""
    board = {(r, c): t for r, row in enumerate(rows) for c, t in enumerate(row) if t}
    dr, dc = STEPS[move]
    merged: set[tuple[int, int]] = set()
    gain = 0
    for square in sorted(board, key=lambda s: -(s[0] * dr + s[1] * dc)):
        tile = board.pop(square)
        r, c = square
        while True:
            ahead = (r + dr, c + dc)
            if not (0 <= ahead[0] < len(rows) and 0 <= ahead[1] < len(rows[0])):
                break
            if ahead in board:
                if board[ahead] == tile and ahead not in merged:
                    tile += 1
                    gain += 2**tile
                    merged.add(ahead)
                    r, c = ahead
                break
            r, c = ahead
        board[r, c] = tile
    return tuple(
        tuple(board.get((r, c), 0) for c in range(len(rows[0]))) for r in range(len(rows))
    ), gain


boards = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 4]), min_size=shape[1], max_size=shape[1]).map(
            tuple
        ),
        min_size=shape[0],
        max_size=shape[0],
    ).map(tuple)
)


@settings(max_examples=500)
@given(boards, st.integers(0, 3))
def test_it_agrees_with_slow_rules(rows: Any, move: int) -> None:
    assert after_moves(rows)[move] == moved_slowly(rows, move)


@settings(max_examples=300)
@given(boards, st.integers(0, 3))
def test_a_move_keeps_the_sum_and_never_adds_tiles(rows: Any, move: int) -> None:
    after, gain = after_moves(rows)[move]
    value = [sum(1 << t for row in board for t in row if t) for board in (rows, after)]
    tiles = [sum(t > 0 for row in board for t in row) for board in (rows, after)]
    assert value[0] == value[1]
    assert tiles[1] <= tiles[0]
    assert (gain > 0) == (tiles[1] < tiles[0])


@pytest.mark.parametrize(
    ("row", "after", "gain"),
    [
        ((1, 1, 1, 1), (2, 2, 0, 0), 8),
        ((1, 1, 1, 0), (2, 1, 0, 0), 4),
        ((2, 1, 1, 0), (2, 2, 0, 0), 4),
        ((0, 0, 0, 3), (3, 0, 0, 0), 0),
        ((1, 0, 2, 1), (1, 2, 1, 0), 0),
    ],
)
def test_rows(row: Any, after: Any, gain: int) -> None:
    assert slide(row) == (after, gain)


def test_tiles_appear_evenly_and_a_tenth_are_fours() -> None:
    count: Counter[tuple[int, int]] = Counter()
    rng, fours = random.Random(1), 0
    for _ in range(8_000):
        board = Board2048(2, 2, rng, 0.1, 1)
        ((square, tile),) = [
            ((r, c), t) for r, row in enumerate(board.rows) for c, t in enumerate(row) if t
        ]
        count[square] += 1
        fours += tile == 2
    assert all(abs(n / 8_000 - 0.25) < 0.02 for n in count.values())
    assert abs(fours / 8_000 - 0.1) < 0.015


def random_games(games: int) -> float:
    rng, total = random.Random(2), 0
    for seed in range(games):
        board = Board2048(rng=random.Random(seed))
        while not board.over:
            tiles = sum(1 << t for row in board.rows for t in row if t)
            board.play(rng.choice(board.legal()))
            board.appear()
            new = sum(1 << t for row in board.rows for t in row if t) - tiles
            assert new in (2, 4)
        total += board.score
    return total / games


def test_random_play_scores_about_eleven_hundred() -> None:
    """Random play makes about 1,090 points a game, as players of the game have often reported."""
    assert 950 < random_games(300) < 1250


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_random_games() -> None:
    print("2048, 10^5 random games: mean score", random_games(100_000))


@pytest.mark.parametrize("encoding", ["exponents", "planes"])
@pytest.mark.parametrize("columns", [3, 4])
def test_symmetric_boards_have_symmetric_afterstates(columns: int, encoding: Any) -> None:
    first = Game2048(Configuration(columns=columns, encoding=encoding))
    image = Game2048(Configuration(columns=columns, encoding=encoding))
    first.start(5)
    rng = random.Random(1)
    for _ in range(20):
        first.step({0: rng.choice(first.board.legal())})
    flat = first.observation(0).ravel()
    after = dict(zip(first.board.legal(), first.afterstates(0), strict=True))
    found = first.init().symmetries
    assert len(found) == (7 if columns == 4 else 3)
    for symmetry in found:
        board = flat[symmetry.observation].reshape(first.observation(0).shape)
        exponents = board if encoding == "exponents" else board.argmax(0)
        image.board.go(tuple(tuple(int(t) for t in row) for row in exponents))
        theirs = dict(zip(image.board.legal(), image.afterstates(0), strict=True))
        assert set(theirs) == {symmetry.actions[move] for move in after}
        for move, row in after.items():
            np.testing.assert_array_equal(
                row.ravel()[symmetry.observation], theirs[symmetry.actions[move]].ravel()
            )


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"rows": 0}, "environment 2048, option 'rows': "),
        ({"four": 1.5}, "environment 2048, option 'four': "),
        ({"rows": 1, "columns": 1, "tiles": 1}, "option 'tiles': 1 tiles need a board"),
        ({"tiles": 17}, "option 'tiles': 17 tiles need a board of at least as many squares"),
        ({"size": 4}, "size"),
    ],
)
def test_bad_options_get_one_line(given_: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DovetailError) as caught:
        Game2048(options.read(Configuration, given_, "environment 2048"))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_the_rules_say_of_a_wrong_move() -> None:
    board = Board2048(2, 2)
    board.go(((1, 2), (0, 0)))
    assert board.legal() == [2]
    with pytest.raises(IllegalAction, match="moving left changes nothing"):
        board.play(3)
    with pytest.raises(IllegalAction, match="4 is not a move; 0 is up"):
        board.play(4)


def test_text() -> None:
    game = Game2048(Configuration(2, 3))
    game.start(0)
    game.board.go(((1, 11, 0), (0, 0, 3)))
    game.board.score = 20
    assert game.text().splitlines() == [
        "   2 2048    .",
        "   .    .    8",
        "score 20; 0: up, 1: right, 2: down, 3: left",
    ]
