"""Callbacks of executions, trackers with modules that stand in for the real ones, and the states
that phases keep."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.experiments.test_trials import FILE

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode, SeatResult
from dovetail_experiments.files import sweep
from dovetail_experiments.files.file import Phase, text
from dovetail_experiments.records.records import Records
from dovetail_experiments.stages import callbacks, remote, trials
from dovetail_experiments.stages.callbacks import Callback, ExecutionStart, PlayedStage
from dovetail_experiments.stages.runner import Again, ExecutionEntry, RunnerOptions, execute
from dovetail_experiments.stages.schedule import Stage, StageResult

pytestmark = pytest.mark.processes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.toml"
    text = FILE.replace("seeds = [1, 2]", "seed = 1").replace("[sweep.parameters]\n", "")
    text = text.replace('"agents.one.parameters.hidden" = [4, 8]', "")
    kept = 'evaluate_every = 20\nsave_every = 5\nkeep_best = "eval"'
    path.write_text(text.replace("evaluate_every = 20", kept))
    return path


class Told(Callback):
    def __init__(self, stop: int | None = None) -> None:
        self.lines: list[tuple[str, int, bool]] = []
        self.scores: dict[int, float] = {}
        self.started: list[str] = []
        self.ended = 0
        self._stop = stop

    def begin(self, start: ExecutionStart) -> None:
        self.started.append(start.title)

    def stage(self, played: PlayedStage) -> None:
        self.lines.append((played.stage.part.name, played.trained, played.again))
        if "eval/one/score" in played.values:
            self.scores[played.trained] = played.values["eval/one/score"]
        if len(self.lines) == self._stop:
            raise KeyboardInterrupt

    def end(self) -> None:
        self.ended += 1


@pytest.mark.usefixtures("undrawn")
def test_callbacks_are_told_of_each_stage_and_states_are_kept(file: Path, tmp_path: Path) -> None:
    first = Told(stop=3)
    with pytest.raises(KeyboardInterrupt):
        execute(file, out=tmp_path, options=RunnerOptions(in_process=True, callbacks=(first,)))
    assert (first.started, first.ended) == (["seeded seed 1 (1)"], 1)

    told = Told()
    done = execute(
        file, out=tmp_path, options=RunnerOptions(in_process=True, callbacks=(told,)), resume=True
    )
    assert told.lines == [
        ("eval", 0, True),
        *(("play", 5, True), ("play", 10, True), ("play", 15, False), ("play", 20, False)),
        ("eval", 20, False),
    ]
    kept = {each.name: each.read_bytes() for each in (done.folder / "states").iterdir()}
    best = {"one@best.state"} if told.scores[20] > told.scores[0] else set()
    assert {*kept} - {"one@best.state"} == {f"one@{at}.state" for at in (5, 10, 15, 20)}
    assert best <= {*kept}
    assert kept["one@20.state"] == done.states["one"] != kept["one@15.state"]
    with Records(done.folder) as records:
        [row] = records.rows(by=["played"], where=["agent=one", "trained=20", "played=eval"])
    assert told.scores[20] == pytest.approx(row["score"])


@pytest.mark.usefixtures("undrawn")
def test_stretches_for_states_change_no_result(file: Path, tmp_path: Path) -> None:
    cut = execute(file, out=tmp_path / "cut", options=RunnerOptions(in_process=True))
    file.write_text(file.read_text().replace("save_every = 5\n", ""))
    whole = execute(file, out=tmp_path / "whole", options=RunnerOptions(in_process=True))
    assert cut.states == whole.states


def test_the_best_state_is_of_the_highest_mean(tmp_path: Path, file: Path) -> None:
    plan = sweep.read(file)
    kept = callbacks.KeptStates()
    kept.begin(ExecutionStart(plan.base, 1, tmp_path, "", {}))
    from dovetail_experiments.stages.schedule import Stage, StageResult

    [phase], [evaluation] = plan.base.phases, plan.base.evaluations
    kept.stage(PlayedStage(StageResult(Stage(0, phase, 0, 20, 0), ()), {}, {"one": b"0"}, False))
    for trained, score in enumerate((0.5, 0.75, 0.7)):
        result = StageResult(Stage(1, evaluation, 0, 6, trained), ())
        means = {"eval/one/score": score, "eval/dice/score": 1 - score}
        kept.stage(PlayedStage(result, means, {"one": b"%d" % trained}, False))
    assert (tmp_path / "states" / "one@best.state").read_bytes() == b"1"


def test_keep_best_needs_an_evaluation(file: Path) -> None:
    with pytest.raises(DovetailError, match=r"no evaluation 'evil'; did you mean 'eval'"):
        sweep.read(file, {"phases.0.keep_best": "evil"})
    with pytest.raises(DovetailError, match=r"keep_best needs evaluate_every"):
        sweep.read(file, {"phases.0.evaluate_every": 0})


class Module(ModuleType):
    """A module whose functions write down how they were called."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: self.calls.append((name, given, named))

    def of(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return [(given, named) for each, given, named in self.calls if each == name]


@pytest.mark.usefixtures("undrawn")
def test_trackers_log_each_stage_as_it_ends(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {name: Module(name) for name in ("wandb", "trackio", "mlflow")}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    names = ("tensorboard", *modules)
    done = execute(file, out=tmp_path, options=RunnerOptions(in_process=True, track=names))
    for name in ("wandb", "trackio"):
        [(_, started)] = modules[name].of("init")
        assert started["project"] == "seeded"
        assert started["config"]["agents"]["one"]["type"] == "td"
        steps = [named["step"] for _, named in modules[name].of("log")]
        assert steps == [0, 5, 10, 15, 20, 20]
        [(last, _)] = modules[name].of("log")[-1:]
        assert {"eval/one/score", "eval/one/return", "eval/dice/score"} <= {*last[0]}
        assert len(modules[name].of("finish")) == 1
    assert modules["mlflow"].calls[0][0] == "set_experiment"
    assert [n["step"] for _, n in modules["mlflow"].of("log_metrics")] == [0, 5, 10, 15, 20, 20]
    assert modules["mlflow"].calls[-1][0] == "end_run"
    assert [*(done.folder / "tensorboard").glob("events.out.tfevents.*")]


def test_a_tracker_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DovetailError, match="expected one of tensorboard, wandb"):
        RunnerOptions(track=("tensorbored",))
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(DovetailError, match=r"pip install 'dovetail\[wandb\]'"):
        callbacks.tracker("wandb").begin(None)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_a_trial_on_another_machine_tells_its_trackers_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = Module("wandb")
    monkeypatch.setitem(sys.modules, "wandb", module)
    path = tmp_path / "sweep.toml"
    path.write_text(FILE)
    trial = sweep.read(path).trials({"agents.one.parameters.hidden": 4}, 1)[0]
    settings = {"agents.one.parameters.hidden": "4"}
    again = Again(tmp_path / "again", b"")
    entry = ExecutionEntry(7, text(trial.file), False, again, 1, "hidden=4", settings)
    options = RunnerOptions(on="ray", track=("wandb", "tensorboard"))
    work = remote.order(trial.file, entry, trial.title, [], {}, options)
    left = {name for kind, name, _ in remote.played(work) if kind == "file"}
    [(_, started)] = module.of("init")
    assert "hidden=4 seed 1 (7)" in started["name"]
    assert started["config"]["agents.one.parameters.hidden"] == "4"
    assert len(module.of("finish")) == 1
    assert [each for each in left if each.startswith("tensorboard/events.out.tfevents.")]


def test_callbacks_of_trials_on_other_machines_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(FILE)
    options = RunnerOptions(on="ray", callbacks=(Told(),))
    with pytest.raises(DovetailError, match="remove callbacks or --on ray"):
        trials.execute(path, out=tmp_path, options=options)


def test_values_and_counts_come_from_one_reading() -> None:
    """A resumed run of ten million games with ``save_every`` reads each of them once."""

    class Read:
        times = 0

        def __iter__(self) -> Iterator[Episode]:
            self.times += 1
            for index in range(4):
                told = {"error": index * 0.5, "return": 9.0, "score": 9.0}
                one = SeatResult("td", 1, 3.0, 1, 0.0, measures=told)
                other = SeatResult("random", 2, math.nan, 1, 0.0, measures={"error": math.inf})
                seats = [one, other] if index % 2 == 0 else [other, one]
                outcome = [1.0, 0.0] if index % 2 == 0 else [0.0, 1.0]
                yield Episode(1, index, index, 1, "terminated", seats, outcome=outcome, turns=2)

    read = Read()
    part = Phase(name="play", seats=["one", "other"], episodes=4, rotate=True)
    result = StageResult(Stage(0, part, 0, 4, 0), read)
    assert callbacks.values(result) == {
        "play/one/error": 0.75,
        "play/one/return": 3.0,
        "play/one/score": 1.0,
        "play/other/score": 0.0,
    }
    assert [each.wins for each in result.tallies] == [2, 2, 0, 0]
    assert result.endings.games == 4
    assert read.times == 1
