"""Recorded games as datasets of Minari."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import minari
import numpy as np
import pytest
from typer.testing import CliRunner

from dovetail.cli import app
from dovetail.experiments.records import Records
from dovetail.experiments.runner import execute

FILE = """
name = "small"
seed = 3

[environment]
name = "{game}"
configuration = {configuration}

[agents.one]
type = "random"

[agents.two]
type = "random"

[[evaluations]]
name = "games"
seats = {seats}
rotate = true
episodes = 6
"""


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return tmp_path


def played(
    folder: Path, game: str, configuration: str = "{}", seats: str = '["one", "two"]'
) -> Path:
    file = folder / "small.toml"
    file.write_text(FILE.format(game=game, configuration=configuration, seats=seats))
    execute(file, out=folder, in_process=True)
    return folder / "small"


def said(*words: object) -> str:
    result = CliRunner().invoke(app, ["dataset", *map(str, words)])
    return result.output if result.exit_code == 0 else f"{result.output}{result.exception}"


def test_a_dataset_has_the_agents_own_steps(datasets: Path) -> None:
    out = played(datasets, "connect_four", "{ rows = 4, columns = 4, connect = 3 }")
    assert "6 episodes" in said(out, "four/one-v0", "--agent", "one")
    data = minari.load_dataset("four/one-v0")
    with Records(out) as records:
        rows = list(records.rows(where=["agent=one"]))
    assert [each.rewards.sum() for each in data] == [row["return"] for row in rows]
    assert [len(each.actions) for each in data] == [row["decisions"] for row in rows]
    for each in data:
        assert each.terminations.tolist() == [False] * (len(each.actions) - 1) + [True]
        assert not each.truncations.any()
        masks = each.infos["action_mask"]
        assert len(each.observations) == len(masks) == len(each.actions) + 1
        assert masks[np.arange(len(each.actions)), each.actions].all()
        assert not masks[-1].any()
        assert data.observation_space.contains(each.observations[0])


def test_a_dataset_makes_its_environment_again(datasets: Path) -> None:
    out = played(datasets, "2048", seats='["one"]')
    said(out, "tiles/one-v0", "--agent", "one")
    data = minari.load_dataset("tiles/one-v0")
    env = data.recover_environment()
    assert isinstance(env, gymnasium.Env)
    observation, _ = env.reset(seed=1)
    assert data.observation_space.contains(observation)
    env.close()


def test_what_cannot_be_a_dataset_is_one_line(datasets: Path) -> None:
    out = played(datasets, "connect_four", "{ rows = 4, columns = 4, connect = 3 }")
    assert "no games of 'nobody'" in said(out, "four/nobody-v0", "--agent", "nobody")
    said(out, "four/two-v0", "--agent", "two", "--seat", 1)
    assert minari.load_dataset("four/two-v0").total_episodes == 3
    assert "cannot create 'four/two-v0'" in said(out, "four/two-v0", "--agent", "two")
