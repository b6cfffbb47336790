"""Learning curves of a row's trainings, drawn below its table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail_experiments.reports import plot
from dovetail_experiments.statistics import Estimate
from dovetail_studies.means import mean

COLUMNS = 2
"""Number of panels side by side."""
FEW = 4
"""Maximum number of curves whose final rise the caption states."""
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans"],
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
}
"""Matplotlib settings of the pictures. Text stays text, and no ticks are drawn beside the grid,
which cuts the file to a third."""
OURS = "ours"
"""Name of a panel's only curve."""
PARTS = 5
"""Number of parts of a training; the last part's gain over the one before shows the trend."""


@dataclass(frozen=True)
class LearningCurve:
    """A figure of several trainings, measured at the same points.

    Args:
        name: the name in the legend.
        across: the points, in ascending order.
        runs: a list of values for each seed, as long as ``across``.
        study: true for the study's own curve, which is one training.
    """

    name: str
    across: Sequence[float]
    runs: Sequence[Sequence[float]]
    study: bool = False


@dataclass(frozen=True)
class PrintedMark:
    """A figure printed in the study: a dotted line, or a cross if both coordinates are known."""

    name: str
    """Name in the legend; empty to leave it out."""
    value: float | None
    across: float | None = None
    of: str = ""
    """Name of the curve whose colour the mark takes."""


@dataclass(frozen=True)
class Panel:
    """Curves over the same axes."""

    title: str
    measure: str
    """Measured quantity, with its unit."""
    curves: Sequence[LearningCurve]
    marks: Sequence[PrintedMark] = ()
    limits: tuple[float, float] | None = None
    """Range of its values."""
    log: bool = False
    """True for a logarithmic axis."""
    thin: bool = False
    """True to draw a thin line per seed, for seeds that lie far apart, not a band around the
    mean."""


@dataclass(frozen=True)
class Picture:
    """The panels of a row."""

    panels: Sequence[Panel]
    across: str
    """Quantity on the horizontal axis."""
    text: str
    """Meaning of the points and of the study's figures, for the caption."""

    @property
    def curves(self) -> list[LearningCurve]:
        """All curves of our trainings."""
        return [each for panel in self.panels for each in panel.curves if not each.study]


def over_seeds(curve: LearningCurve, limits: tuple[float, float] | None) -> list[Estimate]:
    """Return the mean over seeds at each point, its interval clipped to the limits."""
    low, high = limits or (-math.inf, math.inf)
    found = [mean(values) for values in zip(*curve.runs, strict=True)]
    return [
        Estimate(each.value, max(low, each.low), min(high, each.high)) if each.known else each
        for each in found
    ]


def rise(curve: LearningCurve) -> Estimate:
    """Return the last fifth's mean minus that of the fifth before, over seeds."""
    parts = [[float(np.mean(part)) for part in np.array_split(run, PARTS)] for run in curve.runs]
    return mean([last - before for *_, before, last in parts])


def caption(picture: Picture) -> str:
    """Return a caption that explains a picture's axes, lines, bands and trends."""
    measures = list(dict.fromkeys(panel.measure for panel in picture.panels))
    seeds = sorted({len(each.runs) for each in picture.curves})
    number = " to ".join(dict.fromkeys(str(each) for each in (seeds[0], seeds[-1])))
    axes = f"Vertical axis: {'; '.join(measures)}; horizontal axis: {picture.across}."
    words = [f"{axes} {picture.text}"]
    count = f"{number} seed{'s' * (number != '1')}"
    bands = [panel for panel in picture.panels if not panel.thin]
    if number == "1":
        words.append("Lines are of one seed.")
    elif not bands:
        words.append(f"Thin lines are the {count}, thick ones their means.")
    else:
        thin = "; where there is none, thin lines are the seeds"
        words.append(
            f"Lines are means over {count}, bands their 95 % "
            f"intervals{thin * (len(bands) < len(picture.panels))}."
        )
    few = len(picture.panels) == 1 and len(picture.curves) <= FEW
    if few and not picture.panels[0].log and number != "1":
        rises = "; ".join(_rise(each) for each in picture.curves if len(each.across) >= 2 * PARTS)
        words += [f"Change of the mean from the fourth fifth to the last: {rises}."] * bool(rises)
    return " ".join(words)


def _rise(curve: LearningCurve) -> str:
    found = rise(curve)
    bounds = f" ({found.low:+z.1f}..{found.high:+z.1f})" if found.known else ""
    name = "" if curve.name == OURS else f"{curve.name} "
    return f"{name}{found.value:+z.1f}{bounds}"


