"""Results over tasks: each set of values by its normalised scores on all tasks of a sweep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from dovetail_experiments.files.sweep import Objective
from dovetail_experiments.reports import aggregate
from dovetail_experiments.reports.aggregate import Matrix
from dovetail_experiments.reports.over_seeds import Series, grouped, interval
from dovetail_experiments.reports.plot import profiles
from dovetail_experiments.reports.table import listing

Scales = Mapping[str, tuple[float, float]]
"""Results that count as 0 and as 1, by task."""

LEVELS = [round(0.02 * number, 2) for number in range(51)]
"""Levels at which performance profiles are drawn."""
CAPTION = (
    "IQM: interquartile mean of normalised results, 95 % by stratified bootstrap; gap: mean "
    "distance to 1; P: probability that a run is better than one of the first variant, mean over "
    "tasks"
)


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A set of values, or a method, over all tasks."""

    variant: str
    evaluation: str
    agent: str
    tasks: tuple[str, ...]
    scores: Matrix
    """Normalised results, shape (seeds, tasks)."""
    iqm: float
    iqm_low: float
    iqm_high: float
    """Upper end of the interval, by stratified bootstrap; not finite for fewer than
    ``aggregate.FEW`` seeds."""
    gap: float
    """Optimality gap."""
    profile: list[float]
    """Share of runs above each of ``LEVELS``."""
    better: float
    """Probability that a run beats one of the first variant; NaN for the first itself."""
    better_low: float
    better_high: float
    scales: dict[str, tuple[float, float]]
    """Results that counted as 0 and as 1, by task."""

    @property
    def note(self) -> str:
        """Note to print beside it."""
        return "few seeds: no interval" if len(self.scores) < aggregate.FEW else ""


def scale(of: Sequence[Series], given: Scales) -> tuple[float, float]:
    """Return the results of a task that count as 0 and as 1.

    They come from the file, else from the range of a score or of the runs' returns.
    """
    if of[0].task in given:
        return given[of[0].task]
    if all(each.measure == "score" for each in of):
        return 0.0, 1.0
    values = [value for each in of for value in each.final if math.isfinite(value)]
    return (min(values), max(values)) if values else (0.0, 1.0)


def normalised(values: Sequence[float], ends: tuple[float, float]) -> list[float]:
    """Return results rescaled so that ``ends`` become 0 and 1.

    >>> normalised([5.0, 10.0], (0.0, 10.0))
    [0.5, 1.0]
    """
    low, high = ends
    return [(value - low) / ((high - low) or 1.0) for value in values]


def rows(found: Sequence[Series], given: Scales) -> list[list[TaskRow]]:
    """Return results over tasks, a list for each evaluation and agent; the first variant is the
    baseline.

    Only variants played on all tasks and seeds are included.
    """
    groups: dict[tuple[str, str], dict[str, dict[str, Series]]] = {}
    for group in grouped([each for each in found if each.task]):
        for each in group:
            by = groups.setdefault((each.evaluation, each.agent), {})
            by.setdefault(each.variant, {})[each.task] = each
    made = [_group(*key, variants, given) for key, variants in groups.items()]
    return [each for each in made if each]


def _group(
    evaluation: str, agent: str, variants: Mapping[str, Mapping[str, Series]], given: Scales
) -> list[TaskRow]:
    tasks = tuple(dict.fromkeys(task for by in variants.values() for task in by))
    if len(tasks) < 2:
        return []
    ends = {
        task: scale([by[task] for by in variants.values() if task in by], given) for task in tasks
    }
    made: list[TaskRow] = []
    for variant, by in variants.items():
        if set(by) != set(tasks):
            continue
        seeds = [seed for seed in by[tasks[0]].runs if all(seed in by[t].runs for t in tasks)]
        if not seeds:
            continue
        columns = []
        for task in tasks:
            last = by[task].trained[-1]
            columns.append(normalised([by[task].runs[seed][last] for seed in seeds], ends[task]))
        scores = np.asarray(columns, float).T
        enough = len(seeds) >= aggregate.FEW
        low, high = aggregate.bootstrap(scores, aggregate.iqm) if enough else (math.nan, math.nan)
        better, least, most = math.nan, math.nan, math.nan
        if made:
            better = aggregate.improvement(scores, made[0].scores)
            if min(len(seeds), len(made[0].scores)) >= aggregate.FEW:
                least, most = aggregate.improvement_band(scores, made[0].scores)
        made.append(
            TaskRow(
                variant=variant,
                evaluation=evaluation,
                agent=agent,
                tasks=tasks,
                scores=scores,
                iqm=aggregate.iqm(scores),
                iqm_low=low,
                iqm_high=high,
                gap=aggregate.optimality_gap(scores),
                profile=aggregate.profile(scores, LEVELS),
                better=better,
                better_low=least,
                better_high=most,
                scales=ends,
            )
        )
    return made


