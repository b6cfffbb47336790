"""Sweeps over several tasks: compared within each, and over all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.experiments.test_trials import played

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.commands import results as commands
from dovetail_experiments.files import sweep
from dovetail_experiments.files.sweep import Objective
from dovetail_experiments.reports import over_seeds, over_tasks
from dovetail_experiments.reports.over_seeds import Series
from dovetail_web.results import Results

pytestmark = pytest.mark.processes

FILE = """
name = "tasks"
seeds = [1, 2]
environment = { name = "connect_four", configuration = { rows = 4, columns = 4, connect = 3 } }

[sweep.parameters]
"agents.one.parameters.hidden" = [4, 8]

[sweep.tasks.narrow]
set = { "environment.configuration.columns" = 3 }

[sweep.tasks.wide]
set = { "environment.configuration.columns" = 5 }
scale = [0.5, 1.0]

[agents.one]
type = "td"
[agents.dice]
type = "random"

[[phases]]
name = "play"
seats = ["one", "one"]
episodes = 10
evaluate_every = 10

[[evaluations]]
name = "eval"
seats = ["one", "dice"]
episodes = 6
rotate = true
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tasks")
    path = out / "tasks.toml"
    path.write_text(FILE)
    return played(path, out).folder


@pytest.mark.long
def test_variants_are_compared_within_a_task(folder: Path) -> None:
    rows = json.loads((folder / "results.json").read_text())
    within = [each for each in rows if "task" in each]
    assert [(each["task"], each["variant"]) for each in within] == [
        *(("narrow", "hidden=4"), ("narrow", "hidden=8")),
        *(("wide", "hidden=4"), ("wide", "hidden=8")),
    ]
    first = {each["task"]: each for each in within if each["variant"] == "hidden=4"}
    for each in within:
        if each["variant"] == "hidden=8":
            assert each["against_first"]["pairs"] == 2
            difference = each["final"]["mean"] - first[each["task"]]["final"]["mean"]
            assert each["against_first"]["difference"] == pytest.approx(difference)
        else:
            assert each["against_first"] is None


@pytest.mark.long
def test_over_tasks_in_every_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads((folder / "results.json").read_text())
    within = {(each["task"], each["variant"]): each for each in rows if "task" in each}
    four, eight = [each for each in rows if "task" not in each]
    assert four["tasks"] == {"narrow": [0.0, 1.0], "wide": [0.5, 1.0]}
    for row in (four, eight):
        narrow = within["narrow", row["variant"]]["final"]["mean"]
        wide = 2 * within["wide", row["variant"]]["final"]["mean"] - 1
        assert row["optimality_gap"] == pytest.approx(1 - (narrow + wide) / 2)
    assert four["probability_of_improvement"] is None
    assert 0 <= eight["probability_of_improvement"] <= 1
    assert (folder / "profile.png").is_file()
    assert "over 2 tasks" in (folder / "summary.txt").read_text()
    assert "over 2 tasks" in (folder / "report.html").read_text()

    commands.results(str(folder), compare=True)
    shown = capsys.readouterr().out
    assert "one (eval of narrow)" in shown
    assert "one (eval), over 2 tasks" in shown
    commands.results(str(folder), compare=True, form="json")
    found = json.loads(capsys.readouterr().out)
    assert [each["tasks"] for each in found].count(four["tasks"]) == 2

    on_page = Results([str(folder)]).sweep(0, 1)
    assert [row.variant for group in on_page.over for row in group] == ["hidden=4", "hidden=8"]
    assert on_page.over[0][0].scales["wide"] == (0.5, 1.0)


def test_intervals_over_tasks_need_as_many_seeds_as_others() -> None:
    def series(variant: str, task: str, offset: float, seeds: int) -> Series:
        runs = {seed: {10: offset + seed / 100} for seed in range(seeds)}
        return Series(variant, "eval", "one", "score", runs, task=task)

    def rows(seeds: int) -> list[over_tasks.TaskRow]:
        [group] = over_tasks.rows(
            [
                series(variant, task, 0.1 * number + (variant == "b") / 2, seeds)
                for variant in "ab"
                for number, task in enumerate(("s", "t"))
            ],
            {},
        )
        return group

    few, many = rows(3), rows(6)
    assert few[1].note == "few seeds: no interval"
    assert many[0].iqm_low < many[0].iqm < many[0].iqm_high
    assert many[1].better == few[1].better == 1.0
    assert many[0].profile[0] == pytest.approx(11 / 12)  # of seed 0 on task s: 0 is not above 0


def test_the_objective_of_a_search_may_be_the_area() -> None:
    runs = {1: {0: 0.0, 10: 1.0, 40: 1.0}}
    found = [Series("x", "eval", "one", "score", runs)]
    last, area = (Objective("eval", "one", over) for over in ("last", "area"))
    assert over_tasks.worth(found, last, {}) == 1.0
    assert over_tasks.worth(found, area, {}) == 0.875
    tasks = [over_seeds.Series("x", "eval", "one", "return", runs, task=task) for task in "st"]
    assert over_tasks.worth(tasks, last, {"s": (-1.0, 1.0), "t": (0.0, 4.0)}) == 0.625


def test_a_task_and_a_parameter_with_the_same_key_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(FILE.replace('"environment.configuration.columns" = 5', "environment = 5"))
    with pytest.raises(DovetailError, match=r"line 13: .*task=wide"):
        sweep.read(path)
    key = '"agents.one.parameters.hidden"'
    path.write_text(FILE.replace('"environment.configuration.columns" = 5', f"{key} = 5"))
    with pytest.raises(DovetailError, match=r"\[sweep.tasks.wide\] and \[sweep.parameters\]"):
        sweep.read(path)


@pytest.mark.usefixtures("undrawn")
def test_a_search_gives_up_what_does_worse(tmp_path: Path) -> None:
    path = tmp_path / "pruned.toml"
    search = """
[sweep]
method = "optuna"
trials = 4
batch = 2
prune = "PRUNE"
objective = { evaluation = "eval", agent = "one" }

[sweep.parameters]"""
    text = FILE.replace("\n[sweep.parameters]", search).replace("episodes = 10", "episodes = 2")
    text = text.replace("[4, 8]", "{ low = 1, high = 400 }").replace("every = 10", "every = 2")
    path.write_text(text.replace("PRUNE", "asha"))
    pruned = played(path, tmp_path, overrides={"sweep.tasks": {}})
    assert 4 <= len(pruned.executions) < 8
    runs = {each.variant: len(each.runs) for each in pruned.series}
    assert {*runs.values()} == {1, 2}
    best = over_tasks.best(pruned.series, pruned.plan.objective, pruned.plan.scales)
    assert best is not None
    assert any(f": {variant} (" in best.plain for variant, count in runs.items() if count == 2)
