"""Learning curves as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dovetail.experiments.statistics import Estimate


@dataclass(frozen=True, slots=True)
class Point:
    """An estimate after so many learning episodes."""

    trained: int
    estimate: Estimate


def learning_curves(
    path: Path, title: str, measure: str, curves: Mapping[str, Sequence[Point]]
) -> None:
    """Write a PNG with a line and a 95 % band for each curve.

    Args:
        path: where to.
        title: above the picture.
        measure: what the estimates are; ``win rate`` is shown from 0 to 100 %.
        curves: points in rising order by label.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for label, points in curves.items():
        x = [point.trained for point in points]
        (line,) = axes.plot(x, [p.estimate.value for p in points], marker="o", ms=4, label=label)
        axes.fill_between(
            x,
            [p.estimate.low for p in points],
            [p.estimate.high for p in points],
            color=line.get_color(),
            alpha=0.18,
            linewidth=0,
        )
    axes.set_title(title)
    axes.set_xlabel("learning episodes")
    axes.set_ylabel(f"{measure} (band: 95 %)")
    if measure == "win rate":
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best")
    figure.savefig(path, dpi=150)
