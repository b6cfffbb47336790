"""Tetris against rules and features written a second time, cell by cell, from the study."""

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
from dovetail_games.tetris import PIECES, Configuration, Tetris, TetrisBoard
from dovetail_games.tetris import features as named
from dovetail_games.tetris.pieces import SHAPES

Cells = set[tuple[int, int]]  # (row from the bottom, column)

DRAWN = {  # (row, column) of the four cells
    "Z": {(1, 0), (1, 1), (0, 1), (0, 2)},
    "S": {(0, 0), (0, 1), (1, 1), (1, 2)},
    "L": {(0, 0), (0, 1), (0, 2), (1, 2)},
    "J": {(0, 0), (0, 1), (0, 2), (1, 0)},
    "T": {(0, 0), (0, 1), (0, 2), (1, 1)},
    "O": {(0, 0), (0, 1), (1, 0), (1, 1)},
    "I": {(0, 0), (0, 1), (0, 2), (0, 3)},
}


def settle(cells: Cells) -> Cells:
    low, left = min(r for r, _ in cells), min(c for _, c in cells)
    return {(r - low, c - left) for r, c in cells}


def rotations(name: str) -> list[Cells]:
    """Quarter turns to the right, without repeats."""
    found: list[Cells] = []
    cells = settle(DRAWN[name])
    for _ in range(4):
        if cells not in found:
            found.append(cells)
        cells = settle({(-c, r) for r, c in cells})
    return found


def drop_slowly(wall: Cells, cells: Cells, column: int, width: int) -> tuple[Cells, Cells, Cells]:
    """Return the piece where it rests, the wall with it, and the wall after full rows vanish."""
    piece = {(r + 60, c + column) for r, c in cells}
    while True:
        lower = {(r - 1, c) for r, c in piece}
        if any(r < 0 for r, _ in lower) or lower & wall:
            break
        piece = lower
    full_wall = wall | piece
    full = [r for r in range(70) if all((r, c) in full_wall for c in range(width))]
    after = {(r - sum(f < r for f in full), c) for r, c in full_wall if r not in full}
    return piece, full_wall, after


def features_slowly(
    piece: Cells, before: Cells, after: Cells, height: int, width: int
) -> list[float]:
    """The definitions of the study's table 2.1, one by one."""

    def solid(row: int, column: int) -> bool:
        return column < 0 or column >= width or row < 0 or (row, column) in after

    rows = [r for r, _ in piece]
    landing = min(rows) + (max(rows) - min(rows)) / 2
    full = [r for r in set(rows) if all((r, c) in before for c in range(width))]
    eroded = len(full) * sum(r in full for r in rows)
    top = max([height, *(r + 1 for r, _ in after)])
    row_changes = sum(
        solid(r, c) != solid(r, c + 1) for r in range(height) for c in range(-1, width)
    )
    column_changes = sum(
        solid(r - 1, c) != ((r, c) in after) for r in range(top + 1) for c in range(width)
    )
    holes = {
        (r, c)
        for r in range(top)
        for c in range(width)
        if (r, c) not in after and any((above, c) in after for above in range(r + 1, top))
    }
    wells = 0
    for r in range(top):
        for c in range(width):
            if not solid(r, c) and solid(r, c - 1) and solid(r, c + 1):
                down = r
                while not solid(down, c):
                    wells += 1
                    down -= 1
    depth = 0
    for r, c in holes:
        up = r + 1
        while (up, c) in after:
            depth += 1
            up += 1
    return [
        landing,
        eroded,
        row_changes,
        column_changes,
        len(holes),
        wells,
        depth,
        len({r for r, _ in holes}),
    ]


def wall_of(board: TetrisBoard) -> Cells:
    return {
        (r, c)
        for r, bits in enumerate(board.wall)
        for c in range(board.width)
        if int(bits) >> c & 1
    }


def test_shapes_are_the_tetrominoes() -> None:
    for name, shapes in SHAPES.items():
        found = [
            {(r, c) for r, bits in enumerate(s.rows) for c in range(s.width) if bits >> c & 1}
            for s in shapes
        ]
        assert found == rotations(name)


def test_there_are_as_many_placements_as_the_study_counts() -> None:
    """I 17, O 9, S 17, Z 17, T 34, L 34, J 34 on a board ten wide."""
    expected = {"I": 17, "O": 9, "S": 17, "Z": 17, "T": 34, "L": 34, "J": 34}
    for name, count in expected.items():
        board = TetrisBoard(pieces=name)
        assert len(board.legal()) == count


