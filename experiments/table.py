"""Results as a table for the terminal and for a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.bar import Bar
from rich.console import RenderableType
from rich.table import Table

from dovetail.experiments.plot import Point
from dovetail.experiments.statistics import Tally


def summary(title: str, tallies: Iterable[tuple[str, Tally]]) -> Table:
    """Return a table with a row for each agent and seat of each stage."""
    table = Table(title=title, title_justify="left")
    for name in ("Played", "Agent"):
        table.add_column(name)
    for name in ("Seat", "Games", "W", "D", "L", "Win %", "95 %", "Return", "ms/move", "Faults"):
        table.add_column(name, justify="right")
    for played, tally in tallies:
        table.add_row(played, *cells(tally))
    return table


def cells(tally: Tally) -> list[str]:
    """Return the cells of a row, from the agent on."""
    rate, low, high = "-", "-", "-"
    if tally.decided:
        estimate = tally.win_rate
        rate, low, high = (f"{100 * x:.1f}" for x in (estimate.value, estimate.low, estimate.high))
    per_move = 1000 * tally.seconds / tally.decisions if tally.decisions else 0.0
    return [
        tally.agent,
        str(tally.seat),
        str(tally.games),
        str(tally.wins),
        str(tally.draws),
        str(tally.losses),
        rate,
        f"{low} .. {high}" if tally.decided else "-",
        f"{tally.mean_return.value:+.3f}",
        f"{per_move:.2f}",
        str(tally.breaches),
    ]


def curve_table(title: str, curves: Mapping[str, Sequence[Point]]) -> Table:
    """Return learning curves as bars, a row for each point in time."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("episodes", justify="right")
    for label in curves:
        table.add_column("", justify="right")
        table.add_column(label)
    values = [point.estimate.value for points in curves.values() for point in points]
    low, high = min(0.0, *values), max(1.0, *values)
    rows: dict[int, dict[str, Point]] = {}
    for label, points in curves.items():
        for point in points:
            rows.setdefault(point.trained, {})[label] = point
    for trained, row in rows.items():
        cells: list[RenderableType] = [f"{trained:,}"]
        for label in curves:
            here = row.get(label)
            value = low if here is None else here.estimate.value
            cells += ["" if here is None else f"{value:.3f}", Bar(high - low, 0, value - low)]
        table.add_row(*cells)
    return table
