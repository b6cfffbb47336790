"""The bench's results: a Markdown table, a plot, and a line of history."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import matplotlib
import zmq

from bench.driven import Rates
from bench.groups import Bar, Group
from dovetail._version import __version__

LIBRARIES = ("dovetail", "pyzmq", "msgspec", "numpy", "pettingzoo")
COLUMNS = ("case", "turns/s", "reference", "turns/s", "ratio", "spread", "pinned", "bar", "")


@dataclass(frozen=True)
class Result:
    """A row."""

    case: str
    ours: float | None
    reference: str
    theirs: float | None
    ratio: Sequence[float]
    """Ratio of Dovetail's rate to the reference's, one for each round; empty if there is none."""
    pinned: Sequence[float]
    """Ratios with all processes on one core."""
    bar: float | None
    why: str = ""
    """Reason why there is no ratio."""

    @property
    def met(self) -> bool | None:
        """Return whether the target is met; None without a target or a figure."""
        if self.bar is None or not self.ratio:
            return None
        return statistics.median(self.ratio) >= self.bar

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        ratio = self.ratio
        verdict = {None: self.why, True: "met", False: "not met"}[self.met]
        return (
            self.case,
            _number(self.ours),
            self.reference,
            _number(self.theirs),
            _number(_median(ratio), ".2f"),
            f"{min(ratio):.2f} to {max(ratio):.2f}" if len(ratio) > 1 else "",
            _number(_median(self.pinned), ".2f"),
            _number(self.bar, "g"),
            verdict,
        )


def _number(value: float | None, form: str = ",.0f") -> str:
    return "" if value is None else format(value, form)


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _ratios(row: Bar, rates: Mapping[str, list[float]]) -> list[float]:
    ours, least = rates.get(row.ours, []), row.reference
    theirs = rates.get(least, []) if isinstance(least, str) else [least] * len(ours)
    return [a / b for a, b in zip(ours, theirs, strict=False)]


def results(group: Group, rates: Rates) -> list[Result]:
    """Return the rows of a group."""
    found = []
    for row in group.rows:
        name = row.reference
        reference = name if isinstance(name, str) else f"at least {name:,.0f}"
        failed = [each for each in (row.ours, reference) if each in rates.failed]
        found.append(
            Result(
                row.case,
                _median(rates.free.get(row.ours, [])),
                reference,
                _median(rates.free.get(reference, [])),
                _ratios(row, rates.free),
                _ratios(row, rates.pinned),
                row.ratio,
                "; ".join(f"not measured: {each}: {rates.failed[each]}" for each in failed),
            )
        )
    return found


def machine() -> list[str]:
    """Return lines that describe the machine and the software."""
    processor = platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(each for each in lines if each.startswith("model name")).split(": ")[1]
    found = []
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return [
        f"{len(os.sched_getaffinity(0))} cores, {processor}, Linux {platform.release()}",
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"libzmq {zmq.zmq_version()}, {', '.join(found)}",
    ]


def as_table(rows: Sequence[Result]) -> list[str]:
    """Return the lines of the Markdown table."""
    dashes = ["---" if n in (0, 2, len(COLUMNS) - 1) else "---:" for n in range(len(COLUMNS))]
    return [
        f"| {' | '.join(cells)} |" for cells in (COLUMNS, dashes, *(row.cells() for row in rows))
    ]


def as_markdown(rows: Sequence[Result], notes: Sequence[str], command: str, picture: str) -> str:
    """Return the complete report as Markdown."""
    lines = [
        "# Benchmark results",
        "",
        f"Written by `{command}`; do not edit. Subjects of a group play by turns. Rates are medians; a ratio is the",
        "median over the rounds, with the lowest and highest. *Pinned*: the ratio with all processes of each subject on one",
        "core. The bar is the target for the unpinned ratio.",
        "",
        f"![Turns a second over size and matches]({picture})",
        "",
        *(f"- {line}" for line in (*machine(), *notes)),
        "",
        *as_table(rows),
    ]
    return "\n".join(lines) + "\n"


CURVES = (
    (r"1 match, ipc, observations of ([\d,]+) bytes(.*)", "bytes of an observation, 1 match"),
    (r"([\d,]+) match(?:es)?, (?:tcp|ipc)(, compiled)?", "matches, observations of 8 bytes"),
)
"""Pattern of the cases in one plot, which captures the horizontal coordinate, and the axis's
label."""


def draw(rows: Sequence[Result], path: Path) -> None:
    """Draw turns per second over the size of observations, and over the number of matches."""
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
    """Add a line of history; of this version, two runs are kept."""
    line: dict[str, Any] = {
        "version": __version__,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "rows": [
            {
                "case": row.case,
                "reference": row.reference,
                "turns_per_second": row.ours and round(row.ours),
                "ratio": round(statistics.median(row.ratio), 3) if row.ratio else None,
                "pinned": round(statistics.median(row.pinned), 3) if row.pinned else None,
                "bar": row.bar,
            }
            for row in rows
        ],
    }
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    others = [each for each in before if json.loads(each)["version"] != __version__]
    same = [each for each in before if json.loads(each)["version"] == __version__]
    kept = [*others, *same[-1:], json.dumps(line)]
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
