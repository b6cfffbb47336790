"""The wrapper, held against a package that saves and predicts as Stable-Baselines3 does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail import DovetailError, InProcess
from dovetail.agent_servers.general.random_agent import Random
from dovetail.agent_servers.general.sb3 import SB3, SB3Parameters
from dovetail.env_servers.connect_four import ConnectFour

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

    def predict(self, observation, state=None, episode_start=None, deterministic=False, action_masks=None):
        assert observation.shape in ((2, 6, 7), (84,)) and deterministic
        if action_masks is not None:
            free = np.flatnonzero(action_masks)
            return np.array(free[np.argmin(abs(free - self.column))]), None
        return np.array(self.column), None
'''


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "stable_baselines3.py").write_text(PACKAGE)
    (tmp_path / "policy.zip").write_text("3")
    monkeypatch.syspath_prepend(tmp_path)
    yield str(tmp_path / "policy.zip")
    sys.modules.pop("stable_baselines3", None)


def play(path: str, **parameters: Any) -> Any:
    with InProcess([ConnectFour], [SB3, Random]) as experiment:
        player = experiment.create("sb3", parameters={"path": path, **parameters})
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
    for parameters, text in (
        ({"path": "nowhere.zip"}, "nowhere.zip cannot be loaded as DQN: FileNotFoundError"),
        ({"path": policy, "algorithm": "PPO"}, "stable_baselines3 has no function 'PPO'"),
        ({"path": policy, "algorithm": "sb3_contrib:MaskablePPO"}, "no module 'sb3_contrib'"),
    ):
        with pytest.raises(DovetailError, match=text) as caught:
            SB3(SB3Parameters(**parameters))
        assert "\n" not in str(caught.value)


def test_without_the_package(tmp_path: Path) -> None:
    with pytest.raises(DovetailError, match=r"needs the package stable-baselines3: pip install"):
        SB3(SB3Parameters(str(tmp_path / "policy.zip")))
