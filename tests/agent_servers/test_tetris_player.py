from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import DovetailError, InProcess
from dovetail_agents.games.tetris import kernels
from dovetail_agents.games.tetris.agent import TetrisPlayer
from dovetail_agents.games.tetris.weights import (
    DT_10,
    DT_20,
    KINDS,
    PLAYERS,
    Weights,
    size,
)
from dovetail_games.connect_four import ConnectFour
from dovetail_games.tetris import Tetris, TetrisBoard
from dovetail_games.tetris import features as named
from dovetail_games.tetris.kernels import boards_after_all


def slow_features(piece: Any, placed: Any, after: Any) -> list[float]:
    """Return the nine features and Bertsekas and Tsitsiklis', cell by cell from the study's
    definitions.

    Args:
        piece: the cells where the piece came to rest, 0 or 1, row 0 at the top.
        placed: the board with it.
        after: the board after full rows vanished.
    """
    height, width = after.shape
    occupied = [height - 1 - row for row, _ in np.argwhere(piece)]
    landing = min(occupied) + (max(occupied) - min(occupied)) / 2
    full = [row for row in range(height) if placed[row].all()]
    eroded = len(full) * sum(int(piece[row].sum()) for row in full)
    rows = columns = holes = wells = depth = 0
    with_holes = set()
    heights = []
    for row in range(height):
        line = [1, *after[row], 1]
        rows += sum(line[i] != line[i + 1] for i in range(width + 1))
    for column in range(width):
        line = [0, *after[:, column], 1]
        columns += sum(line[i] != line[i + 1] for i in range(height + 1))
        top = next((row for row in range(height) if after[row, column]), height)
        heights.append(height - top)
        for row in range(height):
            if after[row, column]:
                continue
            if row > top:
                holes += 1
                with_holes.add(row)
                above = row - 1
                while above >= 0 and after[above, column]:
                    depth += 1
                    above -= 1
            left = column == 0 or after[row, column - 1]
            right = column == width - 1 or after[row, column + 1]
            if left and right:
                down = row
                while down < height and not after[down, column]:
                    wells += 1
                    down += 1
    steps = [heights[i + 1] - heights[i] for i in range(width - 1)]
    diversity = len({step for step in steps if abs(step) <= 2})
    eight = [landing, eroded, rows, columns, holes, wells, depth, len(with_holes)]
    bertsekas = [*heights, *map(abs, steps), max(heights), holes, 1]
    return [float(each) for each in [*eight, diversity, *bertsekas]]


@given(st.integers(0, 10**6), st.sampled_from([(20, 10), (8, 6), (12, 5)]))
@settings(max_examples=40, deadline=None)
def test_all_feature_sets_are_their_definitions(seed: int, shape: tuple[int, int]) -> None:
    height, width = shape
    rng = np.random.default_rng(seed)
    cells = rng.random((height - 4, width)) < rng.random()
    cells[np.arange(height - 4), rng.integers(0, width, height - 4)] = False
    wall = np.zeros(height + 4, np.int64)
    wall[: height - 4] = (cells << np.arange(width)).sum(1)
    wall[rng.integers(0, height - 3) : height - 4] = 0
    if rng.random() < 0.5:  # a row that a piece may complete
        wall[0] = (1 << width) - 1 - (1 << rng.integers(0, width))
    piece = seed % 7
    seen = np.empty((4 * width, 3, *shape), np.uint8)
    count = boards_after_all(wall, piece, *shape, seen)
    expected = [slow_features(*seen[n].astype(int)) for n in range(count)]
    parts = {"dt": slice(0, 8), "dt-diversity": slice(0, 9), "bertsekas": slice(9, None)}
    for features, kind in KINDS.items():
        out = np.empty((4 * width, kernels.size(kernels.ALL, width)))
        ends = np.empty((4 * width, 2), np.int64)
        assert kernels.described_after_all(wall, piece, *shape, kind, out, ends) == count
        part = parts.get(features, slice(None))
        found = out[:count, : size(features, width)]
        assert found.tolist() == [each[part] for each in expected]
        full = [int(seen[n, 1].all(1).sum()) for n in range(count)]
        assert ends[:count].tolist() == [[rows, 0] for rows in full]


