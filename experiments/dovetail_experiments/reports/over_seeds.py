"""Results over seeds: curves, final values and comparisons of an experiment's variants."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from dovetail.peer import provenance
from dovetail.protocol import codec
from dovetail_experiments.files.file import ExperimentFile
from dovetail_experiments.files.sweep import TASK, label
from dovetail_experiments.records.records import Records
from dovetail_experiments.reports import aggregate
from dovetail_experiments.reports.aggregate import Band, Comparison
from dovetail_experiments.reports.plot import SeedCurves, curves_over_runs
from dovetail_experiments.reports.table import listing

COLUMNS = (
    "mean: 95 % by Student's t over seeds; IQM: interquartile mean, 95 % by bootstrap over seeds"
)
COMPARED = (
    "; P: probability that a run is better than one of the first variant; p: paired by "
    "seed, adjusted (Holm)"
)


@dataclass(frozen=True, slots=True)
class Series:
    """Results of an agent in an evaluation, for one set of values and several seeds."""

    variant: str
    evaluation: str
    agent: str
    measure: str
    """``score`` or ``return``."""
    runs: dict[int, dict[int, float]]
    """Mean over the evaluation's games, by seed and number of learning episodes."""
    left_out: int = 0
    """Games of the last evaluations that no mean includes, as they have no score or return."""
    software: tuple[str, ...] = ()
    """Software versions that the stages record."""
    task: str = ""
    """Name of the task; empty if there are none."""

    @property
    def where(self) -> str:
        """The evaluation and its task."""
        return f"{self.evaluation} of {self.task}" if self.task else self.evaluation

    @property
    def trained(self) -> list[int]:
        """Numbers of learning episodes at which all runs were evaluated."""
        common = set.intersection(*(set(each) for each in self.runs.values()))
        return sorted(common)

    def at(self, trained: int) -> list[float]:
        """Return each run's value, in the order of the seeds."""
        return [each[trained] for each in self.runs.values()]

    @property
    def final(self) -> list[float]:
        """Last value of each run."""
        return self.at(self.trained[-1])

    @property
    def areas(self) -> list[float]:
        """Mean of each run's curve over its training, interpolated linearly."""
        return [aggregate.area({at: run[at] for at in self.trained}) for run in self.runs.values()]

    def band(self, trained: int) -> Band:
        """Return the mean over the runs and its interval; scores lie between 0 and 1."""
        if self.measure == "score":
            return aggregate.band(self.at(trained), least=0.0, most=1.0)
        return aggregate.band(self.at(trained))

    @property
    def mean(self) -> float:
        """Mean of the last values."""
        return statistics.fmean(self.final)


@dataclass(frozen=True, slots=True)
class Level:
    """Episodes that each run of a series took to reach a level."""

    level: float
    last: int
    """Number of episodes at the last evaluation."""
    reached: list[int | None]

    @property
    def median(self) -> float:
        """Median over all runs; infinite if most did not reach the level."""
        return statistics.median_high([math.inf if each is None else each for each in self.reached])

    @property
    def text(self) -> str:
        """The median, and the number of runs that reached the level."""
        found = [each for each in self.reached if each is not None]
        median = f"> {self.last:,}" if math.isinf(self.median) else f"{self.median:,.0f}"
        return f"{median} ({len(found)} of {len(self.reached)} runs)"


@dataclass(frozen=True, slots=True)
class VariantRow:
    """Final result of a series."""

    series: Series
    band: Band
    level: Level | None
    comparison: Comparison | None
    """Comparison with the first variant on common seeds; None for the first itself."""
    adjusted: float | None
    """P value of the comparison, adjusted for the number of comparisons (Holm)."""

    @property
    def left_out(self) -> str:
        """Note on games that no mean includes."""
        count = self.series.left_out
        return f"{count:,} games without a {self.series.measure} left out" if count else ""


