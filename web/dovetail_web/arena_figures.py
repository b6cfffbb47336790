"""The figures of an agent's page: its rating over time, opponents, seats and games."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dovetail_experiments.arena.games import FORFEITED
from dovetail_experiments.arena.rows import FinishedUnit
from dovetail_experiments.arena.standings import LadderTable
from dovetail_experiments.arena.store import LadderPlayer

POINTS = 300
"""Points of a curve at most."""
WIDTH, HEIGHT = 640, 180
"""Of a curve's picture."""


class Curve(msgspec.Struct):
    """A rating over time as a picture: ``points`` of the line and of the band around it."""

    line: str
    band: str
    low: float
    high: float
    units: int
    width: int = WIDTH
    height: int = HEIGHT


def curve(ratings: Sequence[tuple[float, float]]) -> Curve | None:
    """Return the curve of ratings with two sigma around them; None for fewer than two."""
    if len(ratings) < 2:
        return None
    step = max(1, math.ceil(len(ratings) / POINTS))
    kept = [*range(0, len(ratings) - 1, step), len(ratings) - 1]
    values = [ratings[each] for each in kept]
    low = min(mu - 2 * sigma for mu, sigma in values)
    high = max(mu + 2 * sigma for mu, sigma in values)

    def at(number: int, value: float) -> str:
        x = WIDTH * kept[number] / (len(ratings) - 1)
        y = HEIGHT * (high - value) / max(1e-9, high - low)
        return f"{x:.1f},{y:.1f}"

    upper = [at(n, mu + 2 * sigma) for n, (mu, sigma) in enumerate(values)]
    lower = [at(n, mu - 2 * sigma) for n, (mu, sigma) in enumerate(values)]
    line = [at(n, mu) for n, (mu, _) in enumerate(values)]
    return Curve(" ".join(line), " ".join([*upper, *lower[::-1]]), low, high, len(ratings))


def opponents(
    played: Sequence[FinishedUnit], player: int, players: Mapping[int, LadderPlayer]
) -> list[tuple[LadderPlayer, int, float]]:
    """Return whom a player met, in how many units, and its mean points in those, the most frequent first."""
    found: dict[int, list[float]] = {}
    for unit in played:
        mine = unit.points[unit.players.index(player)]
        for each in unit.players:
            if each != player:
                found.setdefault(each, []).append(mine)
    rows = [(players[who], len(p), math.fsum(p) / len(p)) for who, p in found.items()]
    return sorted(rows, key=lambda row: -row[1])


def by_seat(played: Sequence[FinishedUnit], player: int) -> list[tuple[int, int, float, float]]:
    """Return of each seat its number, games, the share in which it was first or level, and seconds for a decision."""
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
    """Return the games of a player, the newest first."""
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
                    "seat": seat + 1,
                    "against": [players[p] for p in unit.players if p != player],
                    "score": game.returns[seat] if len(game.seating) == 1 else game.scores[seat],
                    "turns": game.turns,
                    "reason": game.reason,
                    "fault": game.fault == place,
                    "message": game.message,
                    "replay": game.reason != FORFEITED,
                }
            )
    return found


def table_rows(table: LadderTable) -> list[dict[str, Any]]:
    """Return a ladder's table as plain values; a rating takes three columns."""
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
    """Return the games of an agent as plain values.

    Args:
        listed: as ``games`` returns them.
        told: whether to say what went wrong.
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