def test_published_weights() -> None:
    """As the papers print them: Fahey 2003; MdpTetris; Gabillon et al. 2013."""
    assert PLAYERS["dellacherie"].weights == [-1, 1, -1, -1, -4, -1, 0, 0]
    eight = [-12.629, 6.601974, -9.215815, -19.77356, -13.08335, -10.48747, -1.611863, -24.04087]
    assert PLAYERS["bcts"].weights == PLAYERS["dt-8"].weights == eight
    assert DT_10 == (-2.18, 2.42, -2.17, -3.31, 0.95, -2.22, -0.81, -9.65, 1.27)
    assert DT_20 == (-2.68, 1.38, -2.41, -6.32, 2.03, -2.71, -0.43, -9.48, 0.89)
    assert PLAYERS["dt-10"].features == PLAYERS["dt-20"].features == "dt-diversity"


def lines(parameters: dict[str, Any], configuration: dict[str, Any], games: int) -> float:
    with InProcess([Tetris], [TetrisPlayer]) as experiment:
        player = experiment.create("tetris-player", parameters=parameters)
        run = experiment.run(
            "tetris", [player], configuration=configuration, episodes=games, seed=1
        )
        return sum(episode.seats[0].total for episode in run) / games


def test_published_players_clear_hundreds_of_rows_on_a_low_board() -> None:
    low = {"height": 10}
    assert lines({}, low, 3) > 100
    assert lines({"player": "dt-8"}, low, 3) > 100
    assert lines({"weights": [0.0] * 8}, low, 3) < 5


def test_it_plays_what_the_rules_alone_would() -> None:
    """The same placements as a loop over rules and features, through the broker."""
    expected = []
    board = TetrisBoard(8, 6, rng=random.Random(4))
    while not board.over and board.placed < 60:
        found, over = named.after_all(board)
        values = found @ named.DT_8
        values[over] = -float("inf")
        expected.append(board.legal()[int(values.argmax())])
        board.place(expected[-1])
        board.piece = board.draw()
    played = []

    class Watched(Tetris):
        def step(self, actions: Any) -> Any:
            played.append(actions[0])
            return super().step(actions)

    with InProcess([Watched], [TetrisPlayer]) as experiment:
        player = experiment.create("tetris-player", parameters={"player": "dt-8"})
        options = {"height": 8, "width": 6, "max_pieces": 60}
        experiment.run("tetris", [player], configuration=options, seeds=[4]).wait()
    assert played == expected


def test_it_says_what_it_cannot_play() -> None:
    with InProcess([ConnectFour], [TetrisPlayer]) as experiment:
        player = experiment.create("tetris-player")
        with pytest.raises(DovetailError, match="tetris-player plays tetris only"):
            experiment.run("connect_four", [player, player]).wait()
        with pytest.raises(DovetailError, match="option 'weights': 2 weights; 8 are needed"):
            experiment.create("tetris-player", parameters={"weights": [1.0, 2.0]})


def test_weights_are_saved_loaded_and_played() -> None:
    weights = [0.0] * 22
    weights[19], weights[20] = -1.0, -10.0
    given_weights = {"weights": weights, "features": "bertsekas", "reward": 1.0}
    state = Weights(1, "bertsekas", weights, 1.0, 10, {"command": "by hand"}).bytes()
    low = {"height": 12}
    with InProcess([Tetris], [TetrisPlayer]) as experiment:
        loaded = experiment.create("tetris-player", state=state)
        told = experiment.create("tetris-player", parameters=given_weights)
        runs = [
            experiment.run("tetris", [agent], configuration=low, episodes=5, seed=2)
            for agent in (loaded, told)
        ]
        totals = [[episode.seats[0].total for episode in run] for run in runs]
        assert totals[0] == totals[1]
        assert sum(totals[0]) > 5
        assert (experiment.save(loaded), experiment.save(told)) == (state, b"")
        with pytest.raises(DovetailError, match="the features bertsekas need 18 on a board 8 wide"):
            experiment.run("tetris", [loaded], configuration={"width": 8}, retries=0).wait()
        for wrong in (
            b"{}",
            b"\xff",
            state.replace(b"22", b"")[:-9],
            state.replace(b'"bertsekas"', b'"dt"'),
        ):
            with pytest.raises(DovetailError, match="not a saved tetris-player"):
                experiment.create("tetris-player", state=wrong)


@pytest.mark.parametrize("player", ["dt-10", "dt-20", "bcts", "bertsekas"])
def test_players_with_pattern_diversity_and_others_play_well(player: str) -> None:
    assert lines({"player": player}, {"height": 8, "max_pieces": 400}, 3) > 100
