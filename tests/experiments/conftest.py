"""A small experiment, as a file and in the three places where it can be played."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.experiments.blank import blank

from dovetail.experiments import plot

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
