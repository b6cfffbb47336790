"""Registrations of an experiment file reach the agents that it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail import DovetailError
from dovetail_experiments.files.file import ExperimentFile, read
from dovetail_experiments.stages import places

pytestmark = pytest.mark.processes

CODE = """
def first(observation, seat):
    return int(observation.reshape(-1)[0])
"""
FILE = """
name = "coins"
environment.name = "connect_four"

[agents.one]
type = "q-learning"
parameters.encoder = "first"
register = ["encoder:first={folder}/coins.py:first"]

[[phases]]
name = "play"
seats = ["one", "one"]
episodes = 2
"""


@pytest.fixture
def file(tmp_path: Path) -> ExperimentFile:
    (tmp_path / "coins.py").write_text(CODE)
    (tmp_path / "file.toml").write_text(FILE.format(folder=tmp_path))
    return read(tmp_path / "file.toml")


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("where", [places.in_this_program, places.own_processes])
def test_its_agents_use_it(where: Any, file: ExperimentFile) -> None:
    with where(file) as place:
        one = place.seat(file, {})["one"]
        run = place.experiment.run("connect_four", [one, one], episodes=2, seed=1)
        assert [each.reason for each in run] == ["terminated", "terminated"]
        # An observation's first number has two values; without the encoder there are many states.
        assert place.experiment.message(one, "counts")["states"] <= 2


def test_where_it_would_do_nothing_it_is_refused(file: ExperimentFile, tmp_path: Path) -> None:
    with (
        pytest.raises(DovetailError, match=r"\[agents.one\]: at a running broker, .* remove `reg"),
        places.at_broker(file, "tcp://127.0.0.1:1"),
    ):
        pass
    with pytest.raises(DovetailError, match=r"\[agents.one\] has a command; put --register into"):
        read(tmp_path / "file.toml", {"agents.one.command": ["x"]})
