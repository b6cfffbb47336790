"""Results as a table for the terminal and for a file."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

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
