"""The first episode of a stage is checked against what its game declares; ``check`` checks all of
them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail import Environment, Spec, Turn, spaces
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.stages import runner
from dovetail_experiments.stages.runner import RunnerOptions


class Lies(Environment):
    """One turn; from an episode on it is played with an action that the game does not have."""

    name = "lies"
    since = 0
    begun = 0

    def init(self) -> Spec:
        two = spaces.Discrete(2)
        return Spec(seats=1, observation_spaces=[two], action_spaces=[two])

    def start(self, seed: int) -> Turn:
        wrong = Lies.begun >= Lies.since
        Lies.begun += 1
        return Turn.ask(0, 0, [0, 5] if wrong else [0, 1])

    def step(self, actions: Any) -> Turn:
        return Turn.end([0], [1.0])


FILE = """
name = "lies"
[environment]
name = "tests.experiments.test_checked:Lies"
[agents.dice]
type = "random"
[[STAGE]]
name = "some"
seats = ["dice"]
episodes = 3
"""


def written(folder: Path, stage: str, more: str = "") -> Path:
    path = folder / "lies.toml"
    path.write_text(FILE.replace("STAGE", stage) + more)
    return path


@pytest.mark.parametrize("stage", ["phases", "evaluations"])
@pytest.mark.parametrize(
    ("since", "more", "fails"),
    [
        (0, "", True),
        (1, "", False),
        (1, "check = true\n", True),
        (9, "check = true\n", False),
        (0, "check = false\n", False),
    ],
)
def test_a_game_that_contradicts_its_spec_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, since: int, more: str, fails: bool
) -> None:
    monkeypatch.setattr(Lies, "since", since)
    monkeypatch.setattr(Lies, "begun", 0)
    path = written(tmp_path, stage, more)
    if fails:
        with pytest.raises(DovetailError, match="legal action 5 of seat 0 is not in Discrete"):
            runner.execute(path, out=tmp_path / "out", options=RunnerOptions(in_process=True))
    else:
        runner.execute(path, out=tmp_path / "out", options=RunnerOptions(in_process=True))
        assert Lies.begun == 3
