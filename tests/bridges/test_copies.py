"""Environments of the bridges, pickled in the middle of an episode."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

from dovetail.protocol import codec
from dovetail_bridges import conversion
from dovetail_bridges.gdl.environment import GDL, Configuration
from dovetail_bridges.gymnasium.from_gymnasium import Gymnasium
from dovetail_bridges.gymnasium.from_gymnasium import Options as GymnasiumOptions
from dovetail_bridges.openspiel.environment import OpenSpiel
from dovetail_bridges.openspiel.environment import Options as OpenSpielOptions
from dovetail_bridges.openspiel.rl_environment import Environment
from dovetail_bridges.pettingzoo.from_pettingzoo import Options as PettingZooOptions
from dovetail_bridges.pettingzoo.from_pettingzoo import PettingZoo


@pytest.mark.parametrize(
    "made",
    [
        GDL(Configuration("tic_tac_toe")),
        GDL(Configuration("kuhn_poker")),
        Gymnasium(GymnasiumOptions("FrozenLake-v1")),
        OpenSpiel(OpenSpielOptions("leduc_poker")),
        PettingZoo(PettingZooOptions("classic/rps-v2", "parallel")),
        PettingZoo(PettingZooOptions("classic/connect_four-v3")),
    ],
    ids=["gdl", "gdl-chance", "gymnasium", "openspiel", "parallel", "aec"],
)
def test_a_pickled_environment_goes_on_as_the_first_does(made: Any) -> None:
    spec, rng = made.init(), random.Random(4)
    turn, copies = made.start(7), []
    for _ in range(12):
        if not turn.to_act:
            break
        copies.append(pickle.loads(pickle.dumps(made)))
        numbers = {
            view.seat: conversion.numbers(view.legal, spec.action_space(view.seat))
            for view in turn.seats
            if view.seat in turn.to_act
        }
        actions = {seat: rng.choice(legal or []) for seat, legal in numbers.items()}
        turn = made.step(actions)
        assert codec.encode(copies[-1].step(actions)) == codec.encode(turn)


def test_a_pickled_rl_environment_goes_on_as_the_first_does() -> None:
    made = Environment("dots", seed=2)
    step = made.reset()
    while not step.last():
        copy = pickle.loads(pickle.dumps(made))
        player = step.observations["current_player"]
        action = step.observations["legal_actions"][player][0]
        step = made.step([action])
        assert copy.step([action]) == step
    assert pickle.loads(pickle.dumps(made)).reset().first()
