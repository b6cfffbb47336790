"""The wrapper, held against a package that saves and predicts as Stable-Baselines3 does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.registry import register
from dovetail_agents.general.sb3 import SB3, SB3Parameters
from dovetail_games.connect_four import ConnectFour

PACKAGE = '''
import numpy as np

class DQN:
    """Prefers one column, whatever the observation; a mask moves it to the next that is free."""

    def __init__(self, column):
        self.column = column

    @classmethod
    def load(cls, path):
        with open(path) as file:
            return cls(int(file.read()))

    def set_random_seed(self, seed):
        assert 0 <= seed < 2**32

    def predict(
        self, observation, state=None, episode_start=None, deterministic=False, action_masks=None
    ):
        assert observation.shape in ((2, 6, 7), (84,)) and deterministic
        if action_masks is not None:
            free = np.flatnonzero(action_masks)
            return np.array(free[np.argmin(abs(free - self.column))]), None
        return np.array(self.column), None
'''


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "stable_baselines3.py").write_text(PACKAGE)
    (tmp_path / "policy.zip").write_text("3")
    monkeypatch.syspath_prepend(tmp_path)
    register("policy", "mine", str(tmp_path / "policy.zip"))
    yield "mine"
    sys.modules.pop("stable_baselines3", None)


def play(policy: str, **parameters: Any) -> Any:
    with InProcess([ConnectFour], [SB3, Random]) as experiment:
        player = experiment.create("sb3", parameters={"policy": policy, **parameters})
        other = experiment.create("random", seed=2)
        return experiment.run(
            "connect_four", [player, other], episodes=30, seed=4, retries=0
        ).wait()


@pytest.mark.parametrize("parameters", [{}, {"masks": True}, {"flatten": True}])
def test_a_policy_takes_a_seat(policy: str, parameters: dict[str, Any]) -> None:
    results = play(policy, **parameters)
    assert {each.reason for each in results} == {"terminated"}
    # Four in its column, unless the other blocks it.
    assert sum(each.outcome[0] for each in results) > 20


def test_an_illegal_action_is_the_brokers_to_judge(policy: str) -> None:
    results = play(policy, illegal="fail")
    assert {each.reason for each in results} == {"illegal-action", "terminated"}


def test_what_is_missing_is_said_in_one_line(policy: str, tmp_path: Path) -> None:
    register("policy", "gone", "nowhere.zip")
    for parameters, text in (
        ({"policy": "gone"}, "nowhere.zip cannot be loaded as DQN: FileNotFoundError"),
        ({"policy": policy, "algorithm": "PPO"}, "stable_baselines3 has no PPO"),
        ({"policy": policy, "algorithm": "MaskablePPO"}, "needs the package sb3-contrib: pip"),
        ({"policy": policy, "algorithm": "sb3_contrib:ARS"}, "no algorithm 'sb3_contrib:ARS'"),
    ):
        with pytest.raises(DovetailError, match=text) as caught:
            SB3(msgspec.convert(parameters, SB3Parameters))
        assert "\n" not in str(caught.value)


def test_a_file_that_was_not_registered_is_not_opened(policy: str, tmp_path: Path) -> None:
    """Stable-Baselines3 unpickles what it loads."""
    for name in (str(tmp_path / "policy.zip"), "policy.zip"):
        with pytest.raises(DovetailError, match="option 'policy': no policy '"):
            SB3(SB3Parameters(name))


def test_an_algorithm_of_ones_own(policy: str) -> None:
    import stable_baselines3  # the file that the fixture wrote

    register("algorithm", "mine", stable_baselines3.DQN)
    assert {each.reason for each in play(policy, algorithm="mine")} == {"terminated"}


def test_without_the_package(tmp_path: Path) -> None:
    register("policy", "mine", str(tmp_path / "policy.zip"))
    with pytest.raises(DovetailError, match=r"needs the package stable-baselines3: pip install"):
        SB3(SB3Parameters("mine"))