@settings(max_examples=40, deadline=None)
@given(
    st.integers(4, 12),
    st.integers(4, 11),
    st.sampled_from([PIECES, "SZ", "I", "TLJ"]),
    st.integers(0, 2**32),
)
def test_it_agrees_with_slow_rules_placement_by_placement(
    height: int, width: int, pieces: str, seed: int
) -> None:
    board, rng = TetrisBoard(height, width, pieces, random.Random(seed)), random.Random(seed)
    wall: Cells = set()
    for _ in range(60):
        name = PIECES[board.piece]
        assert board.legal() == [
            number * width + column
            for number, cells in enumerate(rotations(name))
            for column in range(width - max(c for _, c in cells))
        ]
        found, over = named.after_all(board)
        for index, action in enumerate(board.legal()):
            cells = rotations(name)[action // width]
            piece, before, after = drop_slowly(wall, cells, action % width, width)
            assert bool(over[index]) == any(r >= height for r, _ in after)
            if not over[index]:
                expected = features_slowly(piece, before, after, height, width)
                assert found[index].tolist() == expected, (name, action)
        action = rng.choice(board.legal())
        cells = rotations(name)[action // width]
        _, before, wall = drop_slowly(wall, cells, action % width, width)
        cleared = board.place(action)
        assert cleared * width == len(before) - len(wall)
        assert wall_of(board) == wall
        assert board.over == any(r >= height for r, _ in wall)
        if board.over:
            return
        board.piece = board.draw()


def test_the_three_boards_of_each_placement() -> None:
    game, rng = Tetris(Configuration(8, 6, afterstates="boards")), random.Random(3)
    turn = game.start(1)

    def board(cells: Cells) -> Any:
        found = np.zeros((8, 6), np.uint8)
        for r, c in cells:
            if r < 8:
                found[7 - r, c] = 1
        return found

    while turn.to_act:
        wall, name = wall_of(game.board), PIECES[game.board.piece]
        for action, boards in zip(game.board.legal(), game.afterstates(0), strict=True):
            stages = drop_slowly(wall, rotations(name)[action // 6], action % 6, 6)
            for expected, found in zip(stages, boards, strict=True):
                np.testing.assert_array_equal(board(expected), found)
        turn = game.step({0: rng.choice(game.board.legal())})


def greedy(board: TetrisBoard, weights: Any) -> int:
    found, over = named.after_all(board)
    values = np.where(over, -np.inf, found @ np.asarray(weights))
    return board.legal()[int(values.argmax())]


def lines(games: int, weights: Any, **shape: Any) -> float:
    total = 0
    for seed in range(games):
        board = TetrisBoard(rng=random.Random(seed), **shape)
        while not board.over:
            cells = int(sum(bin(int(row)).count("1") for row in board.wall))
            cleared = board.place(greedy(board, weights))
            after = int(sum(bin(int(row)).count("1") for row in board.wall))
            assert after == cells + 4 - cleared * board.width
            board.piece = board.draw()
        total += board.lines
    return total / games


def test_dellacherie_plays_far_better_than_chance_on_a_small_board() -> None:
    """On 10 x 10 the feature player clears hundreds of rows, random placement almost none."""
    assert lines(3, named.DELLACHERIE, height=10) > 100
    rng, total = random.Random(1), 0
    for seed in range(50):
        board = TetrisBoard(height=10, rng=random.Random(seed))
        while not board.over:
            board.place(rng.choice(board.legal()))
            board.piece = board.draw()
        total += board.lines
    assert total / 50 < 3


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_random_games() -> None:
    rng, total, placed = random.Random(1), 0, 0
    for seed in range(100_000):
        board = TetrisBoard(rng=random.Random(seed))
        while not board.over:
            board.place(rng.choice(board.legal()))
            board.piece = board.draw()
        total += board.lines
        placed += board.placed
    print(f"tetris, 10^5 random games: {total / 1e5} lines, {placed / 1e5} pieces a game")


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"height": 3}, "environment tetris, option 'height': "),
        ({"width": 31}, "environment tetris, option 'width': "),
        ({"pieces": "XY"}, "environment tetris, option 'pieces': "),
        ({"pieces": "SS"}, "option 'pieces': 'SS' names a piece twice"),
        ({"afterstates": "all"}, "environment tetris, option 'afterstates': "),
        ({"sz": True}, "sz"),
    ],
)
def test_bad_options_get_one_line(given_: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DovetailError) as caught:
        Tetris(options.read(Configuration, given_, "environment tetris"))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_the_rules_say_of_a_wrong_placement() -> None:
    board = TetrisBoard(pieces="O")
    with pytest.raises(IllegalAction, match="9 is not a placement of O: rotations 0 to 0 times 10"):
        board.place(9)
    with pytest.raises(IllegalAction, match="10 is not a placement"):
        board.place(10)


def test_a_piece_that_reaches_above_the_board_may_still_clear_a_row() -> None:
    """Full rows go first, then the height of the wall is looked at (MdpTetris, simplified)."""
    board = TetrisBoard(height=4, width=4, pieces="I")
    board.wall[:4] = [0b1110, 0b1110, 0b1110, 0b1110]
    board.place(4)  # upright in column 0
    assert (board.lines, board.over, board.wall.sum()) == (4, False, 0)
    board.wall[:4] = [0b0110, 0b1110, 0b1110, 0b0110]
    board.place(5)  # upright in column 1, on top of everything
    assert board.over


def test_text() -> None:
    game = Tetris(Configuration(4, 5, "L"))
    game.start(0)
    game.step({0: 0})
    assert game.text().splitlines() == [
        "|.....|",
        "|.....|",
        "|..X..|",
        "|XXX..|",
        "+01234+",
        "0 lines, 1 pieces; next L",
        "                X                   XX",
        "        X       X         XXX        X",
        "    0+XXX     5+XX     10+X      15+ X",
    ]


@pytest.mark.parametrize(("height", "size"), [(20, (15, 20)), (9, (20, 9)), (8, (30, 8))])
def test_the_picture_has_one_size_whatever_piece_comes(height: int, size: tuple[int, int]) -> None:
    game = Tetris(Configuration(height=height))
    turn, seen = game.start(4), set()
    while turn.to_act:
        scene = game.scene(0)
        assert (scene.width, scene.height) == size
        assert all(each.x >= 0 and each.x + each.width <= size[0] for each in scene.cells)
        assert all(each.y >= 0 and each.y + each.height <= size[1] for each in scene.cells)
        seen.add(PIECES[game.board.piece])
        turn = game.step({0: game.board.legal()[0]})
    assert len(seen) > 2
    scene = game.scene(0)
    assert (scene.width, scene.height) == size
