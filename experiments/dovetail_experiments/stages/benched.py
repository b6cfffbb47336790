"""Compare a learner with the saved results of others on the tasks of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Console

from dovetail.peer import provenance
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files import sweep
from dovetail_experiments.reports import output, over_tasks
from dovetail_experiments.reports.over_seeds import Series
from dovetail_experiments.reports.plot import profiles
from dovetail_experiments.stages import trials
from dovetail_experiments.stages.runner import RunnerOptions

SUITES = Path(__file__).resolve().parents[1] / "suites"
SUITE = SUITES / "boards.toml"
KEPT = SUITES / "boards.json"
PICTURE = "beside.png"


class KeptSeries(Struct, frozen=True):
    """A learner's saved result in ``boards.json``."""

    task: str
    evaluation: str
    agent: str
    variant: str
    measure: str
    runs: dict[int, dict[int, float]]
    software: list[str]

    @property
    def series(self) -> Series:
        """Return it as a series for comparisons."""
        return Series(
            variant=self.variant,
            evaluation=self.evaluation,
            agent=self.agent,
            measure=self.measure,
            runs=self.runs,
            software=tuple(self.software),
            task=self.task,
        )


def kept() -> list[Series]:
    """Return the saved results of other learners."""
    found = msgspec.json.decode(KEPT.read_bytes(), type=list[KeptSeries])
    return [each.series for each in found]


def bench(
    kind: str, parameters: Mapping[str, Any], out: Path | None, jobs: int, *, resume: bool = False
) -> Path:
    """Play the suite with a learner, and plot it beside the others; return the plot's path.

    Args:
        kind: the learner's type: a built-in one, or ``file.py:Class``.
        parameters: the learner's options.
        out: as for ``trials.execute``.
        jobs: the number of trainings at once.
        resume: continue an interrupted run.

    Raises:
        DovetailError: it cannot play a game of the suite, or the saved results are of another
            suite.
    """
    done = trials.execute(
        SUITE,
        out=out,
        overrides={
            "sweep.parameters": {"agents.learner.type": [kind]},
            "agents.learner.parameters": dict(parameters),
        },
        jobs=jobs,
        resume=resume,
        options=RunnerOptions(in_process=True),
    )
    assert isinstance(done, trials.SweepResult)
    others = kept()
    own = [
        msgspec.structs.replace(_kept(each), variant=f"{kind} (yours)").series
        for each in done.series
    ]
    lengths = {(each.task, each.trained[-1]) for each in own}
    if {(each.task, each.trained[-1]) for each in others} - lengths:
        raise DovetailError(f"{KEPT.name} has results of another suite; see benched.keep")
    return beside(own, others, done.folder)


def beside(own: list[Series], others: list[Series], folder: Path) -> Path:
    """Plot a learner's results beside others'; return the plot's path.

    Args:
        own: the learner's results.
        others: the results to compare it with.
        folder: the folder for the plot and the tables.
    """
    console = Console(highlight=False, markup=False)
    wide = console if console.is_terminal else Console(width=140, highlight=False, markup=False)
    groups = over_tasks.rows([*own, *others], sweep.read(SUITE).scales)
    tables = over_tasks.tables(groups)
    for table in tables:
        wide.print(table)
    output.tables(folder / "beside.txt", *tables)
    software = [text for each in (*own, *others) for text in each.software]
    if warning := provenance.mixed(software, "results"):
        wide.print(warning)
    path = folder / PICTURE
    for group in groups:
        profiles([path], "A learner beside others", over_tasks.curves(group))
    console.print(f"beside     {path}", soft_wrap=True)
    return path


def keep(kind: str, found: list[Series]) -> None:
    """Save a learner's results among those of other learners, replacing older ones."""
    before = msgspec.json.decode(KEPT.read_bytes(), type=list[KeptSeries]) if KEPT.exists() else []
    mine = [msgspec.structs.replace(_kept(each), variant=kind) for each in found]
    rows = [each for each in before if each.variant != kind] + mine
    data = b",\n".join(msgspec.json.encode(each) for each in rows)
    output.write(KEPT, b"[" + data + b"]\n")


def _kept(each: Series) -> KeptSeries:
    return KeptSeries(
        task=each.task,
        evaluation=each.evaluation,
        agent=each.agent,
        variant=each.variant,
        measure=each.measure,
        runs={
            seed: {at: round(value, 6) for at, value in run.items()}
            for seed, run in each.runs.items()
        },
        software=list(each.software),
    )
