from __future__ import annotations

import random

import numpy as np
import pytest

from dovetail import DovetailError, InProcess
from dovetail.agent_servers.ntuple_2048 import EXPONENTS, NTuple2048, tuples, update, value
from dovetail.env_servers.connect_four import ConnectFour
from dovetail.env_servers.game_2048 import Game2048

SMALL = {"rows": 3, "columns": 3}


def test_tuples_are_lines_and_blocks() -> None:
    assert len(tuples(4, 4)) == 4 + 4 + 9  # the 17 four-tuples of Szubert and Jaskowski
    assert tuples(2, 2) == [[0, 1], [2, 3], [0, 2], [1, 3], [0, 1, 2, 3]]


def test_values_and_updates_by_hand() -> None:
    places = np.array([[0, 1, -1, -1], [2, 3, 1, -1]])
    weights = np.zeros((2, EXPONENTS**4), np.float32)
    tiles = np.array([3, 1, 0, 17])
    update(tiles, places, weights, 0.5)
    assert weights[0, 3 * 16 + 1] == 0.5
    assert weights[1, (0 * 16 + 15) * 16 + 1] == 0.5
    assert weights.sum() == 1.0
    assert value(tiles, places, weights) == 1.0


def test_learning_pays_and_evaluation_changes_nothing() -> None:
    with InProcess([Game2048], [NTuple2048]) as experiment:
        agent = experiment.create("ntuple-2048")

        def score() -> float:
            run = experiment.run(
                "2048", [agent], configuration=SMALL, episodes=60, seed=9, mode="evaluate"
            )
            return sum(episode.seats[0].total for episode in run) / 60

        before = score()
        experiment.run("2048", [agent], configuration=SMALL, episodes=400, seed=1).wait()
        state = experiment.save(agent)
        after = score()
        assert after > 1.3 * before
        assert experiment.save(agent) == state


def test_saved_loaded_and_going_on_is_the_same_as_never_stopping() -> None:
    with InProcess([Game2048], [NTuple2048]) as experiment:
        whole = experiment.create("ntuple-2048", seed=3)
        experiment.run("2048", [whole], configuration=SMALL, episodes=40, seed=1).wait()
        half = experiment.create("ntuple-2048", seed=3)
        experiment.run("2048", [half], configuration=SMALL, episodes=20, seed=1).wait()
        again = experiment.create("ntuple-2048", seed=3, state=experiment.save(half))
        options = {"configuration": SMALL, "episodes": 20, "first": 20, "seed": 1}
        experiment.run("2048", [again], **options).wait()
        assert experiment.save(again) == experiment.save(whole)


def test_what_it_refuses() -> None:
    with InProcess([Game2048, ConnectFour], [NTuple2048]) as experiment:
        agent = experiment.create("ntuple-2048")
        with pytest.raises(DovetailError, match="plays 2048 by exponents only"):
            experiment.run("connect_four", [agent, agent]).wait()
        experiment.run("2048", [agent], configuration=SMALL).wait()
        with pytest.raises(DovetailError, match="has learned boards of"):
            experiment.run("2048", [agent]).wait()
        with pytest.raises(DovetailError, match="not a saved ntuple-2048"):
            experiment.create("ntuple-2048", state=random.Random(1).randbytes(30))
