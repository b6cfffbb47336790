"""Experiments with several seeds and values, in turn and at once, interrupted and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dovetail.client.inprocess import InProcess
from dovetail.protocol.errors import DovetailError
from dovetail_agents.general.td import TD
from dovetail_experiments.commands import results as commands
from dovetail_experiments.files import sweep
from dovetail_experiments.records import database
from dovetail_experiments.records.records import Records
from dovetail_experiments.reports import over_seeds
from dovetail_experiments.reports.over_seeds import Series
from dovetail_experiments.stages import runner, trials
from dovetail_experiments.stages.runner import ExecutionResult, RunnerOptions
from dovetail_experiments.stages.trials import SweepResult, execute, show
from dovetail_games.connect_four import ConnectFour

pytestmark = pytest.mark.processes

FILE = """
name = "seeded"
seeds = [1, 2]
environment = { name = "connect_four", configuration = { rows = 4, columns = 4, connect = 3 } }

[sweep.parameters]
"agents.one.parameters.hidden" = [4, 8]

[report]
level = 0.01

[agents.one]
type = "td"
[agents.dice]
type = "random"

[[phases]]
name = "play"
seats = ["one", "one"]
episodes = 20
evaluate_every = 20

[[evaluations]]
name = "eval"
seats = ["one", "dice"]
episodes = 6
rotate = true
"""
SEARCH = """
[sweep]
method = "optuna"
trials = 5
batch = 2
objective = { evaluation = "eval", agent = "one" }
"""
HERE = RunnerOptions(in_process=True)


@pytest.fixture
def seeded(tmp_path: Path) -> Path:
    path = tmp_path / "seeded.toml"
    path.write_text(FILE)
    return path


def played(path: Path, out: Path, **more: Any) -> SweepResult:
    done = execute(path, out=out, options=HERE, **more)
    assert isinstance(done, SweepResult)
    return done


def account(done: SweepResult) -> list[Any]:
    with Records(done.url) as records:
        states = {(e.variant, e.seed, e.agent): e.state for e in records.states()}
    return [
        *[(e.variant, e.evaluation, e.agent, e.measure, e.runs) for e in done.series],
        states,
        (done.folder / "results.json").read_text(),
    ]


def interrupted(path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> SweepResult:
    """Play with two interruptions: of the second trial, and of the next one after resuming."""
    play = runner.play
    for stop in (2, 1):
        calls = 0

        def breaking(*arguments: Any, stop: int = stop) -> ExecutionResult:
            nonlocal calls
            calls += 1
            if calls == stop:
                raise KeyboardInterrupt
            return play(*arguments)

        monkeypatch.setattr(runner, "play", breaking)
        with pytest.raises(KeyboardInterrupt):
            played(path, out, resume=stop == 1)
    monkeypatch.setattr(runner, "play", play)
    return played(path, out, resume=True)


@pytest.mark.long
def test_killed_and_resumed_is_as_undisturbed(
    seeded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    whole = played(seeded, tmp_path / "whole")
    assert [each.variant for each in whole.series] == ["hidden=4", "hidden=8"]
    assert [sorted(each.runs) for each in whole.series] == [[1, 2], [1, 2]]
    assert whole.executions == [1, 2, 3, 4]
    assert {each.name for each in whole.folder.iterdir()} >= {
        *("curves.png", "curves.svg", "curves.pdf", "results.json", "summary.txt")
    }
    assert "hidden=8" in (whole.folder / "summary.txt").read_text()

    found = json.loads((whole.folder / "results.json").read_text())
    assert [each["variant"] for each in found] == ["hidden=4", "hidden=8"]
    assert (found[0]["against_first"], found[1]["against_first"]["pairs"]) == (None, 2)
    assert found[0]["final"]["mean"] == pytest.approx(sum(whole.series[0].final) / 2)
    assert found[1]["note"] == "few seeds"

    commands.export(str(whole.folder), str(tmp_path / "games.txt"))
    text = (tmp_path / "games.txt").read_text()
    assert text.count('[Experiment "seeded"]') == text.count("[Game ") == 4 * (20 + 2 * 6)

    request.getfixturevalue("undrawn")
    resumed = interrupted(seeded, tmp_path / "broken", monkeypatch)
    assert account(resumed) == account(whole)


@pytest.mark.usefixtures("undrawn")
def test_a_search_by_optuna_is_played_and_resumed(
    seeded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILE.replace("[sweep.parameters]", f"{SEARCH}[sweep.parameters]")
    seeded.write_text(text.replace("seeds = [1, 2]", "seeds = [1]"))
    whole = played(seeded, tmp_path / "whole")
    assert len(whole.executions) == 5
    with Records(whole.url) as records:
        rows = list(records.rows("executions"))
        values = {row["value"] for row in records.rows("settings")}
    assert sorted(set(whole.executions)) == [row["id"] for row in rows]
    # A set that is proposed again is not played again.
    assert sorted(row["variant"] for row in rows) == ["hidden=4", "hidden=8"]
    assert values == {"4", "8"}

    top = max(whole.series, key=lambda each: sum(each.final))
    best = f"best of 2 sets for one (eval): {top.variant} "
    assert best in (whole.folder / "summary.txt").read_text()
    assert best in (whole.folder / "report.html").read_text()

    resumed = interrupted(seeded, tmp_path / "broken", monkeypatch)
    assert account(resumed) == account(whole)


class Rows:
    """Two variants with a seed each; a game of the second was cut short, and has no score."""

    def rows(self, name: str = "results", **_: Any) -> list[dict[str, Any]]:
        if name == "executions":
            return [{"id": number, "file": "{}"} for number in (1, 2)]
        if name == "stages":
            return [{"execution": number, "software": "dovetail"} for number in (1, 2)]
        if name == "settings":
            return []
        names = ("execution", "variant", "score", "return", "with_score", "with_return")
        cells = [(1, "a=1", 0.5, 7.0, 1, 1), (2, "a=2", None, 9.0, 0, 1)]
        common = {"seed": 1, "count": 1, "played": "eval", "agent": "one", "trained": 20}
        return [{**common, **dict(zip(names, each, strict=True))} for each in cells]


def test_variants_are_compared_by_scores_or_by_returns() -> None:
    records: Any = Rows()
    both = over_seeds.series(records, [1, 2])
    assert [(each.measure, each.final) for each in both] == [("return", [7.0]), ("return", [9.0])]
    [first] = over_seeds.series(records, [1], among=[1, 2])
    assert (first.variant, first.measure, first.final) == ("a=1", "return", [7.0])
    [alone] = over_seeds.series(records, [1])
    assert (alone.measure, alone.final) == ("score", [0.5])


def test_values_of_a_sweep_are_shown_as_they_are(
    seeded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variants = ["path=[/tmp]", "flags=[true, false]", "style=[bold]"]
    found = [
        Series(each, "eval", "[one]", "score", {1: {20: 0.5}, 2: {20: 0.25}}) for each in variants
    ]
    plan = sweep.read(seeded)
    done = SweepResult(plan, tmp_path, "sqlite:///x", [1], found)
    show(done, trials._All(plan, tmp_path, "sqlite:///x", False, 1, HERE)._console)
    for text in (capsys.readouterr().out, (tmp_path / "summary.txt").read_text()):
        for each in (*variants, "[one] (eval)"):
            assert each in text


@pytest.mark.long
def test_several_at_once_are_as_one_after_the_other(
    seeded: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    overrides = {"sweep.parameters": {"agents.one.parameters.hidden": [4]}}
    at_once = played(seeded, tmp_path / "two", overrides=overrides, jobs=2)
    request.getfixturevalue("undrawn")
    in_turn = played(seeded, tmp_path / "one", overrides=overrides)
    assert account(at_once) == account(in_turn)
    found = (tmp_path / "two" / "seeded" / "trials" / "001" / "progress.txt").read_text()
    assert "play 0-20: 20 games" in found


@pytest.mark.slow
def test_a_trial_that_fails_does_not_stop_the_others(seeded: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.state", tmp_path / "bad.state"
    with InProcess([ConnectFour], [TD]) as experiment:
        learner = experiment.create("td", seed=1)
        board = {"rows": 4, "columns": 4, "connect": 3}
        experiment.run("connect_four", [learner] * 2, episodes=1, configuration=board).wait()
        good.write_bytes(experiment.save(learner))
    bad.write_bytes(b"rubbish")
    overrides = {"seeds": [1], "sweep.parameters": {"agents.one.state": [str(good), str(bad)]}}
    with pytest.raises(
        DovetailError,
        match=r"1 of 2 trials failed; the first: trial 2 \(state=.*bad.state, seed 1\)",
    ):
        played(seeded, tmp_path, overrides=overrides, jobs=2)
    with Records(tmp_path / "seeded") as records:
        rows = list(records.rows("executions"))
    assert [row["finished"] is not None for row in rows] == [True]  # the other never began


@pytest.mark.usefixtures("undrawn")
def test_one_seed_is_an_execution(seeded: Path, tmp_path: Path) -> None:
    seeded.write_text(FILE.replace("seeds = [1, 2]", "").replace("[sweep.parameters]", "[x]"))
    with pytest.raises(DovetailError, match="has no key 'x'"):
        execute(seeded, out=tmp_path, options=HERE)
    seeded.write_text(
        FILE.replace("seeds = [1, 2]", "")
        .replace("[sweep.parameters]\n", "")
        .replace('"agents.one.parameters.hidden" = [4, 8]', "")
    )
    assert isinstance(execute(seeded, out=tmp_path, options=HERE), ExecutionResult)


@pytest.mark.slow
def test_ctrl_c_ends_all_trials(seeded: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dovetail", "run", str(seeded), "-j", "2", "--in-process"]
    program = subprocess.Popen(
        [*command, "--set", "phases.0.episodes=100000", "--set", "phases.0.evaluate_every=0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    journal = tmp_path / "out" / "seeded" / "trials" / "002" / "games-2.journal"
    while not (journal.exists() and journal.stat().st_size):
        assert program.poll() is None
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "--resume" in errors
    assert "Traceback" not in errors


def finished(url: database.Url) -> int:
    """Return how many executions are complete."""
    try:
        with Records(url) as records:
            return sum(row["finished"] is not None for row in records.rows("executions"))
    except DovetailError:  # not there yet
        return 0


def killed(command: list[str], url: database.Url, after: int) -> None:
    """Run a command, and kill it as soon as a number of executions are complete."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as program:
        while finished(url) < after:
            assert program.poll() is None
            time.sleep(0.2)
        program.kill()
        assert program.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_a_search_in_processes_that_is_killed_ends_as_undisturbed(
    seeded: Path, tmp_path: Path
) -> None:
    search = SEARCH.replace("trials = 5", "trials = 3")
    rate = '"agents.one.parameters.learning_rate" = { low = 0.01, high = 0.5, log = true }'
    text = FILE.replace("[sweep.parameters]", f"{search}[sweep.parameters]\n{rate}")
    seeded.write_text(text.replace("seeds = [1, 2]", "seeds = [1]"))
    whole = played(seeded, tmp_path / "whole")
    assert len(set(whole.executions)) == 3
    command = [sys.executable, "-m", "dovetail", "run", str(seeded), "--out"]
    out = tmp_path / "killed" / "seeded"
    killed([*command, str(tmp_path / "killed")], database.url_of(out / "results.sqlite"), 1)
    subprocess.run([*command, str(tmp_path / "killed"), "--resume"], check=True)
    for name in ("summary.txt", "results.json"):
        assert (out / name).read_text() == (whole.folder / name).read_text()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_sweep_killed_twice_ends_as_undisturbed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dovetail", "run", "connect_four_sweep", "--in-process"]
    command += ["--jobs", "2", "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, stdout=subprocess.DEVNULL)
    out = tmp_path / "killed" / "connect_four_sweep"
    url = database.url_of(out / "results.sqlite")
    killed([*command, str(tmp_path / "killed")], url, after=6)
    killed([*command, str(tmp_path / "killed"), "--resume"], url, after=17)
    resume = [*command, str(tmp_path / "killed"), "--resume"]
    subprocess.run(resume, check=True, stdout=subprocess.DEVNULL)
    whole = tmp_path / "whole" / "connect_four_sweep"
    for name in ("summary.txt", "results.json"):
        assert (out / name).read_text() == (whole / name).read_text()
    found = json.loads((whole / "results.json").read_text())
    assert [len(each["runs"]) for each in found] == [5] * 5
