from __future__ import annotations

from typing import Any

import pytest

from dovetail import DovetailError, InProcess
from dovetail.agent_servers.tetris_player import TetrisPlayer
from dovetail.env_servers.connect_four import ConnectFour
from dovetail.env_servers.tetris import Board, Tetris
from dovetail.env_servers.tetris import features as named


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
    import random

    expected = []
    board = Board(8, 6, rng=random.Random(4))
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
