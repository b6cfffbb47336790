"""Results as a table for the terminal and for a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.bar import Bar
from rich.console import RenderableType
from rich.table import Table

from dovetail.experiments.plot import Point
from dovetail.experiments.schedule import Stage
from dovetail.experiments.statistics import Tally
from dovetail.experiments.tournament import Pair, Standing


def summary(title: str, rows: Iterable[tuple[Stage, Tally]], *, full: bool = False) -> Table:
    """Return a table with a row for each agent and seat of each stage.

    Results are shares of games won, or mean returns in games without winners, with 95 % intervals.

    Args:
        title: above the table.
        rows: what is shown.
        full: also thinking time and faults, which does not fit a narrow terminal.
    """
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("played")
    table.add_column("episodes" if full else "after", justify="right", no_wrap=True)
    table.add_column("agent")
    for name in ("seat", "W-D-L", "result (95 %)", *(("games", "ms/move", "faults") * full)):
        table.add_column(name, justify="right", no_wrap=True)
    for stage, tally in rows:
        when = f"{stage.trained:,}"
        if full and stage.kind == "phase":
            when = f"{stage.first:,}-{stage.first + stage.episodes:,}"
        counts, result = outcome(tally)
        cells = [stage.part.name, when, tally.agent, str(tally.seat), counts, result]
        if full:
            per_move = 1000 * tally.seconds / tally.decisions if tally.decisions else 0.0
            cells += [f"{tally.games:,}", f"{per_move:.2f}", str(tally.breaches)]
        table.add_row(*cells)
    return table


def outcome(tally: Tally) -> tuple[str, str]:
    """Return games won, drawn and lost, and the rate or mean with its interval."""
    if tally.decided:
        rate = tally.win_rate
        counts = f"{tally.wins}-{tally.draws}-{tally.losses}"
        return counts, f"{rate.value:.1%} ({100 * rate.low:.1f}..{100 * rate.high:.1f})"
    found = tally.mean_return
    digits = 3 if abs(found.value) < 100 else 1
    low, value, high = (f"{x:,.{digits}f}" for x in (found.low, found.value, found.high))
    return "-", f"{value} ({low}..{high})"


def standings_table(
    title: str, rows: Sequence[Standing], meetings: Mapping[Pair, Sequence[Tally]]
) -> Table:
    """Return the standings of a tournament, the best first, with points against each opponent."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("player")
    for name in ("W-D-L", "score (95 %)", "Elo (95 %)", *map(str, range(1, len(rows) + 1))):
        table.add_column(name, justify="right", no_wrap=True)
    for place, row in enumerate(rows, 1):
        cells = []
        for other in rows:
            found = meetings.get(
                (row.player, other.player), meetings.get((other.player, row.player))
            )
            points = [t.wins + t.draws / 2 for t in found or () if t.agent == row.player]
            cells.append(f"{sum(points):g}" if points and other is not row else "-")
        score, elo = row.score, row.elo
        table.add_row(
            str(place),
            row.player,
            f"{row.wins}-{row.draws}-{row.losses}",
            f"{score.value:.1%} ({100 * score.low:.1f}..{100 * score.high:.1f})",
            f"{elo.value:+.0f} ({elo.low:+.0f}..{elo.high:+.0f})",
            *cells,
        )
    return table


def curve_table(title: str, curves: Mapping[str, Sequence[Point]]) -> Table:
    """Return learning curves as bars, a row for each point in time."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("episodes", justify="right")
    for label in curves:
        table.add_column("", justify="right", no_wrap=True)
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
