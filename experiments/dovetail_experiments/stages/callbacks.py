"""Callbacks during an execution: your own, trackers, and the saving of intermediate states."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dovetail.peer.extras import needed
from dovetail.protocol.errors import DovetailError, attempting
from dovetail_experiments.files.file import Evaluation, ExperimentFile, Phase
from dovetail_experiments.reports.output import write
from dovetail_experiments.stages.schedule import Stage, StageResult

STATES = "states"
"""Folder of the states saved during phases."""


@dataclass(frozen=True, slots=True)
class ExecutionStart:
    """An execution that starts or is resumed."""

    file: ExperimentFile
    number: int
    """Number of the execution in its record."""
    folder: Path
    """Folder for its files."""
    variant: str
    """The sweep's values, as text; empty without a sweep."""
    settings: Mapping[str, str]
    """The sweep's values by key of the file."""

    @property
    def title(self) -> str:
        """A name that is unique in the record."""
        words = (self.file.name, self.variant, f"seed {self.file.seed}", f"({self.number})")
        return " ".join(filter(None, words))


@dataclass(frozen=True, slots=True)
class PlayedStage:
    """A finished stage: part of a phase, or one run of an evaluation."""

    result: StageResult
    values: dict[str, float]
    """Means by name: ``PART/AGENT/return``, ``PART/AGENT/score`` and the agents' own measures."""
    states: Mapping[str, bytes]
    """The learners' states after the stage, by name."""
    again: bool
    """True if an earlier attempt played the stage, and it is only reported again."""

    @property
    def stage(self) -> Stage:
        """The stage in the schedule."""
        return self.result.stage

    @property
    def trained(self) -> int:
        """Number of learning episodes up to its end."""
        stage = self.stage
        return stage.trained + (stage.episodes if stage.mode == "learn" else 0)


class Callback:
    """Base class of callbacks; pass instances to ``trials.execute``.

    An exception ends the execution; ``resume`` continues it.  With ``jobs`` above 1 instances are
    pickled, and each execution gets its own copy.
    """

    def begin(self, start: ExecutionStart) -> None:
        """Called when an execution starts or is resumed."""

    def stage(self, played: PlayedStage) -> None:
        """Called when a stage is over and in the record; stages are reported in order."""

    def end(self) -> None:
        """Called when the execution has finished or failed."""


def values(result: StageResult) -> dict[str, float]:
    """Return the means of a stage's finite values, by name."""
    part = result.stage.part.name
    found = result.measures.sums.items()
    return {f"{part}/{agent}/{name}": total / count for (agent, name), (total, count) in found}


@contextmanager
def telling(callbacks: list[Callback], start: ExecutionStart) -> Iterator[None]:
    """Call ``begin`` on entry and ``end`` on exit."""
    begun: list[Callback] = []
    try:
        for each in callbacks:
            each.begin(start)
            begun.append(each)
        yield
    finally:
        for each in begun:
            each.end()


# -- states ----------------------------------------------------------------------------------------


class KeptStates(Callback):
    """Saves the states selected by ``save_every`` and ``keep_best`` in the folder ``states``."""

    def begin(self, start: ExecutionStart) -> None:
        self._file = start.file
        self._folder = start.folder / STATES
        self._best: dict[str, float] = {}
        """Best value so far of each agent."""
        self._phase: Phase | None = None

    def stage(self, played: PlayedStage) -> None:
        """Save the states due after a stage."""
        part = played.stage.part
        if isinstance(part, Phase):
            self._phase = part
            done = played.stage.first + played.stage.episodes
            if part.save_every and done % part.save_every == 0:
                for name in played.stage.learners:
                    self._write(name, str(played.trained), played)
        elif isinstance(part, Evaluation) and self._phase and self._phase.keep_best == part.name:
            for name in dict.fromkeys(part.seats):
                found = [played.values.get(f"{part.name}/{name}/{w}") for w in ("score", "return")]
                value = next((each for each in found if each is not None), None)
                if value is None or name not in played.states:
                    continue
                if value > self._best.get(name, -math.inf):
                    self._best[name] = value
                    self._write(name, "best", played)

    def _write(self, name: str, mark: str, played: PlayedStage) -> None:
        if played.again:  # the attempt that played it saved them
            return
        with attempting(f"write {self._folder}"):
            self._folder.mkdir(exist_ok=True)
        write(self._folder / f"{name}@{mark}.state", played.states[name])


# -- trackers --------------------------------------------------------------------------------------


class TensorBoard(Callback):
    """Writes values to the folder ``tensorboard`` as they arrive."""

    def begin(self, start: ExecutionStart) -> None:
        module = needed("tensorboardX")
        self._writer = module.SummaryWriter(str(start.folder / "tensorboard"))

    def stage(self, played: PlayedStage) -> None:
        for name, value in played.values.items():
            self._writer.add_scalar(name, value, played.trained)
        self._writer.flush()

    def end(self) -> None:
        self._writer.close()


class WandB(Callback):
    """Logs to a module with the interface of Weights & Biases: ``wandb`` itself, or ``trackio``.

    Args:
        name: the module's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def begin(self, start: ExecutionStart) -> None:
        self._module = needed(self._name)
        config = {**msgspec.to_builtins(start.file), **start.settings}
        self._module.init(project=start.file.name, name=start.title, config=config)

    def stage(self, played: PlayedStage) -> None:
        self._module.log(dict(played.values), step=played.trained)

    def end(self) -> None:
        self._module.finish()


class MLflow(Callback):
    """Logs to MLflow."""

    def begin(self, start: ExecutionStart) -> None:
        self._module: Any = needed("mlflow")
        self._module.set_experiment(start.file.name)
        self._module.start_run(run_name=start.title)
        self._module.log_params({"seed": start.file.seed, **start.settings})

    def stage(self, played: PlayedStage) -> None:
        named = {_plain(name): value for name, value in played.values.items()}
        self._module.log_metrics(named, step=played.trained)

    def end(self) -> None:
        self._module.end_run()


def _plain(name: str) -> str:
    """Replace the characters of a name that MLflow does not allow."""
    return "".join(each if each.isalnum() or each in "_-. /" else "_" for each in name)


TRACKERS = ("tensorboard", "wandb", "mlflow", "trackio")


def tracker(name: str) -> Callback:
    """Return a new tracker.

    Raises:
        DovetailError: no tracker has this name.
    """
    if name == "tensorboard":
        return TensorBoard()
    if name == "mlflow":
        return MLflow()
    if name in TRACKERS:
        return WandB(name)
    raise DovetailError(f"--track {name}: expected one of {', '.join(TRACKERS)}")
