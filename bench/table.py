"""The rows of the table, and the table on a terminal and as Markdown."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import zmq
from rich import box
from rich.table import Table

LIBRARIES = ("dovetail", "pyzmq", "msgspec", "numpy", "pettingzoo")
COLUMNS = ("case", "Dovetail", "spread", "reference", "its figure", "its spread", "ratio")


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
class Row:
    """A figure of ours beside one reference."""

    case: str
    ours: Figure | None
    reference: str
    figure: Figure | None
    unit: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours divided by the reference's, medians both."""
        if self.ours is None or self.figure is None or not self.figure.median:
            return None
        return self.ours.median / self.figure.median

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        return (
            self.case,
            *self._pair(self.ours),
            self.reference,
            *self._pair(self.figure),
            "" if self.ratio is None else f"{self.ratio:.2f}",
        )

    def _pair(self, figure: Figure | None) -> tuple[str, str]:
        if figure is None:
            return "", ""
        spread = f"{figure.low:,.0f} to {figure.high:,.0f}" if figure.count > 1 else ""
        return f"{figure.median:,.0f}{self.unit}", spread


def machine() -> list[str]:
    """Return on what was measured, in lines."""
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return [
        f"{len(os.sched_getaffinity(0))} cores, {_processor()}, Linux {platform.release()}",
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"libzmq {zmq.zmq_version()}, {', '.join(found)}",
    ]


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def for_terminal(rows: Iterable[Row]) -> Table:
    """Return the table for a terminal."""
    table = Table(title="turns per second", title_justify="left", box=box.SIMPLE_HEAD)
    for column in COLUMNS:
        text = column in ("case", "reference")
        table.add_column(column, justify="left" if text else "right", overflow="fold")
    for row in rows:
        table.add_row(*row.cells())
    return table


def as_markdown(rows: Iterable[Row], notes: Sequence[str], command: str) -> str:
    """Return the whole report as Markdown."""
    dashes = ("---" if column in ("case", "reference") else "---:" for column in COLUMNS)
    lines = [
        "# Benchmark results",
        "",
        f"Written by `{command}`; do not edit. Figures are turns per second unless a unit is given: the",
        "median, and the spread from lowest to highest. The ratio is Dovetail's median divided by the reference's.",
        "",
        *(f"- {line}" for line in (*machine(), *notes)),
        "",
        *(f"| {' | '.join(cells)} |" for cells in (COLUMNS, tuple(dashes))),
        *(f"| {' | '.join(row.cells())} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"
