"""Compare a learner with the saved results of others on the tasks of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
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
FIELDS = ("task", "evaluation", "agent", "variant", "measure", "runs", "software")
"""Fields of a series in ``boards.json``."""


def kept() -> list[Series]:
    """Return the saved results of other learners."""
    return msgspec.json.decode(KEPT.read_bytes(), type=list[Series])


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
    own = [_rounded(each, f"{kind} (yours)") for each in done.series]
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
    before = kept() if KEPT.exists() else []
    rows = [each for each in before if each.variant != kind]
    rows += [_rounded(each, kind) for each in found]
    data = b",\n".join(
        msgspec.json.encode({name: getattr(each, name) for name in FIELDS}) for each in rows
    )
    output.write(KEPT, b"[" + data + b"]\n")


def _rounded(each: Series, variant: str) -> Series:
    runs = {
        seed: {at: round(value, 6) for at, value in run.items()} for seed, run in each.runs.items()
    }
    return replace(each, variant=variant, runs=runs)
