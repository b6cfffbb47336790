"""Units of an arena: planned, on request, played and rated."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from dovetail.peer import provenance
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.games import ArenaGame, worth
from dovetail_experiments.arena.tables import PENDING, ArenaTables, add_line, change, named
from dovetail_experiments.statistics.ranked import after

WAITING = 10
"""Maximum games on request that an entrant may have waiting."""
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


@dataclass(frozen=True, slots=True)
class GameRequest:
    """A requested unit."""

    unit: int
    ladder: str
    asked: str
    """The entrant that requested it, or the operator."""
    players: list[int]
    tries: int
    played: int | None
    """Position in the order of finished units; None if not played."""
    dropped: str
    """Reason why it was dropped."""

    @property
    def state(self) -> str:
        """One of ``waiting``, ``playing``, ``played`` and ``dropped``."""
        if self.played is not None:
            return "played"
        if self.dropped:
            return "dropped"
        return "playing" if self.tries else "waiting"


class ArenaUnits(ArenaTables):
    """Units in an arena's database, with their effects on ratings and faults."""

    _rated: tuple[int, dict[int, Rating]] | None = None
    """A season and its players' ratings, which only the program that plays it changes: to find
    one in the tables takes longer the more units its player has played."""

    def plan(self, season: int, ladder: str, seed: int, players: Sequence[int]) -> ArenaUnit:
        """Record and return a planned unit; ``seed`` is the arena's."""
        master = self.master(season, seed)
        with self._writing() as connection:
            return add_unit(connection, season, ladder, master, players)

    def planned(self, season: int) -> list[ArenaUnit]:
        """Return planned units that are not finished, oldest first."""
        u, p = s.units.c, s.places.c
        query = (
            sa.select(u.id, u.ladder, u.seed, u.tries, u.asked, p.player)
            .join(s.places, p.unit == u.id)
            .where(u.season == season, PENDING)
            .order_by(u.id, p.place)
        )
        found: dict[int, ArenaUnit] = {}
        for row in self._rows(query):
            new = ArenaUnit(row.id, row.ladder, row.seed, [], row.tries, row.asked or "")
            found.setdefault(row.id, new).players.append(row.player)
        return list(found.values())

    def begin(self, unit: ArenaUnit) -> int:
        """Count an attempt to play a unit; return its number."""
        mine = s.units.c.id == unit.id
        with self._writing() as connection:
            change(connection, s.units, mine, tries=s.units.c.tries + 1)
            return int(connection.execute(sa.select(s.units.c.tries).where(mine)).scalar_one())

    def drop(self, unit: ArenaUnit, why: str, tries: int = 0, attempt: int | None = None) -> None:
        """Drop a planned unit if it had ``tries`` attempts and none after ``attempt``."""
        u = s.units.c
        with self._writing() as connection:
            mine = u.id == unit.id, u.tries >= tries, _is(attempt)
            change(connection, s.units, *mine, dropped=why)

    def finish(
        self,
        season: int,
        unit: ArenaUnit,
        played: Sequence[ArenaGame],
        most: int,
        attempt: int | None = None,
    ) -> list[Rating]:
        """Record a unit with all its games, in one transaction; return its players' ratings.

        A requested unit changes no ratings and counts no faults; the result is empty.

        Args:
            most: consecutive losses by fault that pause a player.
            attempt: the number from ``begin``; nothing is recorded if a later attempt has begun.
        """
        points = worth(played, len(unit.players))
        p, u = s.players.c, s.units.c
        with self._writing() as connection:
            order = 1 + (connection.execute(sa.select(sa.func.max(u.played))).scalar() or 0)
            if self._rated is None or self._rated[0] != season:
                self._rated = season, ratings(connection, season)
            before = self._rated[1]
            new = {"played": order, "finished": time.time(), "software": str(provenance.here())}
            changed = change(connection, s.units, u.id == unit.id, PENDING, _is(attempt), **new)
            if changed != 1:  # already recorded, or its season is over
                return []
            _add_games(connection, unit, played)
            if unit.asked:
                _add_points(connection, unit, points, [None] * len(points))
                return []
            ranking = {str(who): -each for who, each in zip(unit.players, points, strict=True)}
            known = {str(who): before[who] for who in unit.players if who in before}
            rated = after(known, ranking)
            _add_points(connection, unit, points, [rated[str(who)] for who in unit.players])
            for place, who in enumerate(unit.players):
                mine = p.id == who
                faults = connection.execute(sa.select(p.faults).where(mine)).scalar_one()
                last = None
                for game in played:
                    if place in game.seating:
                        faults = faults + 1 if game.fault == place else 0
                        last = game if game.fault == place else last
                change(connection, s.players, mine, faults=faults)
                if last is not None:
                    text = f"{most} losses by fault in a row, the last in unit {unit.id}"
                    more = f" ({last.message})" if last.message else ""
                    _pause(connection, mine & (p.faults >= most), f"{text}: {last.reason}{more}")
        found = [rated[str(who)] for who in unit.players]
        before.update(zip(unit.players, found, strict=True))
        return found

    def tried(self, player: int, fault: str) -> None:
        """Record a paused agent's trial against a baseline; an empty ``fault`` reinstates it."""
        mine = (s.players.c.id == player) & (s.players.c.state == "paused")
        with self._writing() as connection:
            if fault:
                text = f"losses by fault; the last against a baseline: {fault}"
                change(connection, s.players, mine, why=text)
                return
            for row in connection.execute(sa.select(s.players).where(mine)).all():
                change(connection, s.players, mine, state="active", why="", faults=0)
                text = f"{row.ladder}: played without a fault against a baseline"
                add_line(connection, "resumed", named(row.entrant, row.program), text)

    def ratings(self, season: int) -> dict[int, Rating]:
        """Return the current ratings of all players that have one in a season."""
        with self._reader.begin() as connection:
            return ratings(connection, season)

    def counts(self, season: int) -> dict[int, tuple[int, int]]:
        """Return each player's number of units in a season, and the position of the last."""
        u, p = s.units.c, s.places.c
        query = (
            sa.select(p.player, sa.func.count(), sa.func.max(u.played))
            .join(s.units, p.unit == u.id)
            .where(u.season == season, u.asked.is_(None), u.played.is_not(None))
            .group_by(p.player)
        )
        return {row[0]: (row[1], row[2]) for row in self._rows(query)}

    def latest(self, season: int, ladder: str, *, practice: bool = False) -> int:
        """Return the position of the last unit, rated or (``practice``) requested; 0 if there is
        none."""
        u = s.units.c
        query = sa.select(sa.func.max(u.played)).where(
            u.season == season, u.ladder == ladder, _asked(practice)
        )
        return self._value(query) or 0

    def played(
        self,
        season: int,
        ladder: str,
        *,
        player: int | None = None,
        other: int | None = None,
        last: int | None = None,
        practice: bool = False,
    ) -> list[FinishedUnit]:
        """Return the finished units of a ladder, in the order in which they ended.

        Args:
            player: include only units with this player.
            other: include only units in which this player took part too.
            last: the maximum number of units, the latest ones; None for all.
            practice: return requested, unrated units instead of rated ones.
        """
        u = s.units.c
        query = sa.select(u.id).where(
            u.season == season, u.ladder == ladder, u.played.is_not(None), _asked(practice)
        )
        for each in (player, other):
            if each is not None:
                of = sa.select(s.places.c.unit).where(s.places.c.player == each)
                query = query.where(u.id.in_(of))
        if last is not None:
            query = query.order_by(u.played.desc()).limit(last)
        with self._reader.begin() as connection:
            return units(connection, query)

    # -- on request ------------------------------------------------------------------------------

    def ask(self, season: int, ladder: str, seed: int, players: Sequence[int], by: str) -> int:
        """Plan an unrated unit; return its number.

        Args:
            by: the entrant that requests it, or the operator.

        Raises:
            DovetailError: they are not players of the ladder, too many requests are waiting, or the
                season's final has begun.
        """
        master, u, p = self.master(season, seed), s.units.c, s.players.c
        if len(set(players)) != len(players):
            raise DovetailError("an agent cannot play against itself; choose another")
        with self._writing() as connection:
            known = connection.execute(
                sa.select(sa.func.count()).where(p.ladder == ladder, p.id.in_(players))
            ).scalar_one()
            over = connection.execute(
                sa.select(sa.func.coalesce(s.seasons.c.final, s.seasons.c.ended)).where(
                    s.seasons.c.number == season
                )
            ).scalar_one()
            if over is not None:
                raise DovetailError("the final has begun; ask again in the next season")
            if known != len(players):
                raise DovetailError(f"choose agents of the ladder {ladder}")
            waiting = connection.execute(
                sa.select(sa.func.count()).where(u.asked == by, PENDING)
            ).scalar_one()
            if waiting >= WAITING:
                raise DovetailError(
                    f"{waiting} games that you asked for are waiting; withdraw one, or wait"
                )
            unit = add_unit(connection, season, ladder, master, players, by)
            add_line(connection, "asked", by, f"{ladder}: unit {unit.id}")
            return unit.id

    def withdraw(self, unit: int, by: str | None) -> None:
        """Withdraw a requested unit that has not started.

        Args:
            by: the entrant that requested it; None for any.

        Raises:
            DovetailError: there is no such unit, or it has started.
        """
        u = s.units.c
        mine = u.asked.is_not(None) if by is None else u.asked == by
        with self._writing() as connection:
            new = u.id == unit, mine, u.tries == 0, PENDING
            if not change(connection, s.units, *new, dropped="it was withdrawn"):
                raise DovetailError("this game has begun, or is not one that you asked for")

    def open(self) -> tuple[int, int]:
        """Return the number of requested units still to play, and the newest one's number.

        This is cheap.
        """
        u = s.units.c
        query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.max(u.id), 0)).where(
            u.asked.is_not(None), PENDING
        )
        [(count, newest)] = self._rows(query)
        return count, newest

    def requests(self, by: str | None = None, last: int = 20) -> list[GameRequest]:
        """Return the latest requested units, of one entrant or of all, newest first."""
        u = s.units.c
        query = sa.select(s.units).where(u.asked.is_not(None)).order_by(u.id.desc()).limit(last)
        if by is not None:
            query = query.where(u.asked == by)
        rows = self._rows(query)
        players: dict[int, list[int]] = {row.id: [] for row in rows}
        places = sa.select(s.places.c.unit, s.places.c.player).order_by(s.places.c.place)
        for place in self._rows(places.where(s.places.c.unit.in_(players))):
            players[place.unit].append(place.player)
        return [
            GameRequest(r.id, r.ladder, r.asked, players[r.id], r.tries, r.played, r.dropped or "")
            for r in rows
        ]


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