def series(
    records: Records, executions: Sequence[int], among: Sequence[int] | None = None
) -> list[Series]:
    """Return the evaluation results of some executions, in the order of the executions.

    If there are learners, others are left out. All series of an agent in an evaluation are scores
    or, if any of its games lacks a score, returns, so that they can be compared.

    Args:
        among: the executions to compare them with; ``executions`` if None.
    """
    compared = {*executions, *(among or ())}
    files = {
        row["id"]: _file(row["file"]) for row in records.rows("executions") if row["id"] in compared
    }
    learners = {number: [] if file is None else file.learners() for number, file in files.items()}
    made_by: dict[int, dict[str, None]] = {}
    for row in records.rows("stages", columns=["execution", "software"]):
        made_by.setdefault(row["execution"], {})[row["software"]] = None
    tasks = {
        row["execution"]: row["value"] for row in records.rows("settings", where=[f"key={TASK}"])
    }
    keys = ["execution", "variant", "seed", "played", "agent", "trained"]
    found: dict[tuple[str, str, str, str], dict[int, dict[int, dict[str, Any]]]] = {}
    unscored: set[tuple[str, str, str]] = set()
    for row in sorted(
        records.rows(by=keys, where=["kind=evaluation"]),
        key=lambda each: (
            executions.index(each["execution"]) if each["execution"] in executions else 0
        ),
    ):
        names = learners.get(row["execution"])
        if names is None or (names and row["agent"] not in names):
            continue
        task = tasks.get(row["execution"], "")
        if row["score"] is None:
            unscored.add((task, row["played"], row["agent"]))
        if row["execution"] not in executions:
            continue
        variant = row["variant"]
        if task:
            variant = variant.removeprefix(label({TASK: task})).lstrip()
        runs = found.setdefault((task, row["played"], row["agent"], variant), {})
        runs.setdefault(row["seed"], {})[row["trained"]] = row
    made = []
    for (task, evaluation, agent, variant), runs in found.items():
        measure = "return" if (task, evaluation, agent) in unscored else "score"
        values = {
            seed: {
                trained: math.nan if cell[measure] is None else float(cell[measure])
                for trained, cell in each.items()
            }
            for seed, each in runs.items()
        }
        left = sum(
            cell["count"] - cell[f"with_{measure}"]
            for each in runs.values()
            for cell in [each[max(each)]]
        )
        software = dict.fromkeys(
            text
            for each in runs.values()
            for cell in each.values()
            for text in made_by.get(cell["execution"], ())
        )
        made.append(
            Series(variant, evaluation, agent, measure, values, left, tuple(software), task)
        )
    return made


def distinct(made: Sequence[Series], order: Sequence[str]) -> list[Series]:
    """Drop series that mirror another one.

    If two agents' scores always sum to 1, only the agent that comes first in ``order`` is kept.
    """
    kept: list[list[Series]] = []
    for group in sorted(grouped(made), key=lambda each: _place(each, order)):
        if not any(_complementary(each, group) for each in kept):
            kept.append(group)
    names = {(each[0].where, each[0].agent) for each in kept}
    return [each for each in made if (each.where, each.agent) in names]


def _place(group: Sequence[Series], order: Sequence[str]) -> int:
    agent = group[0].agent
    return order.index(agent) if agent in order else len(order)


def _complementary(one: Sequence[Series], other: Sequence[Series]) -> bool:
    """Return whether the scores of two agents in the same evaluation always sum to 1."""
    if one[0].where != other[0].where or len(one) != len(other):
        return False
    for each, same in zip(one, other, strict=True):
        if each.measure != "score" or same.measure != "score" or each.variant != same.variant:
            return False
        if {seed: [*run] for seed, run in each.runs.items()} != {
            seed: [*run] for seed, run in same.runs.items()
        }:
            return False
        for seed, run in each.runs.items():
            if any(abs(run[at] + same.runs[seed][at] - 1.0) > 1e-9 for at in run):
                return False
    return True


def grouped(found: Sequence[Series]) -> list[list[Series]]:
    """Return series grouped by task, evaluation and agent."""
    groups: dict[tuple[str, str], list[Series]] = {}
    for each in found:
        groups.setdefault((each.where, each.agent), []).append(each)
    return [*groups.values()]


def rows(found: Sequence[Series], level: float | None = None) -> list[list[VariantRow]]:
    """Return final results, a list for each task, evaluation and agent; the first variant is the
    baseline."""
    return [_group(group, level) for group in grouped(found)]


def _group(group: Sequence[Series], level: float | None) -> list[VariantRow]:
    base = group[0]
    comparisons: list[Comparison | None] = [None]
    for each in group[1:]:
        seeds = [seed for seed in each.runs if seed in base.runs]
        ours = [each.runs[seed][each.trained[-1]] for seed in seeds]
        theirs = [base.runs[seed][base.trained[-1]] for seed in seeds]
        comparisons.append(aggregate.compare(ours, theirs))
    adjusted = iter(aggregate.holm([each.p for each in comparisons if each is not None]))
    return [
        VariantRow(
            each,
            each.band(each.trained[-1]),
            None if level is None else _level(each, level),
            comparison,
            None if comparison is None else next(adjusted),
        )
        for each, comparison in zip(group, comparisons, strict=True)
    ]


def _level(each: Series, level: float) -> Level:
    return Level(
        level, each.trained[-1], [aggregate.reached(run, level) for run in each.runs.values()]
    )


def tables(groups: Sequence[Sequence[VariantRow]]) -> list[Table]:
    """Return a table for each evaluation and agent; the last one explains the columns."""
    made = []
    columns = COLUMNS + (COMPARED if any(len(each) > 1 for each in groups) else "")
    software = [text for group in groups for row in group for text in row.series.software]
    if warning := provenance.mixed(software, "runs"):
        columns += f"\n{warning}"
    for group in groups:
        first = group[0].series
        table = listing(
            Text(
                f"{first.agent} ({first.where}), after the last episode: {first.measure} "
                "over seeds",
                "table.title",
            ),
            columns if group is groups[-1] else None,
        )
        table.add_column("variant")
        for name in ("seeds", "mean (95 %)", "IQM (95 %)"):
            table.add_column(name, justify="right", no_wrap=True)
        if group[0].level is not None:
            table.add_column(f"reaches {group[0].level.level:g} after", justify="right")
        if len(group) > 1:
            for name in ("difference (95 %)", "p", "P"):
                table.add_column(name, justify="right", no_wrap=True)
        table.add_column("")
        for row in group:
            table.add_row(*map(Text, cells(row, compared=len(group) > 1)))
        made.append(table)
    return made


