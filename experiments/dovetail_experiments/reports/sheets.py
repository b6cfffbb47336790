"""Tables as plain text for pages: the terminal's tables, thinking times, faults and endings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table
from rich.text import Text

from dovetail.protocol.seats import player
from dovetail_experiments.reports.table import summary
from dovetail_experiments.stages.schedule import StageResult

Row = Mapping[str, Any]
ENDS = {
    "terminated": "played to the end",
    "truncated": "cut short",
    "timeout": "out of time",
    "illegal-action": "illegal action",
    "disconnected": "left",
    "stalled": "no answer",
    "forfeited": "not played",
    "cancelled": "ended before its time",
    "environment-failed": "the program of the game failed",
}
"""Readable reasons for the end of a game; the others need no change."""

TIMES = (
    "Times are from a request to its answer. Decisions that are asked for together each count the "
    "whole of it, so their sum may be longer than the execution."
)
"""The note below a table with times."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of text cells."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: Sequence[int] = (0,)
    """Indices of the columns with words; the others hold figures."""
    title: str = ""
    note: str = ""


def sheet(table: Table) -> Sheet:
    """Convert a table made for the terminal."""
    cells = [[_plain(cell) for cell in each.cells] for each in table.columns]
    return Sheet(
        [_plain(each.header) for each in table.columns],
        list(zip(*cells, strict=True)),
        [number for number, each in enumerate(table.columns) if each.justify == "left"],
        _plain(table.title or ""),
        _plain(table.caption or ""),
    )


def conduct(found: Sequence[Row]) -> Sheet:
    """Return thinking times and faults as a table, from ``numbers.conduct``."""
    rows = [
        (
            row["agent"],
            f"{row['seats']:,}",
            f"{row['decisions']:,}",
            f"{row['seconds']:,.1f}",
            "-"
            if row["seconds_per_decision"] is None
            else f"{1000 * row['seconds_per_decision']:.3f}",
            f"{row['breaches']:,}",
        )
        for row in found
    ]
    heads = ("agent", "seats", "decisions", "thinking s", "ms per decision", "faults")
    return Sheet(heads, rows, note=TIMES)


def stages(played: Sequence[StageResult]) -> Sheet:
    """Return the results of all stages as a table."""
    lines = [(each.stage, tally) for each in played for tally in each.tallies]
    found = sheet(summary("", lines, full=True))
    return replace(found, note="\n".join(filter(None, (found.note, TIMES))))


def endings(found: Sequence[Row], played: Sequence[StageResult]) -> Sheet:
    """Return counts of endings with the first messages, from ``numbers.endings``."""
    rows = [
        (
            ended(row["reason"]) + ", played again" * row["again"],
            "" if row["blame"] is None else player(row["blame"]),
            f"{row['episodes']:,}",
        )
        for row in found
    ]
    why = dict.fromkeys(message for each in played for message in each.endings.messages)
    return Sheet(("ending", "blame", "episodes"), rows, (0, 1), note="\n".join(list(why)[:5]))


def ended(reason: str) -> str:
    """Return how a game ended, for people.

    >>> ended("illegal-action"), ended("crashed")
    ('illegal action', 'crashed')
    """
    return ENDS.get(reason, reason)


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
