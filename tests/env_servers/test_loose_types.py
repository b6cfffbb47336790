"""Rules that return tuples and numpy's numbers where the messages say lists, ints and bools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail import Agent, Environment, InProcess, Spec, Turn, View, spaces

pytestmark = pytest.mark.fast


class Loose(Environment):
    """Two turns, all of whose fields have other types than a socket would deliver."""

    def init(self) -> Spec:
        loose: dict[str, Any] = {"seats": np.int64(1), "reward_range": [0, 1]}
        one = (spaces.Discrete(2),)
        return Spec(observation_spaces=one, action_spaces=one, **loose)  # type: ignore[arg-type]

    def start(self, seed: int) -> Turn:
        loose: Any = (np.int64(0),)
        legal: Any = (np.int64(0), np.int64(1))
        return Turn(to_act=loose, seats=[View(np.int64(0), 0, legal)])  # type: ignore[arg-type]

    def step(self, actions: Any) -> Turn:
        views: Any = (View(0, 1, None, np.float32(1)),)  # type: ignore[arg-type]
        over: Any = np.bool_(True)
        scores: Any = (np.float64(1),)
        return Turn(seats=views, terminated=over, outcome=scores)


class Last(Agent):
    """Takes the last legal action."""

    def step(self, decision: Any) -> int:
        return int(decision.legal[-1])


def test_a_game_is_played_as_if_they_were_exact() -> None:
    with InProcess(environments=[Loose], agents=[Last]) as experiment:
        run = experiment.run("loose", [experiment.create("last", seed=1)], episodes=2)
        for episode in run:
            assert (episode.reason, episode.message) == ("terminated", "")
            assert list(episode.outcome or ()) == [1.0]
            assert type(episode.seats[0].total) is float