def alt(title: str, picture: Picture) -> str:
    """Return the alternative text of a picture."""
    named = [*(each.title for each in picture.panels), *(each.name for each in picture.curves)]
    names = ", ".join(each for each in dict.fromkeys(named) if each and each != OURS)
    return f"{title}, curves over {picture.across}{names and ': '}{names}"


def draw(picture: Picture, path: Path) -> None:
    """Write a picture as an SVG file; equal pictures give equal files.

    The background is white, which keeps the text legible on dark pages.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    count = len(picture.panels)
    columns = COLUMNS if count % COLUMNS == 0 else count  # leave no place empty
    rows = -(-count // columns)
    alike = len({(each.measure, each.log) for each in picture.panels}) == 1
    with matplotlib.rc_context(STYLE):
        figure = Figure((8.0, 4.2) if count == 1 else (9.0, 0.6 + 2.4 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(rows, columns, sharex=True, sharey=alike, squeeze=False)
        named: list[str] = []
        for axes, panel in zip(grid.flat, picture.panels, strict=True):
            _panel(axes, panel, count <= COLUMNS)
            axes.locator_params(axis="x", nbins=6 if count <= COLUMNS else 4)
            names = axes.get_legend_handles_labels()[1]
            if count == 1:
                figure.legend(frameon=False, loc="outside lower center", ncols=3, fontsize="small")
            elif names != named:
                axes.legend(frameon=False, loc="best", fontsize="small")
            named = names
        for axes in grid[-1]:
            axes.set_xlabel(picture.across)
        for axes in grid[:, 1:].flat if alike else ():
            axes.set_ylabel("")
        path.parent.mkdir(parents=True, exist_ok=True)
        plot.save(figure, [path])
    path.write_text(_short(path.read_text(encoding="utf-8")), encoding="utf-8")


def _panel(axes: Any, panel: Panel, dotted: bool) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter

    colours = {}
    for curve in panel.curves:
        found = over_seeds(curve, panel.limits)
        given = {"ls": "--", "color": "0.35"} if curve.study else {"lw": 2.0}
        dots = {"marker": "o", "ms": 3} if dotted and len(curve.across) <= 25 else {}
        values = [each.value for each in found]
        (line,) = axes.plot(curve.across, values, label=curve.name, **given, **dots)
        colours[curve.name] = line.get_color()
        if panel.thin and len(curve.runs) > 1:
            for run in curve.runs:
                axes.plot(curve.across, run, color=line.get_color(), alpha=0.5, lw=0.7)
        elif all(each.known for each in found):
            low, high = [each.low for each in found], [each.high for each in found]
            axes.fill_between(
                curve.across, low, high, color=line.get_color(), alpha=0.2, linewidth=0
            )
    for mark in panel.marks:
        colour = colours.get(mark.of, "0.35")
        given = {"color": colour, "ls": ":", "lw": 1.2, "label": mark.name or None}
        if mark.value is None:
            axes.axvline(mark.across, **given)
            continue
        axes.axhline(mark.value, **given)
        if mark.across is not None:
            axes.plot([mark.across], [mark.value], marker="x", ms=7, color=colour, clip_on=False)
    axes.set_title(panel.title, fontsize="medium")
    axes.set_ylabel(panel.measure)
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    if panel.log:
        axes.set_yscale("log", nonpositive="mask")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))
    plot.plain(axes)


_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r"(\d+\.\d)\d+")
_STYLE = re.compile(r'style="([^"]*)"')
_EMPTY = re.compile(r'<g id="\w+"/>|<!--.*?-->| transform="rotate\(-0 [^"]*"')


def _short(text: str) -> str:
    """Return an SVG file with coordinates rounded to one decimal. Repeated styles and redundant
    attributes are removed."""
    styles: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return f'class="{styles.setdefault(found[1], f"s{len(styles)}")}"'

    def tag(found: re.Match[str]) -> str:
        short = " ".join(_STYLE.sub(named, _NUMBER.sub(r"\1", found[0])).split())
        # Coordinates that follow a move without a letter form a line.
        return short if " C " in short else short.replace(" L ", " ")

    head, first, body = text.partition('<g id="figure_1">')
    body = _TAG.sub(tag, first + _EMPTY.sub("", body))
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    return re.sub(r"\n\s+", "\n", head.replace("</style>", f"{rules}</style>") + body)


def means(count: int, every: float, of: int) -> Iterator[float]:
    """Return the positions of the means of groups of ``of`` tests, of ``count`` tests in all.

    >>> list(means(12, 10, of=5))
    [30.0, 80.0, 115.0]
    """
    for first in range(0, count, of):
        last = min(first + of, count)
        yield every * (first + 1 + last) / 2
