"""Interactive charts: their data, and the files that draw them on a page.

uPlot (MIT licence, ``chart/uPlot.LICENSE``) draws; ``plots.js`` adds a filtering legend, a tooltip,
smoothing and a logarithmic axis.  The web page serves these files; a report embeds them.
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
from dovetail_experiments.stages.schedule import StageResult
from dovetail_experiments.statistics.thinned import Thinned

FOLDER = Path(__file__).parent / "chart"
"""Folder of the files, whose names are stable."""
SCRIPTS = ("uPlot.min.js", "plots.js")
STYLES = ("uPlot.css", "plots.css")

POINTS = 300
"""Maximum points of a rating's curve."""

Points = tuple[list[float], list[float | None]]
"""Horizontal and vertical coordinates."""


class ChartLine(Struct, frozen=True):
    """A line of a chart."""

    name: str
    x: list[float]
    y: list[float | None]
    low: list[float | None] = []
    """Lower end of the interval at each point; empty for no interval."""
    high: list[float | None] = []
    runs: list[Points] = []
    """Thin lines that belong to it, such as single seeds."""


class Chart(Struct, frozen=True):
    """A chart."""

    title: str
    across: str
    """Label of the horizontal axis."""
    measure: str
    """Label of the vertical axis."""
    note: str
    """A sentence that explains lines and bands."""
    lines: list[ChartLine]
    tools: bool = True
    """False if there is nothing to smooth, and no logarithmic axis."""


def over_seeds(group: Sequence[Series], running: Sequence[Series] = ()) -> Chart:
    """Return the chart of an agent in an evaluation, with all variants.

    Args:
        group: series over finished runs.
        running: series over unfinished runs, drawn as thin lines only.
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
        f"{first.agent} ({first.where})",
        "learning episodes",
        first.measure,
        f"Thick: {band}; thin: single seeds.",
        lines,
    )


def learning(measure: str, curves: Mapping[str, Sequence[CurvePoint]]) -> Chart:
    """Return the chart of an execution's learning curves, given by label."""
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
    return Chart(
        "Learning curves", "learning episodes", measure, "The band is the 95 % interval.", lines
    )


def plain(
    title: str, across: str, measure: str, lines: Mapping[str, Sequence[tuple[float, float]]]
) -> Chart:
    """Return a chart of lines without intervals, given by label."""
    drawn = [ChartLine(name, *_points(found)) for name, found in lines.items()]
    return Chart(title, across, measure, "", drawn)


def measured(played: Sequence[StageResult]) -> list[Chart]:
    """Return a chart for each measure of the agents, over the learning episodes of all phases."""
    found: dict[str, Thinned] = {}
    order = 0
    for each in played:
        if each.stage.mode == "learn":
            for label, points in each.measures.curves.items():
                found.setdefault(label, Thinned()).extend(points, order)
            order += each.measures.episodes
    names: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for label, mean in found.items():
        names.setdefault(label.partition(" of ")[0], {})[label] = mean.means()
    across = "learning episodes"
    return [plain(name, across, f"{name} (mean)", curves) for name, curves in names.items()]


def rating(name: str, ratings: Sequence[tuple[float, float]]) -> Chart:
    """Return the chart of a player's live rating.

    Args:
        ratings: mean and standard deviation after each unit, in order.
    """
    step = max(1, math.ceil(len(ratings) / POINTS))
    kept = sorted({*range(0, len(ratings), step), len(ratings) - 1})
    low, middle, high = (
        _known(ratings[each][0] + by * ratings[each][1] for each in kept) for by in (-2, 0, 2)
    )
    line = ChartLine(name, [float(each + 1) for each in kept], middle, low, high)
    note = (
        "OpenSkill's mean, with two standard deviations around it. It only decides who meets whom, "
        "and is not on the scale of Elo."
    )
    return Chart(
        "Live rating over time", "matches played", "OpenSkill rating", note, [line], tools=False
    )


def profile(group: Sequence[TaskRow]) -> Chart:
    """Return an agent's performance profiles in an evaluation over tasks, by variant."""
    first = group[0]
    return msgspec.structs.replace(
        plain(
            f"{first.agent} ({first.evaluation}), over {len(first.tasks)} tasks",
            "normalised result",
            "share of runs",
            curves(group),
        ),
        note="The share of runs whose normalised result is above each level.",
    )


def overlaid(charts: Mapping[str, Chart]) -> list[Chart]:
    """Return charts that overlay several executions, given by name: one for each shared title and
    measure."""
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
    """Return a chart as JSON that is safe inside an HTML element."""
    return msgspec.json.encode(chart).decode().replace("<", "\\u003c")


def _points(found: Iterable[tuple[float, float]]) -> Points:
    pairs = list(found)
    return [float(x) for x, _ in pairs], _known(y for _, y in pairs)


def _known(values: Iterable[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in map(float, values)]
