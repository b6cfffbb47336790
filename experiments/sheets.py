"""Tables as plain text, for pages: what the terminal's tables show, and what agents did besides playing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from dovetail.experiments.schedule import Played, tallies


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: Sequence[int] = (0,)
    """The columns that are words, by their place; the others are figures."""
    title: str = ""
    note: str = ""


def sheet(table: Table) -> Sheet:
    """Return a table that was made for the terminal."""
    cells = [[_plain(cell) for cell in each.cells] for each in table.columns]
    return Sheet(
        [_plain(each.header) for each in table.columns],
        list(zip(*cells, strict=True)),
        [number for number, each in enumerate(table.columns) if each.justify == "left"],
        _plain(table.title or ""),
        _plain(table.caption or ""),
    )


def conduct(played: Sequence[Played]) -> Sheet:
    """Return the thinking times and faults of each agent, over all stages."""
    totals: dict[str, list[float]] = {}
    for each in played:
        for found in tallies(each):
            total = totals.setdefault(found.agent, [0.0] * 4)
            for number, value in enumerate(
                (found.games, found.decisions, found.seconds, found.breaches)
            ):
                total[number] += value
    rows = [
        (
            name,
            f"{games:,.0f}",
            f"{decisions:,.0f}",
            f"{seconds:,.1f}",
            f"{1000 * seconds / decisions:.3f}" if decisions else "-",
            f"{breaches:,.0f}",
        )
        for name, (games, decisions, seconds, breaches) in totals.items()
    ]
    heads = ("agent", "seats", "decisions", "thinking s", "ms per decision", "faults")
    return Sheet(heads, rows)


def endings(played: Sequence[Played]) -> Sheet:
    """Return how episodes ended, and the first messages of those that say why."""
    ends: dict[tuple[str, str], int] = {}
    why: dict[str, None] = {}
    for each in played:
        for episode in [*each.episodes, *each.interrupted]:
            reason = f"{episode.reason}, played again" if episode.will_retry else episode.reason
            key = reason, "" if episode.blame is None else f"seat {episode.blame}"
            ends[key] = ends.get(key, 0) + 1
            if episode.message:
                why[episode.message] = None
    rows = [(reason, blame, f"{count:,}") for (reason, blame), count in sorted(ends.items())]
    return Sheet(("ending", "blame", "episodes"), rows, (0, 1), note="\n".join(list(why)[:5]))


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
