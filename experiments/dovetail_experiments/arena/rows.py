"""Conversion of units to and from table rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.games import ArenaGame

Rating = tuple[float, float]
"""OpenSkill's mu and sigma."""
ALIKE = ("number", "seed", "episode", "reason", "blame", "turns", "digest", "message")
"""Columns of the table ``games`` that are fields of ``ArenaGame``."""
BY_SEAT = {
    "place": "seating",
    "score": "scores",
    "return": "returns",
    "decisions": "decisions",
    "seconds": "seconds",
}
"""Field of ``ArenaGame`` with an entry for each seat, by column of the table ``seats``."""


@dataclass(frozen=True, slots=True)
class ArenaUnit:
    """Games to play together."""

    id: int
    ladder: str
    seed: int
    players: list[int]
    tries: int
    asked: str = ""
    """The entrant that requested it, which makes it unrated; empty if the arena paired it."""


@dataclass(frozen=True, slots=True)
class FinishedUnit:
    """A unit that counts."""

    id: int
    order: int
    finished: float
    players: list[int]
    points: list[float]
    ratings: list[Rating]
    games: list[ArenaGame]
    software: str = ""
    """Version of the arena that played it."""


def units(connection: sa.Connection, which: sa.Select[Any]) -> list[FinishedUnit]:
    """Return the units selected by a query, in the order in which they ended."""
    u = s.units.c
    found: dict[int, FinishedUnit] = {}
    query = sa.select(s.units).where(u.id.in_(which)).order_by(u.played)
    for row in connection.execute(query):
        found[row.id] = FinishedUnit(row.id, row.played, row.finished, [], [], [], [], row.software)
    wanted = sa.select(s.places).where(s.places.c.unit.in_(which)).order_by(s.places.c.place)
    for row in connection.execute(wanted):
        unit = found[row.unit]
        unit.players.append(row.player)
        unit.points.append(row.points)
        unknown = row.mu is None
        unit.ratings.append((math.nan, math.nan) if unknown else (row.mu, row.sigma))
    seats: dict[tuple[int, int], list[Any]] = {}
    taken = sa.select(s.seats).where(s.seats.c.unit.in_(which)).order_by(s.seats.c.seat)
    for seat in connection.execute(taken).mappings():
        seats.setdefault((seat["unit"], seat["number"]), []).append(seat)
    games = sa.select(s.games).where(s.games.c.unit.in_(which)).order_by(s.games.c.number)
    for game in connection.execute(games).mappings():
        of = seats[game["unit"], game["number"]]
        fields: dict[str, Any] = {name: game[name] for name in ALIKE}
        fields |= {name: [each[column] for each in of] for column, name in BY_SEAT.items()}
        found[game["unit"]].games.append(ArenaGame(opening=json.loads(game["opening"]), **fields))
    return list(found.values())


def ratings(connection: sa.Connection, season: int, players: Sequence[int]) -> dict[int, Rating]:
    """Return the current ratings of those players that have one in a season."""
    u, p = s.units.c, s.places.c
    last = (
        sa.select(p.player, sa.func.max(u.played).label("last"))
        .join(s.units, p.unit == u.id)
        .where(u.season == season, u.asked.is_(None), p.player.in_(players))
        .group_by(p.player)
        .subquery()
    )
    query = (
        sa.select(p.player, p.mu, p.sigma)
        .join(s.units, p.unit == u.id)
        .join(last, (last.c.player == p.player) & (last.c.last == u.played))
    )
    rows = connection.execute(query)
    return {row.player: (row.mu, row.sigma) for row in rows}


def game_row(unit: int, game: ArenaGame) -> Mapping[str, Any]:
    """Return a game's row."""
    opening = msgspec.json.encode(game.opening, enc_hook=repr).decode()
    return {"unit": unit, "opening": opening, **{name: getattr(game, name) for name in ALIKE}}


def seat_rows(unit: int, game: ArenaGame) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a game's seats."""
    for seat in range(len(game.seating)):
        row = {column: getattr(game, name)[seat] for column, name in BY_SEAT.items()}
        yield {"unit": unit, "number": game.number, "seat": seat, **row}