def plain(row: VariantRow) -> dict[str, Any]:
    """Return a row as plain numbers by column; unknown ones are None."""
    series, band, level, found = row.series, row.band, row.level, row.comparison
    steps = [] if level is None else [each for each in level.reached if each is not None]
    numbers = {
        "mean": band.mean,
        "mean_low": band.low,
        "mean_high": band.high,
        "iqm": band.iqm,
        "iqm_low": band.iqm_low,
        "iqm_high": band.iqm_high,
    }
    if level is not None:
        numbers |= {
            "level": level.level,
            "reached_after": level.median,
            "runs_that_reached": len(steps),
        }
    numbers |= {
        "difference": math.nan if found is None else found.difference,
        "difference_low": math.nan if found is None else found.low,
        "difference_high": math.nan if found is None else found.high,
        "p": math.nan if row.adjusted is None else row.adjusted,
        "probability_of_improvement": math.nan if found is None else found.better,
        "probability_low": math.nan if found is None else found.better_low,
        "probability_high": math.nan if found is None else found.better_high,
    }
    return {
        **({"task": series.task} if series.task else {}),
        "evaluation": series.evaluation,
        "agent": series.agent,
        "variant": series.variant,
        "measure": series.measure,
        "trained": series.trained[-1],
        "seeds": band.runs,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "games_left_out": series.left_out,
        "software": "; ".join(series.software),
        "note": band.note,
    }


def cells(row: VariantRow, *, compared: bool) -> list[str]:
    """Return the cells of a row."""
    band, found = row.band, row.comparison
    made = [
        row.series.variant or "-",
        str(band.runs),
        f"{band.mean:.3f}{interval(band.low, band.high)}",
        f"{band.iqm:.3f}{interval(band.iqm_low, band.iqm_high)}",
    ]
    if row.level is not None:
        made.append(row.level.text)
    if compared:
        made += (
            ["", "", ""]
            if found is None
            else [
                f"{found.difference:+.3f} ({found.low:+.3f}..{found.high:+.3f})"
                if math.isfinite(found.low)
                else f"{found.difference:+.3f} (no interval)",
                "-" if row.adjusted is None or math.isnan(row.adjusted) else f"{row.adjusted:.3g}",
                f"{found.better:.2f}",
            ]
        )
    notes = [band.note, row.left_out]
    if found is not None and found.pairs < band.runs:
        notes.append(f"paired on {found.pairs} of {band.runs} seeds")
    return [*made, "; ".join(filter(None, notes))]


def interval(low: float, high: float) -> str:
    """Return an interval as text; empty if unknown."""
    known = low < high and math.isfinite(high - low)
    return f" ({low:.3f}..{high:.3f})" if known else ""


def pictures(found: Sequence[Series], folder: Path, name: str, forms: Sequence[str]) -> list[Path]:
    """Write learning curves over seeds, one plot per evaluation and agent; return the files."""
    groups = grouped([each for each in found if len(each.trained) > 1])
    made = []
    for number, group in enumerate(groups, 1):
        stem = "curves" if len(groups) == 1 else f"curves-{number}"
        evaluation, agent = group[0].where, group[0].agent
        paths = [folder / f"{stem}.{form}" for form in forms]
        runs = {each.variant or agent: curve(each) for each in group}
        few = min(len(each.runs) for each in group) < aggregate.ENOUGH
        band = "mean, 95 % by Student's t" if few else "interquartile mean, 95 % bootstrap"
        title = f"{name}: {agent} ({evaluation})"
        curves_over_runs(paths, title, group[0].measure, runs, f"{band}; thin: single seeds")
        made += paths
    return made


def curve(each: Series) -> SeedCurves:
    """Return the curve of a series: the mean for few seeds, the interquartile mean for many."""
    bands = [each.band(trained) for trained in each.trained]
    robust = len(each.runs) >= aggregate.ENOUGH
    return SeedCurves(
        each.trained,
        [band.iqm if robust else band.mean for band in bands],
        [band.iqm_low if robust else band.low for band in bands],
        [band.iqm_high if robust else band.high for band in bands],
        [[run[trained] for trained in each.trained] for run in each.runs.values()],
    )


def _file(text: str) -> ExperimentFile | None:
    """Return the file of an execution; None if another version wrote it."""
    try:
        return msgspec.json.decode(text, type=ExperimentFile)
    except codec.UNREADABLE:
        return None
