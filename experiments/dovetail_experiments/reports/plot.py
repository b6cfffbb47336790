"""Learning curves as image files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail_experiments.reports.output import write
from dovetail_experiments.statistics import Estimate


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """An estimate after a number of learning episodes."""

    trained: int
    estimate: Estimate


def learning_curves(
    paths: Sequence[Path], title: str, measure: str, curves: Mapping[str, Sequence[CurvePoint]]
) -> None:
    """Write plots with a line and a 95 % band for each curve.

    Args:
        paths: the files to write: .png, .svg or .pdf.
        measure: the label of the estimates; ``win rate`` is shown from 0 to 100 %.
        curves: points in ascending order, by label.
    """
    figure, axes = _axes()
    for label, points in curves.items():
        x = [point.trained for point in points]
        (line,) = axes.plot(
            x, [p.estimate.value for p in points], marker="o", ms=4, label=_label(label)
        )
        axes.fill_between(
            x,
            [p.estimate.low for p in points],
            [p.estimate.high for p in points],
            color=line.get_color(),
            alpha=0.18,
            linewidth=0,
        )
    _finish(axes, title, f"{measure} (band: 95 %)", share=measure == "win rate")
    save(figure, paths)


@dataclass(frozen=True, slots=True)
class SeedCurves:
    """Learning curves of one method over seeds, at the same numbers of episodes."""

    trained: Sequence[int]
    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    runs: Sequence[Sequence[float]]
    """Curve of each seed."""


def curves_over_runs(
    paths: Sequence[Path], title: str, measure: str, curves: Mapping[str, SeedCurves], band: str
) -> None:
    """Write plots with a line and a band for each method, and a thin line for each run.

    Args:
        paths, title: as for ``learning_curves``.
        measure: the label of the values; ``score`` is shown from 0 to 1.
        curves: the curves by label.
        band: an explanation of lines and bands.
    """
    figure, axes = _axes()
    for label, each in curves.items():
        (line,) = axes.plot(each.trained, each.middle, lw=2, label=_label(label))
        for run in each.runs:
            axes.plot(each.trained, run, color=line.get_color(), alpha=0.35, lw=0.6)
        finite = [
            low > -1e300 and high < 1e300 for low, high in zip(each.low, each.high, strict=True)
        ]
        axes.fill_between(
            each.trained,
            each.low,
            each.high,
            where=finite,
            color=line.get_color(),
            alpha=0.18,
            linewidth=0,
        )
    _finish(axes, title, f"{measure} ({band})", share=measure == "score")
    save(figure, paths)


def profiles(
    paths: Sequence[Path], title: str, curves: Mapping[str, Sequence[tuple[float, float]]]
) -> None:
    """Write plots with the performance profile of each method.

    Args:
        paths, title: as for ``learning_curves``.
        curves: levels with the share of runs above them, by label.
    """
    figure, axes = _axes()
    for label, points in curves.items():
        x, y = zip(*points, strict=True)
        axes.plot(x, y, lw=2, label=_label(label))
    _finish(axes, title, "runs above it", share=True, across="normalised result")
    save(figure, paths)


def save(figure: Any, paths: Sequence[Path]) -> None:
    """Write a figure; equal figures give identical files."""
    import matplotlib

    for path in paths:
        image = io.BytesIO()
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
        with matplotlib.rc_context({"svg.hashsalt": "dovetail"}):
            figure.savefig(image, dpi=150, metadata=metadata, format=path.suffix[1:])
        write(path, image.getvalue())
        figure.set_layout_engine("none")  # done once, as it takes as long as drawing


def _axes() -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _finish(
    axes: Any, title: str, measure: str, *, share: bool, across: str = "learning episodes"
) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set_title(title, parse_math=False)
    axes.set_xlabel(across)
    axes.set_ylabel(measure, parse_math=False)
    if share:
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    plain(axes)
    handles, labels = axes.get_legend_handles_labels()
    legend = axes.legend(handles, labels, frameon=False, loc="best")
    for each in legend.get_texts():  # two $ in a name would make a formula
        each.set_parse_math(False)


def _label(name: str) -> str:
    """Return a name as a label; matplotlib hides labels that start with an underscore."""
    return f" {name}" if name.startswith("_") else name


def plain(axes: Any) -> None:
    """Give axes a light grid and no frame."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
