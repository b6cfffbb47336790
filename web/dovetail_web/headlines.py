"""The findings of results, in a sentence or two: who came first, and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from dovetail.protocol.seats import player
from dovetail_experiments.reports.over_seeds import VariantRow

MOST = 4
"""Maximum sentences."""

Row = Mapping[str, Any]


def of_tournament(name: str, seats: int, players: Sequence[Row]) -> str:
    """Return who came first in a tournament; empty before a game has counted.

    Args:
        name: the tournament.
        seats: the seats of its game.
        players: its standings as plain numbers, best first.
    """
    played = [each for each in players if each["games"]]
    if not played:
        return ""
    first = played[0]
    score = _estimate(first, "score", share=seats > 1)
    reached = f"{score} of the points" if seats > 1 else f"a mean return of {score}"
    others = f", before {played[1]['player']}" if len(played) > 1 else ""
    return f"{name}: {first['player']} came first with {reached}{others}."


def of_evaluations(stages: Sequence[Row]) -> Iterator[str]:
    """Yield the result of each evaluation after the most learning: that of its best agent.

    Args:
        stages: the stages as plain numbers, a row for each agent and seat.
    """
    last: dict[str, list[Row]] = {}
    for each in stages:
        if each["kind"] == "evaluation" and each["games"]:
            kept = last.setdefault(each["name"], [])
            if kept and kept[0]["trained"] < each["trained"]:
                kept.clear()
            kept.append(each)
    for name, rows in last.items():
        scored = all(each.get("won") is not None for each in rows)
        key = "won" if scored else "return"
        agents: dict[str, list[Row]] = {}
        for each in rows:
            agents.setdefault(each["agent"], []).append(each)
        best = max(agents, key=lambda agent: fmean(e[key] for e in agents[agent]))
        mine = agents[best]
        parts = [
            _estimate(each, key, share=scored) + f" as {player(each['seat'])}" * (len(mine) > 1)
            for each in mine
        ]
        verb = "won" if scored else "had a mean return of"
        trained = rows[0]["trained"]
        after = f", after {trained:,} learning episodes" if trained else ""
        yield f"{name}: {best} {verb} {' and '.join(parts)}{after}."


def of_variants(group: Sequence[VariantRow]) -> str:
    """Return which variant of a sweep has the highest mean; empty if none has a result."""
    known = [each for each in group if math.isfinite(each.band.mean)]
    if not known:
        return ""
    best = max(known, key=lambda each: each.band.mean)
    series, band = best.series, best.band
    interval = f" ({band.low:.2f}..{band.high:.2f})" if math.isfinite(band.low) else ""
    what = f"{series.agent} ({series.where})"
    if len(known) == 1:
        return f"{what}: mean {series.measure} {band.mean:.2f}{interval} of {_runs(band.runs)}."
    return (
        f"{what}: {series.variant} has the highest mean {series.measure} of {len(known)} variants, "
        f"{band.mean:.2f}{interval} over {_runs(band.runs)}."
    )


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"


def _estimate(row: Row, key: str, *, share: bool) -> str:
    """Return an estimate with its interval, if that is known."""
    value, low, high = (row.get(name) for name in (key, f"{key}_low", f"{key}_high"))

    def text(number: Any) -> str:
        return f"{number:.0%}" if share else f"{number:,.4g}"

    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return text(value)
    return f"{text(value)} ({text(low)}..{text(high)})"
