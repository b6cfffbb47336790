"""The figures of an agent's page: its rating over time, opponents, seats and games."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dovetail_experiments.arena.games import FORFEITED
from dovetail_experiments.arena.standings import LadderTable, StandingsRow
from dovetail_experiments.arena.store import LadderPlayer
from dovetail_experiments.arena.units import FinishedUnit
from dovetail_experiments.reports.sheets import ended

COLUMN = 240
"""The width of a column of ratings, in pixels."""
MARGIN = 14
"""The minimum distance of a tick's text from its ends, in pixels."""
TICKS = 5
STEPS = (20, 50, 100, 200, 500, 1000, 2000, 5000)
SHORT = {
    "crashed": "crash",
    "timeout": "too late",
    "illegal-action": "not legal",
    "disconnected": "left",
    "forfeited": "not played",
    "stalled": "no answer",
}
"""Short words for games decided by a fault."""


class Scale(msgspec.Struct):
    """The scale of ratings in a table's column."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    """The positions and texts of a few round ratings."""

    def at(self, value: float) -> float:
        """Return the position of a rating, from 0 to ``COLUMN``."""
        share = (value - self.low) / max(1e-9, self.high - self.low)
        return round(COLUMN * min(1.0, max(0.0, share)), 1)

    def bar(self, row: StandingsRow) -> tuple[float, float, float] | None:
        """Return the positions of a rating and of its interval's ends; None without a rating."""
        if not row.units or not row.elo.known:
            return None
        return self.at(row.elo.value), self.at(row.elo.low), self.at(row.elo.high)


def scale(rows: Sequence[StandingsRow]) -> Scale:
    """Return a scale that fits a table's ratings and intervals."""
    known = [row.elo for row in rows if row.units and row.elo.known]
    ends = [e for elo in known for e in (elo.value, elo.low, elo.high) if math.isfinite(e)]
    low, high = (min(ends), max(ends)) if ends else (-100.0, 100.0)
    low, high = min(low, high - 100.0), max(high, low + 100.0)
    step = next(s for s in STEPS if (high - low) / s <= TICKS or s == STEPS[-1])
    first = math.ceil(low / step)
    found = Scale(low, high, [])
    while first * step <= high:
        place, text = found.at(first * step), f"{first * step:+d}" if first else "0"
        if MARGIN <= place <= COLUMN - MARGIN:
            found.ticks.append((place, text))
        first += 1
    return found


def results(
    recent: Sequence[FinishedUnit], players: Mapping[int, LadderPlayer]
) -> list[dict[str, Any]]:
    """Return the newest units for display: the winner first, and the reason for the end."""
    found = []
    for unit in recent:
        order = sorted(range(len(unit.players)), key=lambda place: -unit.points[place])
        names = [players[unit.players[place]].name for place in order]
        best, last = unit.points[order[0]], unit.points[order[-1]]
        fault = next((game for game in unit.games if game.fault is not None), None)
        if fault is not None and fault.fault == order[-1]:
            end = SHORT.get(fault.reason, fault.reason)
        else:
            end = " : ".join(
                f"{unit.points[place] * len(unit.games):g}"
                if len(unit.players) == 2 and len(unit.games) == 2
                else f"{unit.points[place]:.2f}"
                for place in order
            )
        found.append(
            {
                "unit": unit.id,
                "first": names[0],
                "how": "beat" if best > last else "drew with",
                "others": ", ".join(names[1:]),
                "end": end,
            }
        )
    return found


def opponents(
    played: Sequence[FinishedUnit], player: int, players: Mapping[int, LadderPlayer]
) -> list[tuple[LadderPlayer, int, float]]:
    """Return a player's opponents, each with the units and mean points, the most frequent first."""
    found: dict[int, list[float]] = {}
    for unit in played:
        mine = unit.points[unit.players.index(player)]
        for each in unit.players:
            if each != player:
                found.setdefault(each, []).append(mine)
    rows = [(players[who], len(p), math.fsum(p) / len(p)) for who, p in found.items()]
    return sorted(rows, key=lambda row: -row[1])


def by_seat(played: Sequence[FinishedUnit], player: int) -> list[tuple[int, int, float, float]]:
    """Return for each seat its number, games, share of first places, and seconds per decision."""
    found: dict[int, list[tuple[bool, float, int]]] = {}
    for unit in played:
        place = unit.players.index(player)
        for game in unit.games:
            if place in game.seating:
                seat = game.seating.index(place)
                best = game.scores[seat] == max(game.scores)
                found.setdefault(seat, []).append((best, game.seconds[seat], game.decisions[seat]))
    return [
        (
            seat,
            len(games),
            sum(best for best, _, _ in games) / len(games),
            math.fsum(s for _, s, _ in games) / max(1, sum(d for _, _, d in games)),
        )
        for seat, games in sorted(found.items())
    ]


def games(
    played: Sequence[FinishedUnit], player: int, players: Mapping[int, LadderPlayer]
) -> list[dict[str, Any]]:
    """Return a player's games, newest first."""
    found = []
    for unit in reversed(played):
        place = unit.players.index(player)
        for game in unit.games:
            if place not in game.seating:
                continue
            seat = game.seating.index(place)
            found.append(
                {
                    "unit": unit.id,
                    "number": game.number,
                    "seat": seat,
                    "against": [players[p] for p in unit.players if p != player],
                    "score": game.returns[seat] if len(game.seating) == 1 else game.scores[seat],
                    "turns": game.turns,
                    "reason": game.reason,
                    "end": ended(game.reason),
                    "fault": game.fault == place,
                    "message": game.message,
                    "replay": game.reason != FORFEITED,
                }
            )
    return found


def table_rows(table: LadderTable) -> list[dict[str, Any]]:
    """Return a ladder's table as plain values, with three columns per rating."""
    return [
        {
            "place": place,
            "agent": row.name,
            "elo": row.elo.value if row.units else None,
            "elo_low": row.elo.low if row.units else None,
            "elo_high": row.elo.high if row.units else None,
            "points": row.points if row.units else None,
            **{key: getattr(row, key) for key in ("units", "wins", "draws", "losses", "faults")},
            "live": row.live if row.units else None,
            "state": row.state,
            "baseline": row.baseline,
        }
        for place, row in enumerate(table.rows, 1)
    ]


def game_rows(listed: Sequence[Mapping[str, Any]], *, told: bool) -> list[dict[str, Any]]:
    """Return an agent's games as plain values.

    Args:
        listed: the games from ``games``.
        told: whether to include errors.
    """
    return [
        {
            **{key: game[key] for key in ("unit", "number", "seat")},
            "against": " ".join(each.name for each in game["against"]),
            **{key: game[key] for key in ("score", "turns", "reason", "fault")},
            **({"message": game["message"]} if told else {}),
        }
        for game in listed
    ]
