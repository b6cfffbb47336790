"""A learner beside the kept results of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dovetail.cli import app
from dovetail_experiments.files import sweep
from dovetail_experiments.reports import over_tasks
from dovetail_experiments.stages import benched, trials
from dovetail_experiments.stages.runner import RunnerOptions

pytestmark = pytest.mark.processes


def test_the_kept_results_are_of_the_suite() -> None:
    plan = sweep.read(benched.SUITE)
    found = benched.kept()
    assert {each.variant for each in found} >= {"random", "td", "q-learning"}
    for each in found:
        assert each.task in plan.tasks
        assert [*each.runs] == plan.seeds
        assert each.trained == [0, 250, 500]
    [group] = over_tasks.rows(found, plan.scales)
    worth = {row.variant: row.iqm for row in group}
    assert abs(worth["random"]) < 0.1 < worth["td"]


@pytest.mark.usefixtures("undrawn")
def test_your_learner_stands_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite with one game of each, in place of the long one."""
    short = tmp_path / "boards.toml"
    text = benched.SUITE.read_text(encoding="utf-8")
    small = ("= 500", "= 2"), ("= 250", "= 2"), ("= 50\n", "= 2\n"), ("[1, 2, 3, 4, 5]", "[1]")
    for before, after in small:
        assert before in text
        text = text.replace(before, after)
    short.write_text(text)
    kept = tmp_path / "boards.json"
    monkeypatch.setattr(benched, "SUITE", short)
    monkeypatch.setattr(benched, "KEPT", kept)
    options = RunnerOptions(in_process=True)
    done = trials.execute(short, out=tmp_path / "others", options=options)
    assert isinstance(done, trials.SweepResult)
    benched.keep("td", done.series)
    command = ["bench", "learner", "random", "--out", str(tmp_path / "mine")]
    said = CliRunner().invoke(app, command, catch_exceptions=False)
    assert said.exit_code == 0, said.output
    folder = tmp_path / "mine/bench-learner"
    text = (folder / "beside.txt").read_text()
    assert "random (yours)" in text
    assert "over 3 tasks" in text
    assert (folder / "beside.png").is_file()
