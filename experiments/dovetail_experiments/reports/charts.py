"""Interactive charts: their data, and the files that draw it on a page.

uPlot (MIT licence, ``chart/uPlot.LICENSE``) draws; ``plots.js`` gives it a legend that filters, a
tip, smoothing and a logarithmic axis.  The page serves the files, a report contains them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from dovetail_experiments.reports import aggregate
from dovetail_experiments.reports.over_seeds import Series, curve
from dovetail_experiments.reports.over_tasks import TaskRow, curves
from dovetail_experiments.reports.plot import CurvePoint

FOLDER = Path(__file__).parent / "chart"
"""The files, under names that stay."""
SCRIPTS = ("uPlot.min.js", "plots.js")
STYLES = ("uPlot.css", "plots.css")

Points = tuple[list[float], list[float | None]]
"""Places and values."""


class ChartLine(Struct, frozen=True):
    """A line of a chart."""

    name: str
    x: list[float]
    y: list[float | None]
    low: list[float | None] = []
    """The lower end of the interval at each place; empty for none."""
    high: list[float | None] = []
    runs: list[Points] = []
    """Thin lines that belong to it, such as single seeds."""


class Chart(Struct, frozen=True):
    """A chart."""

    title: str
    across: str
    """The name of the axis to the right."""
    measure: str
    """The name of the axis upwards."""
    note: str
    """A sentence on what lines and bands are."""
    lines: list[ChartLine]


def over_seeds(group: Sequence[Series], running: Sequence[Series] = ()) -> Chart:
    """Return the chart of an agent in an evaluation, with all variants.

    Args:
        group: over the runs that are finished.
        running: over those that are not, which are thin lines only.
    """
    lines = []
    begun = {each.variant: each for each in running}
    done = {each.variant: each for each in group}
    first = [*group, *running][0]
    for variant in dict.fromkeys([*done, *begun]):
        both = [each[variant] for each in (done, begun) if variant in each]
        runs = [_points(sorted(run.items())) for each in both for run in each.runs.values()]
        name = variant or first.agent
        if variant not in done or not done[variant].trained:
            lines.append(ChartLine(name, [], [], runs=runs))
            continue
        found = curve(done[variant])
        lines.append(
            ChartLine(
                name,
                [float(each) for each in found.trained],
                _known(found.middle),
                _known(found.low),
                _known(found.high),
                runs,
            )
        )
    few = min((len(each.runs) for each in group), default=0) < aggregate.ENOUGH
    band = "mean, with its 95 % interval by Student's t" if few else "interquartile mean, bootstrap"
    return Chart(
        f"{first.agent} in {first.where}",
        "learning episodes",
        first.measure,
        f"Thick: {band}; thin: single seeds.",
        lines,
    )


def learning(measure: str, curves: Mapping[str, Sequence[CurvePoint]]) -> Chart:
    """Return the chart of the learning curves of an execution, by label."""
    lines = [
        ChartLine(
            label,
            [float(each.trained) for each in points],
            _known(each.estimate.value for each in points),
            _known(each.estimate.low for each in points),
            _known(each.estimate.high for each in points),
        )
        for label, points in curves.items()
    ]
    return Chart("Learning curves", "learning episodes", measure, "The band is 95 %.", lines)


def plain(
    title: str, across: str, measure: str, lines: Mapping[str, Sequence[tuple[float, float]]]
) -> Chart:
    """Return a chart of lines without intervals, by label."""
    drawn = [ChartLine(name, *_points(found)) for name, found in lines.items()]
    return Chart(title, across, measure, "", drawn)


def profile(group: Sequence[TaskRow]) -> Chart:
    """Return the performance profiles of an agent in an evaluation over tasks, by variant."""
    first = group[0]
    return msgspec.structs.replace(
        plain(
            f"{first.agent} in {first.evaluation}, over {len(first.tasks)} tasks",
            "normalised result",
            "share of runs",
            curves(group),
        ),
        note="The share of runs whose normalised result is above each level.",
    )


def overlaid(charts: Mapping[str, Chart]) -> list[Chart]:
    """Return charts with the lines of several executions, by their names: one for each title and
    measure that they share."""
    found: dict[tuple[str, str, str], Chart] = {}
    for name, each in charts.items():
        key = each.title, each.across, each.measure
        lines = [
            msgspec.structs.replace(
                line, name=f"{name}: {line.name}" if len(each.lines) > 1 else name
            )
            for line in each.lines
        ]
        before = found.get(key)
        found[key] = msgspec.structs.replace(
            each, lines=lines if before is None else [*before.lines, *lines]
        )
    return list(found.values())


def written(chart: Chart) -> str:
    """Return a chart as JSON that may stand in an element of a page."""
    return msgspec.json.encode(chart).decode().replace("<", "\\u003c")


def _points(found: Iterable[tuple[float, float]]) -> Points:
    pairs = list(found)
    return [float(x) for x, _ in pairs], _known(y for _, y in pairs)


def _known(values: Iterable[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in map(float, values)]
