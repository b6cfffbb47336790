"""A small experiment, as a file and in the three places where it can be played."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.experiments.blank import blank
from tests.forking import Forked, Forker

from dovetail_experiments.reports import plot
from dovetail_experiments.stages import processes

SMALL = """
name = "small"
seed = 5

[environment]
name = "connect_four"
configuration = { rows = 4, columns = 4, connect = 3 }

[agents.one]
type = "td"
parameters = { hidden = 8 }

[agents.two]
type = "td"
parameters = { hidden = 8, epsilon = 0.2 }

[agents.dice]
type = "random"

[[phases]]
name = "play"
seats = ["one", "two"]
episodes = 50
evaluate_every = 20

[[evaluations]]
name = "one"
seats = ["one", "dice"]
episodes = 10
rotate = true

[[evaluations]]
name = "two"
seats = ["dice", "two"]
episodes = 10
concurrency = 4
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures of this process empty."""
    monkeypatch.setattr(plot, "save", blank)


@pytest.fixture
def forked(forker: Forker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the programs that experiments of this process start: importing takes each longer than
    its part."""

    def popen(
        command: Sequence[str], *, process_group: int, preexec_fn: Any, **more: Any
    ) -> subprocess.Popen[bytes] | Forked:
        if command[:3] != [sys.executable, "-m", "dovetail"]:
            tied: Any = {"process_group": process_group, "preexec_fn": preexec_fn}
            return subprocess.Popen(command, **tied, **more)
        return forker.popen(["dovetail", *command[3:]], **more)

    forking = SimpleNamespace(**{**vars(subprocess), "Popen": popen})
    monkeypatch.setattr(processes, "subprocess", forking)
