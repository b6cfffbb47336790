"""Recorded games as datasets of Minari."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import minari
import numpy as np
import pytest
from typer.testing import CliRunner

from dovetail.cli import app
from dovetail.peer import registry
from dovetail.peer.agents.agent import RESIGN, Agent, Decision
from dovetail_experiments.records.records import Records
from dovetail_experiments.stages.runner import RunnerOptions, execute

FILE = """
name = "small"
seed = 3

[environment]
name = "{game}"
configuration = {configuration}

[agents.one]
type = "{one}"

[agents.two]
type = "random"

[[evaluations]]
name = "games"
seats = {seats}
rotate = true
episodes = 6
{more}
"""


class Careless(Agent):
    """Plays the first legal action, and at every third decision one that does not exist."""

    name = "careless"
    wrong: object = -1
    at = 2

    def start(self, start: Decision) -> object:
        self.decisions = 0
        return self.step(start)

    def step(self, decision: Decision) -> object:
        number, self.decisions = self.decisions, self.decisions + 1
        assert decision.legal is not None
        return self.wrong if number % 3 == self.at else decision.legal[0]


class Resigning(Careless):
    """Resigns at its third decision."""

    name = "resigning"
    wrong = RESIGN


class Hopeless(Careless):
    """Loses by its first action."""

    name = "hopeless"
    at = 0


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return tmp_path


def played(
    folder: Path,
    game: str,
    configuration: str = "{}",
    seats: str = '["one", "two"]',
    one: str = "random",
    more: str = "openings = 0",
) -> Path:
    file = folder / "small.toml"
    parts = {"game": game, "configuration": configuration, "seats": seats, "one": one, "more": more}
    file.write_text(FILE.format(**parts))
    execute(file, out=folder, options=RunnerOptions(in_process=True))
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


@pytest.mark.parametrize("player", [Careless, Resigning])
def test_a_game_that_was_forfeited_ends_with_its_penalty(
    datasets: Path, player: type[Agent]
) -> None:
    out = played(datasets, "connect_four", one=f"{__file__}:{player.__name__}")
    for agent, earned in ("one", -1.0), ("two", 1.0):
        said(out, f"four/{agent}-v0", "--agent", agent)
        for each in minari.load_dataset(f"four/{agent}-v0"):
            steps = len(each.actions)
            assert steps in (2, 3)
            assert each.rewards.tolist() == [0.0] * (steps - 1) + [earned]
            assert each.terminations.tolist() == [False] * (steps - 1) + [True]
            assert not each.truncations.any()
            assert len(each.observations) == steps + 1


def test_an_illegal_action_that_ends_a_game_without_a_loser_truncates_it(datasets: Path) -> None:
    more = 'openings = 0\non_illegal = "truncate"'
    out = played(datasets, "connect_four", one=f"{__file__}:Careless", more=more)
    said(out, "four/one-v0", "--agent", "one")
    for each in minari.load_dataset("four/one-v0"):
        assert each.rewards.tolist() == [0.0, 0.0]
        assert each.truncations.tolist() == [False, True]
        assert not each.terminations.any()


def test_actions_that_the_broker_chose_are_not_steps(datasets: Path) -> None:
    more = 'openings = 3\non_illegal = "random"'
    out = played(datasets, "connect_four", one=f"{__file__}:Careless", more=more)
    said(out, "four/one-v0", "--agent", "one")
    with Records(out) as records:
        rows = list(records.rows(where=["agent=one"]))
    data = list(minari.load_dataset("four/one-v0"))
    assert all(row["breaches"] for row in rows)
    assert [len(each.actions) for each in data] == [r["decisions"] - r["breaches"] for r in rows]
    assert [each.rewards.sum() for each in data] == [row["return"] for row in rows]
    for each in data:
        masks = each.infos["action_mask"][:-1]
        assert each.actions.tolist() == masks.argmax(axis=1).tolist()


def test_games_in_which_the_agent_never_acted_are_left_out(datasets: Path) -> None:
    out = played(datasets, "connect_four", one=f"{__file__}:Hopeless")
    assert "'one' never acted" in said(out, "four/one-v0", "--agent", "one")
    assert "3 episodes" in said(out, "four/two-v0", "--agent", "two")


def test_a_dataset_makes_its_environment_again(datasets: Path) -> None:
    out = played(datasets, "2048", seats='["one"]')
    said(out, "tiles/one-v0", "--agent", "one")
    data = minari.load_dataset("tiles/one-v0")
    env = data.recover_environment()
    assert isinstance(env, gymnasium.Env)
    observation, _ = env.reset(seed=1)
    assert data.observation_space.contains(observation)
    env.close()


def test_a_game_that_is_not_installed_is_named(
    datasets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    game = Path(__file__).parents[1] / "cli" / "count_up.py"
    out = played(datasets, f"{game}:CountUp")
    assert "use --env FILE.py:Class" in said(out, "own/one-v0", "--agent", "one")
    assert "episodes" in said(out, "own/one-v0", "--agent", "one", "--env", f"{game}:CountUp")
    assert minari.load_dataset("own/one-v0").total_steps > 0


def test_what_cannot_be_a_dataset_is_one_line(
    datasets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = played(datasets, "connect_four", "{ rows = 4, columns = 4, connect = 3 }")
    assert "no games of 'nobody'" in said(out, "four/nobody-v0", "--agent", "nobody")
    said(out, "four/two-v0", "--agent", "two", "--seat", 1)
    assert minari.load_dataset("four/two-v0").total_episodes == 3
    assert "cannot create 'four/two-v0'" in said(out, "four/two-v0", "--agent", "two")
    monkeypatch.setattr("dovetail_bridges.gymnasium.datasets.LARGEST", 100)
    assert "choose fewer" in said(out, "four/three-v0", "--agent", "two")
