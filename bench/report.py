"""What the bench found: a table on a terminal and in Markdown, a picture, and a line of history."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import matplotlib
import zmq
from rich import box
from rich.table import Table

from bench.driven import Rates
from bench.groups import Group, Least
from dovetail._version import __version__

LIBRARIES = ("dovetail", "pyzmq", "msgspec", "numpy", "pettingzoo")
COLUMNS = ("case", "turns/s", "reference", "turns/s", "ratio", "spread", "pinned", "bar", "")


@dataclass(frozen=True)
class Figure:
    """What was measured, several times."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """Return the median and the spread of ``values``."""
        return cls(statistics.median(values), min(values), max(values), len(values))


@dataclass(frozen=True)
class Result:
    """A row."""

    case: str
    ours: float | None
    reference: str
    theirs: float | None
    ratio: Figure | None
    """Of ours to the reference's, round by round; or of ours to what is the least."""
    pinned: Figure | None
    """The same with all processes on one core."""
    bar: float | None
    why: str = ""
    """Why there is no ratio."""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None if there is none, or no figure."""
        return None if self.bar is None or self.ratio is None else self.ratio.median >= self.bar

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        ratio = self.ratio
        verdict = {None: self.why, True: "met", False: "not met"}[self.met]
        return (
            self.case,
            _number(self.ours),
            self.reference,
            _number(self.theirs),
            "" if ratio is None else f"{ratio.median:.2f}",
            "" if ratio is None or ratio.count < 2 else f"{ratio.low:.2f} to {ratio.high:.2f}",
            "" if self.pinned is None else f"{self.pinned.median:.2f}",
            "" if self.bar is None else f"{self.bar:g}",
            verdict,
        )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def results(group: Group, rates: Rates) -> list[Result]:
    """Return the rows of a group."""
    found = []
    for row in group.rows:
        why = "; ".join(
            f"not measured: {name}: {rates.failed[name]}"
            for name in ([row.ours] if isinstance(row, Least) else [row.ours, row.reference])
            if name in rates.failed
        )
        if isinstance(row, Least):
            reference, bar = f"at least {row.rate:,.0f}", 1.0
            free, pinned = (
                [each / row.rate for each in column.get(row.ours, [])]
                for column in (rates.free, rates.pinned)
            )
            theirs: list[float] = []
        else:
            reference, bar = row.reference, row.ratio  # type: ignore[assignment]
            free, pinned = (
                [
                    a / b
                    for a, b in zip(
                        column.get(row.ours, []), column.get(reference, []), strict=False
                    )
                ]
                for column in (rates.free, rates.pinned)
            )
            theirs = rates.free.get(reference, [])
        found.append(
            Result(
                row.case,
                _median(rates.free.get(row.ours, [])),
                reference,
                _median(theirs),
                Figure.of(free) if free else None,
                Figure.of(pinned) if pinned else None,
                bar,
                why,
            )
        )
    return found


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def for_terminal(rows: Sequence[Result]) -> Table:
    """Return the table for a terminal."""
    table = Table(box=box.SIMPLE_HEAD)
    for number, column in enumerate(COLUMNS):
        text = number in (0, 2, len(COLUMNS) - 1)
        table.add_column(column, justify="left" if text else "right", overflow="fold")
    for row in rows:
        table.add_row(*row.cells())
    return table


def machine() -> list[str]:
    """Return what was measured on which machine, in lines."""
    processor = platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    found = []
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return [
        f"{len(os.sched_getaffinity(0))} cores, {processor}, Linux {platform.release()}",
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"libzmq {zmq.zmq_version()}, {', '.join(found)}",
    ]


def as_markdown(
    rows: Sequence[Result], notes: Sequence[str], command: str, picture: str, curves: str = ""
) -> str:
    """Return the whole report as Markdown."""
    dashes = ["---" if n in (0, 2, len(COLUMNS) - 1) else "---:" for n in range(len(COLUMNS))]
    lines = [
        "# Benchmark results",
        "",
        f"Written by `{command}`; do not edit. Subjects of a group play by turns. Rates are medians; a ratio is the",
        "median over the rounds, with the lowest and highest. *Pinned*: the ratio with all processes of each subject on one",
        "core. The bar is the target for the unpinned ratio.",
        "",
        *([f"![Ratios as shares of their bars]({picture})", ""] if picture else []),
        *([f"![Turns a second over size and matches]({curves})", ""] if curves else []),
        *(f"- {line}" for line in (*machine(), *notes)),
        "",
        *(f"| {' | '.join(cells)} |" for cells in (COLUMNS, dashes)),
        *(f"| {' | '.join(row.cells())} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def draw(rows: Sequence[Result], path: Path) -> None:
    """Draw the rows that have a bar: each ratio as a share of its bar, with its spread."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "dovetail"
    shown = [
        (row, row.ratio, row.bar) for row in rows if row.ratio is not None and row.bar is not None
    ]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.3 * len(shown)), layout="constrained")
    for place, (row, ratio, bar) in enumerate(reversed(shown)):
        share = ratio.median / bar
        colour = "#2a7f62" if row.met else "#c0562f"
        axes.barh(place, share, color=colour, height=0.6)
        axes.plot([ratio.low / bar, ratio.high / bar], [place, place], color="black", linewidth=1)
        axes.annotate(
            f" {ratio.median:.2f} of {bar:g}" + ("" if row.met else ", not met"),
            (max(share, ratio.high / bar), place),
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    names = [f"{row.case} / {row.reference}" for row, _, _ in reversed(shown)]
    axes.set_yticks(range(len(shown)), names, fontsize=8)
    axes.axvline(1.0, color="black", linewidth=1, linestyle="--")
    axes.margins(x=0.2)
    axes.set_xlim(left=0)
    axes.set_xlabel("share of the bar; lines from the lowest to the highest round")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


CURVES = (
    (r"1 match, ipc, observations of ([\d,]+) bytes(.*)", "bytes of an observation, 1 match"),
    (r"([\d,]+) match(?:es)?, (?:tcp|ipc)(, compiled)?", "matches, observations of 8 bytes"),
)
"""Pattern of the cases that one picture is drawn from, with the number on its axis, and its name."""


def draw_curves(rows: Sequence[Result], path: Path) -> None:
    """Draw turns per second over the size of an observation, and over the number of matches."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "dovetail"
    figure, both = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharey=True)
    for axes, (pattern, name) in zip(both, CURVES, strict=True):
        curves: dict[str, dict[int, float]] = {}
        for row in rows:
            if (found := re.fullmatch(pattern, row.case)) is None:
                continue
            at = int(found[1].replace(",", ""))
            for label, rate in (
                (f"Dovetail{found[2] or ''}", row.ours),
                (row.reference, row.theirs),
            ):
                if rate is not None:
                    curves.setdefault(label, {})[at] = rate
        for label, points in sorted(curves.items()):
            style = {"linewidth": 2.5} if label.startswith("Dovetail") else {"linestyle": "--"}
            axes.plot(*zip(*sorted(points.items()), strict=True), marker="o", label=label, **style)
        axes.set(xscale="log", yscale="log", xlabel=name)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    both[0].set_ylabel("turns a second")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def remember(rows: Sequence[Result], path: Path) -> None:
    """Write the line of this version, in the place of one that is there."""
    line: dict[str, Any] = {
        "version": __version__,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "rows": [
            {
                "case": row.case,
                "reference": row.reference,
                "turns_per_second": row.ours and round(row.ours),
                "ratio": row.ratio and round(row.ratio.median, 3),
                "pinned": row.pinned and round(row.pinned.median, 3),
                "bar": row.bar,
            }
            for row in rows
        ],
    }
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [each for each in before if json.loads(each)["version"] != __version__]
    path.write_text("\n".join([*kept, json.dumps(line)]) + "\n", encoding="utf-8")
