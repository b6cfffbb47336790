"""The entrants of an arena, their credentials and presence, and the log of events."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.tables import PENDING, ArenaTables, add_line, change

State = Literal["active", "paused", "banned"]
BEAT = 5.0
"""Seconds between updates of the agents' presence."""
SILENT = 3 * BEAT
"""Seconds without an update after which the arena is taken to have ended."""


class LogLine(NamedTuple):
    """An action or an event in an arena."""

    at: float
    """Seconds since 1970, UTC."""
    what: str
    about: str
    text: str
    by: str
    """Origin of the action: ``arena``, ``command`` or ``page``; empty if an older version wrote
    it."""


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


class Entrants(ArenaTables):
    """The entrants, the presence of agents and the log in an arena's database."""

    def invite(self, name: str) -> str:
        """Return a new access token for an entrant; it replaces an earlier token or key."""
        token = secrets.token_hex(24)
        self.admit(name, _hash(token))
        return token

    def admit(self, name: str, shown: str) -> None:
        """Admit an entrant with a public key or a token's hash, which replaces an earlier one.

        Raises:
            DovetailError: the key belongs to another entrant.
        """
        e = s.entrants.c
        with self._writing() as connection:
            holder = connection.execute(sa.select(e.name).where(e.token == shown)).scalar()
            if holder not in (None, name):
                raise DovetailError(f"this is the key of {holder!r}; each entrant needs its own")
            known = change(connection, s.entrants, e.name == name, token=shown)
            if not known:
                new = sa.insert(s.entrants).values(name=name, token=shown, invited=time.time())
                connection.execute(new)
            add_line(connection, "invited", name, "again; earlier credential void" if known else "")

    def entrant(self, given: str) -> str | None:
        """Return the entrant with this access token; None if the token is unknown or the entrant
        banned."""
        query = sa.select(s.entrants.c.name).where(
            s.entrants.c.token == _hash(given), s.entrants.c.state != "banned"
        )
        found: str | None = self._value(query)
        return found

    def shown(self, name: str) -> str | None:
        """Return the hash of an entrant's access token, or its public key; None if it is banned."""
        e = s.entrants.c
        query = sa.select(e.token).where(e.name == name, e.state != "banned")
        found: str | None = self._value(query)
        return found

    def keys(self) -> dict[str, tuple[str, bool]]:
        """Return each entrant's public key and whether it may connect, by name."""
        e = s.entrants.c
        return {
            row.name: (row.token, row.state != "banned")
            for row in self._rows(sa.select(e.name, e.token, e.state).order_by(e.name))
            if len(row.token) == keys.LENGTH
        }

    def tokens(self) -> dict[str, str]:
        """Return the entrant for each valid access token, by the token's hash."""
        e = s.entrants.c
        rows = self._rows(sa.select(e.name, e.token).where(e.state != "banned"))
        return {row.token: row.name for row in rows if len(row.token) != keys.LENGTH}

    def entrants(self) -> dict[str, State]:
        """Return the state of each entrant, by name."""
        rows = self._rows(sa.select(s.entrants).order_by(s.entrants.c.name))
        return {row.name: row.state for row in rows}

    def mark(self, who: str, state: State, why: str) -> None:
        """Pause, ban or resume an entrant, or one program (``ENTRANT/PROGRAM``), in all ladders.

        A baseline has no entrant: ``/PROGRAM``.

        Raises:
            DovetailError: there is no such entrant or program.
        """
        entrant, slash, program = who.partition("/")
        p = s.players.c
        with self._writing() as connection:
            mine, to = p.entrant == entrant, {"state": state, "why": why}
            if slash:
                found = change(connection, s.players, mine, p.program == program, **to, faults=0)
            else:
                found = change(connection, s.entrants, s.entrants.c.name == entrant, **to)
                if state == "active":  # also undo pauses for faults
                    to["why"] = ""
                    change(connection, s.players, mine, p.state == "paused", **to, faults=0)
            if not found:
                raise DovetailError(
                    f"there is no entrant or program {who!r}; `dovetail arena standings` lists them"
                )
            add_line(connection, {"active": "resumed"}.get(state, state), who, why)

    def note(self, about: str, text: str) -> None:
        """Add a note to the log."""
        self.add("note", about, text)

    def add(self, what: str, about: str, text: str) -> None:
        """Log an action that changes no other table."""
        with self._writing() as connection:
            add_line(connection, what, about, text)

    def log(self, last: int = 50, about: Sequence[str] | None = None) -> list[LogLine]:
        """Return the latest log lines, oldest first; ``about`` restricts them to these subjects."""
        query = sa.select(s.log).order_by(s.log.c.id.desc()).limit(last)
        if about is not None:
            query = query.where(s.log.c.about.in_(about))
        rows = self._rows(query)[::-1]
        return [LogLine(r.at, r.what, r.about, r.text, r.by or "") for r in rows]

    def present(self, now: Mapping[int, str], before: Mapping[int, str]) -> None:
        """Record the players now online and those online before, each mapped to its address."""
        p, at = s.players.c, time.time()
        with self._writing() as connection:
            gone, here = [*(before.keys() - now.keys())], [*now]
            if gone:
                change(connection, s.players, p.id.in_(gone), since=None, seen=at)
            if here:
                change(connection, s.players, p.id.in_(here), seen=at)
            for each in here:
                if before.get(each) != now[each]:
                    address = now[each] or None
                    change(connection, s.players, p.id == each, since=at, address=address)

    def absent(self) -> None:
        """Record that no agent is online, when the arena starts or ends."""
        with self._writing() as connection:
            change(connection, s.players, since=None)

    def presence(self, ladder: str | None = None) -> dict[int, Presence]:
        """Return the presence of the players of a ladder, or of all, by player number."""
        p, u, now = s.players.c, s.units.c, time.time()
        query = sa.select(p.id, p.since, p.seen, p.address)
        if ladder is not None:
            query = query.where(p.ladder == ladder)
        begun = (
            sa.select(s.places.c.player)
            .join(s.units, s.places.c.unit == u.id)
            .where(PENDING, u.tries > 0)
        )
        playing = {row.player for row in self._rows(begun)}
        found = {}
        for row in self._rows(query):
            online = row.since is not None and now - (row.seen or 0.0) < SILENT
            found[row.id] = Presence(
                online, online and row.id in playing, row.seen, row.address or ""
            )
        return found


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
