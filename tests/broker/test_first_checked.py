"""The first episode of a run, and of a seat, is checked against what its game declares."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Environment, InProcess, Spec, Turn, spaces
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.errors import DovetailError


class Lies(Environment):
    """One turn, whose observation is outside of its space."""

    name = "lies"

    def init(self) -> Spec:
        two = spaces.Discrete(2)
        return Spec(seats=1, observation_spaces=[two], action_spaces=[two])

    def start(self, seed: int) -> Turn:
        return Turn.ask(0, 7, [0, 1])

    def step(self, actions: Any) -> Turn:
        return Turn.end([0], [1.0])


@pytest.mark.rule("S6.3")
@pytest.mark.parametrize(
    ("options", "wrong"), [({}, 1), ({"check": True}, 3), ({"check": False}, 0)]
)
def test_the_first_episode_of_a_run_is_checked(options: dict[str, Any], wrong: int) -> None:
    with InProcess([Lies], [Random]) as experiment:
        player = experiment.create("random")
        run = experiment.run("lies", [player], episodes=3, retries=0, **options)
        results = sorted(run, key=lambda each: each.index)
    reasons = [each.reason for each in results]
    assert reasons == ["environment-failed"] * wrong + ["terminated"] * (3 - wrong)
    if wrong:
        assert "observation 7 of seat 0 is not in Discrete" in results[0].message


def test_the_first_episode_of_a_seat_is_checked() -> None:
    told = pytest.raises(DovetailError, match="observation 7 of seat 0 is not in Discrete")
    with InProcess([Lies], []) as experiment, experiment.sit("lies") as game, told:
        game.reset()
    with InProcess([Lies], []) as experiment, experiment.sit("lies", check=False) as game:
        _, info = game.reset()
        assert not info["over"]
