"""Unrated games on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.tables import add_line
from dovetail_experiments.arena.units import ArenaUnits, add_unit

WAITING = 10
"""Maximum games on request that an entrant may have waiting."""


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


class GameRequests(ArenaUnits):
    """Games on request in an arena's database."""

    def ask(self, season: int, ladder: str, seed: int, players: Sequence[int], by: str) -> int:
        """Plan an unrated unit; return its number.

        Args:
            season: the season's number.
            ladder: the ladder's name.
            seed: the arena's seed.
            players: the numbers of the players.
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
                sa.select(sa.func.count()).where(
                    u.asked == by, u.played.is_(None), u.dropped.is_(None)
                )
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
            unit: the unit's number.
            by: the entrant that requested it; None for any.

        Raises:
            DovetailError: there is no such unit, or it has started.
        """
        u = s.units.c
        mine = u.asked.is_not(None) if by is None else u.asked == by
        with self._writing() as connection:
            found = connection.execute(
                sa.update(s.units)
                .where(u.id == unit, mine, u.tries == 0, u.played.is_(None), u.dropped.is_(None))
                .values(dropped="it was withdrawn")
            ).rowcount
            if not found:
                raise DovetailError("this game has begun, or is not one that you asked for")

    def open(self) -> tuple[int, int]:
        """Return the number of requested units still to play, and the newest one's number.

        This is cheap.
        """
        u = s.units.c
        query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.max(u.id), 0)).where(
            u.asked.is_not(None), u.played.is_(None), u.dropped.is_(None)
        )
        with self._reader.begin() as connection:
            count, newest = connection.execute(query).one()
            return count, newest

    def requests(self, by: str | None = None, last: int = 20) -> list[GameRequest]:
        """Return the latest requested units, of one entrant or of all, newest first."""
        u = s.units.c
        query = sa.select(s.units).where(u.asked.is_not(None)).order_by(u.id.desc()).limit(last)
        if by is not None:
            query = query.where(u.asked == by)
        with self._reader.begin() as connection:
            rows = connection.execute(query).all()
            players: dict[int, list[int]] = {row.id: [] for row in rows}
            places = sa.select(s.places.c.unit, s.places.c.player).order_by(s.places.c.place)
            for place in connection.execute(places.where(s.places.c.unit.in_(players))):
                players[place.unit].append(place.player)
        return [
            GameRequest(
                row.id,
                row.ladder,
                row.asked,
                players[row.id],
                row.tries,
                row.played,
                row.dropped or "",
            )
            for row in rows
        ]