def tables(groups: Sequence[Sequence[TaskRow]]) -> list[Table]:
    """Return a table for each evaluation and agent; the last one explains the columns."""
    made = []
    for group in groups:
        first = group[0]
        ends = ", ".join(f"{task} {low:g}..{high:g}" for task, (low, high) in first.scales.items())
        table = listing(
            Text(
                f"{first.agent} ({first.evaluation}), over {len(first.tasks)} tasks: normalised "
                "results",
                "table.title",
            ),
            f"{CAPTION}\n0 and 1 stand for: {ends}",
        )
        table.add_column("variant")
        names = ["seeds", "IQM (95 %)", "gap", *(["P (95 %)"] if len(group) > 1 else [])]
        for name in names:
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("")
        for row in group:
            cells = [
                row.variant or "-",
                str(len(row.scores)),
                f"{row.iqm:.3f}{interval(row.iqm_low, row.iqm_high)}",
                f"{row.gap:.3f}",
            ]
            if len(group) > 1:
                known = math.isfinite(row.better)
                shown = f"{row.better:.2f}{interval(row.better_low, row.better_high)}"
                cells.append(shown if known else "")
            table.add_row(*map(Text, [*cells, row.note]))
        made.append(table)
    return made


def plain(row: TaskRow) -> dict[str, Any]:
    """Return a row as plain values; unknown ones are None."""
    numbers = {
        "iqm": row.iqm,
        "iqm_low": row.iqm_low,
        "iqm_high": row.iqm_high,
        "optimality_gap": row.gap,
        "probability_of_improvement": row.better,
        "probability_low": row.better_low,
        "probability_high": row.better_high,
    }
    return {
        "evaluation": row.evaluation,
        "agent": row.agent,
        "variant": row.variant,
        "tasks": {task: list(ends) for task, ends in row.scales.items()},
        "seeds": len(row.scores),
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "profile": dict(zip(map(str, LEVELS), row.profile, strict=True)),
        "note": row.note,
    }


def curves(group: Sequence[TaskRow]) -> dict[str, list[tuple[float, float]]]:
    """Return the performance profiles of a group, by variant."""
    return {row.variant or row.agent: list(zip(LEVELS, row.profile, strict=True)) for row in group}


def pictures(
    groups: Sequence[Sequence[TaskRow]], folder: Path, name: str, forms: Sequence[str]
) -> list[Path]:
    """Write performance profiles, one plot for each evaluation and agent; return the files."""
    made = []
    for number, group in enumerate(groups, 1):
        stem = "profile" if len(groups) == 1 else f"profile-{number}"
        paths = [folder / f"{stem}.{form}" for form in forms]
        first = group[0]
        title = f"{name}: {first.agent} ({first.evaluation}), {len(first.tasks)} tasks"
        profiles(paths, title, curves(group))
        made += paths
    return made


# -- searches --------------------------------------------------------------------------------------


def worth(found: Sequence[Series], aim: Objective, given: Scales) -> float:
    """Return the objective of a search: the mean over runs and tasks, tasks being normalised."""
    values = []
    for each in found:
        if (each.evaluation, each.agent) == (aim.evaluation, aim.agent):
            runs = each.areas if aim.over == "area" else each.final
            ends = given.get(each.task, (0.0, 1.0))
            values.append(statistics.fmean(normalised(runs, ends)))
    return statistics.fmean(values)


def best(found: Sequence[Series], aim: Objective | None, given: Scales) -> Text | None:
    """Return a line with the best set of values of a search; None without a search."""
    sets: dict[str, list[Series]] = {}
    for each in found:
        if aim and (each.evaluation, each.agent) == (aim.evaluation, aim.agent):
            sets.setdefault(each.variant, []).append(each)
    if aim is None or not sets:
        return None
    played = {variant: sum(len(each.runs) for each in of) for variant, of in sets.items()}
    values = {  # only sets that were not stopped early
        variant: worth(each, aim, given)
        for variant, each in sets.items()
        if played[variant] == max(played.values())
    }
    top = max(values, key=values.__getitem__)
    what = sets[top][0].measure if len(sets[top]) == 1 else "normalised result"
    what = f"mean {what} over its training" if aim.over == "area" else what
    return Text(
        f"best of {len(sets)} sets for {aim.agent} ({aim.evaluation}): {top} "
        f"({what} {values[top]:.3f}; the best of many looks better than it is: play it again "
        "with other seeds)"
    )
