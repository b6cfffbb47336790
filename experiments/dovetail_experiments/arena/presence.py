"""The presence of agents: when each connected, was last seen, and from where."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.tables import ArenaTables

BEAT = 5.0
"""Seconds between two notes of who is still there."""
SILENT = 3 * BEAT
"""Seconds without a note after which no one is there: the arena has ended."""


@dataclass(frozen=True, slots=True)
class Presence:
    """The presence of an agent."""

    online: bool = False
    playing: bool = False
    seen: float | None = None
    """When it was last there, in seconds since 1970, UTC; None for never."""
    address: str = ""
    """The address of the machine from which it connected last, if that is known."""

    @property
    def state(self) -> str:
        """``playing``, ``online`` or ``away``."""
        return "playing" if self.playing else "online" if self.online else "away"

    def away(self, now: float) -> str:
        """Return for how long it has been away, for a reader; empty if it is there, or never
        was."""
        if self.online or self.seen is None:
            return ""
        seconds = max(0, int(now - self.seen))
        for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
            if seconds >= size:
                return f"{seconds // size} {unit}"
        return f"{seconds} s"


class Presences(ArenaTables):
    """The presence of agents in an arena's database."""

    def present(self, now: Mapping[int, str], before: Mapping[int, str]) -> None:
        """Write down who is there, by player with its address, and who was there a moment ago."""
        p, at = s.players.c, time.time()
        with self._writing() as connection:
            gone, here = [*(before.keys() - now.keys())], [*now]
            if gone:
                connection.execute(
                    sa.update(s.players).where(p.id.in_(gone)).values(since=None, seen=at)
                )
            if here:
                connection.execute(sa.update(s.players).where(p.id.in_(here)).values(seen=at))
            for each in here:
                if before.get(each) != now[each]:
                    connection.execute(
                        sa.update(s.players)
                        .where(p.id == each)
                        .values(since=at, address=now[each] or None)
                    )

    def absent(self) -> None:
        """Write down that no one is there: the arena begins, or ends."""
        with self._writing() as connection:
            connection.execute(sa.update(s.players).values(since=None))

    def presence(self, ladder: str | None = None) -> dict[int, Presence]:
        """Return who is there, by player, of a ladder or of all."""
        p, u, now = s.players.c, s.units.c, time.time()
        query = sa.select(p.id, p.since, p.seen, p.address)
        if ladder is not None:
            query = query.where(p.ladder == ladder)
        begun = (
            sa.select(s.places.c.player)
            .join(s.units, s.places.c.unit == u.id)
            .where(u.played.is_(None), u.dropped.is_(None), u.tries > 0)
        )
        with self._reader.begin() as connection:
            playing = {row.player for row in connection.execute(begun)}
            found = {}
            for row in connection.execute(query):
                online = row.since is not None and now - (row.seen or 0.0) < SILENT
                found[row.id] = Presence(
                    online, online and row.id in playing, row.seen, row.address or ""
                )
            return found
