"""Our games in the form of OpenSpiel's ``rl_environment``, with OpenSpiel's own learners."""

from __future__ import annotations

import random

import numpy as np
import pytest
from open_spiel.python import rl_environment
from open_spiel.python.algorithms.tabular_qlearner import QLearner
from open_spiel.python.rl_tools import ConstantSchedule

from dovetail import DovetailError, IllegalAction
from dovetail_bridges.openspiel.rl_environment import Environment

pytestmark = pytest.mark.learners


def test_our_game_is_an_rl_environment_as_theirs_is() -> None:

    ours, theirs = Environment("connect_four", seed=3), rl_environment.Environment("connect_four")
    assert (ours.num_players, ours.action_spec()) == (theirs.num_players, theirs.action_spec())
    rng = random.Random(5)
    for _ in range(20):
        mine, other = ours.reset(), theirs.reset()
        assert mine.first()
        assert mine.rewards is None
        while not other.last():
            for name in ("current_player", "legal_actions"):
                assert mine.observations[name] == other.observations[name]
            player = mine.observations["current_player"]
            action = rng.choice(mine.observations["legal_actions"][player])
            mine, other = ours.step([action]), theirs.step([action])
            assert (mine.rewards, mine.discounts, mine.step_type) == (
                other.rewards, other.discounts, other.step_type,
            )  # fmt: skip
        assert mine.observations["current_player"] == other.observations["current_player"]
        assert len(mine.observations["info_state"][0]) == ours.observation_spec()["info_state"][0]
    with pytest.raises(IllegalAction, match="action 9 of seat 0"):
        ours.step([0]) and ours.step([9])
    with pytest.raises(DovetailError, match="expected 1"):
        ours.step([0, 1])


def test_their_learner_learns_in_our_game() -> None:

    np.random.seed(1)
    small = {"rows": 3, "columns": 3, "connect": 3}
    env = Environment("connect_four", small, seed=1)
    learner = QLearner(0, 3, step_size=0.3, epsilon_schedule=ConstantSchedule(0.2))
    rng = random.Random(2)

    def play(evaluate: bool) -> float:
        step = env.reset()
        while not step.last():
            if step.observations["current_player"] == 0:
                action = learner.step(step, is_evaluation=evaluate).action
            else:
                action = rng.choice(step.observations["legal_actions"][1])
            step = env.step([action])
        learner.step(step, is_evaluation=evaluate)
        return float(step.rewards[0])

    before = sum(play(True) for _ in range(150)) / 150
    for _ in range(1500):
        play(False)
    after = sum(play(True) for _ in range(150)) / 150
    assert after > before + 0.25, (before, after)


def test_seats_that_act_at_once_are_asked_together() -> None:
    env = Environment("gdl", {"game": "rock_paper_scissors"})
    step = env.reset()
    assert step.is_simultaneous_move()
    assert (env.is_turn_based, env.num_actions_per_step) == (False, 2)
    assert [len(each) for each in step.observations["legal_actions"]] == [3, 3]
    while not step.last():
        step = env.step([legal[0] for legal in step.observations["legal_actions"]])
    assert step.rewards[0] == step.rewards[1]


def test_a_game_without_numbers_is_refused_in_one_line() -> None:
    with pytest.raises(DovetailError, match="acts in a Box; OpenSpiel takes action numbers only"):
        Environment("gymnasium", {"id": "Pendulum-v1"})
