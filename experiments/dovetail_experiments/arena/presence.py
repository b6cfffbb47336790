"""Presence of agents: when each connected, when it was last seen, and its address."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.tables import ArenaTables

BEAT = 5.0
"""Seconds between updates of the agents' presence."""
SILENT = 3 * BEAT
"""Seconds without an update after which the arena is taken to have ended."""


@dataclass(frozen=True, slots=True)
class Presence:
    """The presence of an agent."""

    online: bool = False
    playing: bool = False
    seen: float | None = None
    """Time last seen, in seconds since 1970, UTC; None if never."""
    address: str = ""
    """Address of the machine it last connected from; empty if unknown."""

    @property
    def state(self) -> str:
        """``playing``, ``online`` or ``away``."""
        return "playing" if self.playing else "online" if self.online else "away"

    def away(self, now: float) -> str:
        """Return how long it has been away, as text; empty if it is online or was never seen."""
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
        """Record the players now online and those online before, each mapped to its address."""
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
        """Record that no agent is online, when the arena starts or ends."""
        with self._writing() as connection:
            connection.execute(sa.update(s.players).values(since=None))

    def presence(self, ladder: str | None = None) -> dict[int, Presence]:
        """Return the presence of the players of a ladder, or of all, by player number."""
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