def ratings(connection: sa.Connection, season: int) -> dict[int, Rating]:
    """Return the current ratings of all players that have one in a season."""
    u, p = s.units.c, s.places.c
    last = (
        sa.select(p.player, sa.func.max(u.played).label("last"))
        .join(s.units, p.unit == u.id)
        .where(u.season == season, u.asked.is_(None))
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


def add_unit(
    connection: sa.Connection,
    season: int,
    ladder: str,
    master: int,
    players: Sequence[int],
    asked: str = "",
) -> ArenaUnit:
    """Plan a unit within a transaction; its seed is derived from the season's master."""
    number = 1 + (connection.execute(sa.select(sa.func.max(s.units.c.id))).scalar() or 0)
    unit = ArenaUnit(
        number, ladder, derive(master, ladder, "unit", number), list(players), 0, asked
    )
    connection.execute(
        sa.insert(s.units).values(
            id=number,
            season=season,
            ladder=ladder,
            seed=unit.seed,
            planned=time.time(),
            asked=asked or None,
        )
    )
    connection.execute(
        sa.insert(s.places),
        [{"unit": number, "place": i, "player": p} for i, p in enumerate(players)],
    )
    return unit


def _asked(practice: bool) -> sa.ColumnElement[bool]:
    """Return the condition that a unit was requested, or that it was not."""
    return s.units.c.asked.is_not(None) if practice else s.units.c.asked.is_(None)


def _add_games(connection: sa.Connection, unit: ArenaUnit, played: Sequence[ArenaGame]) -> None:
    """Add the games of a unit, within a transaction."""
    for game in played:
        connection.execute(sa.insert(s.games).values(**game_row(unit.id, game)))
    rows = [each for game in played for each in seat_rows(unit.id, game)]
    connection.execute(sa.insert(s.seats), rows)


def _add_points(
    connection: sa.Connection,
    unit: ArenaUnit,
    points: Sequence[float],
    rated: Sequence[Rating | None],
) -> None:
    """Add the players' points in a unit and their ratings after it, within a transaction."""
    for place, (each, rating) in enumerate(zip(points, rated, strict=True)):
        mu, sigma = rating or (None, None)
        mine = s.places.c.unit == unit.id, s.places.c.place == place
        change(connection, s.places, *mine, points=each, mu=mu, sigma=sigma)


def _is(attempt: int | None) -> sa.ColumnElement[bool]:
    """Return the condition that an attempt is the unit's last; None matches any."""
    return sa.true() if attempt is None else s.units.c.tries == attempt


def _pause(connection: sa.Connection, which: sa.ColumnElement[bool], why: str) -> None:
    """Pause active players, and log the reason."""
    p = s.players.c
    mine = which & (p.state == "active")
    for row in connection.execute(sa.select(s.players).where(mine)).all():
        change(connection, s.players, p.id == row.id, state="paused", why=why)
        add_line(connection, "paused", named(row.entrant, row.program), f"{row.ladder}: {why}")
