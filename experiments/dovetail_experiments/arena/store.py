"""The arena's database: seasons and players, and by inheritance entrants, the log and units.

Each change is one transaction, so a program killed between two of them leaves a consistent state. A
planned unit is replayed until all its games and the resulting ratings are recorded.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from dovetail.peer.closing import Closing
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.entrants import Entrants, State
from dovetail_experiments.arena.pairing import round_robin
from dovetail_experiments.arena.submissions import Submissions
from dovetail_experiments.arena.tables import PENDING, add_line, change, named
from dovetail_experiments.arena.units import ArenaUnits, add_unit
from dovetail_experiments.records import database

FILE = "arena.db"


@dataclass(frozen=True, slots=True)
class LadderPlayer:
    """A program in a ladder."""

    id: int
    ladder: str
    entrant: str
    """The entrant's name; empty for a baseline."""
    program: str
    state: State
    """The entrant's state if worse than the program's own."""
    why: str
    faults: int = 0
    """Consecutive losses by fault; 0 if its operator paused it."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        return named(self.entrant, self.program)


@dataclass(frozen=True, slots=True)
class Season:
    """A period with its own standings."""

    number: int
    name: str
    began: float
    ended: float | None
    final: float | None = None
    """Start of its final, if it has begun."""


class ArenaStore(Entrants, ArenaUnits, Submissions, Closing):
    """An arena's database.

    Args:
        create: create the file if it is missing.
        by: the origin to record for actions: ``arena``, ``command`` or ``page``.

    Raises:
        DovetailError: the file cannot be opened, is not an arena, or is from a newer version.
    """

    def __init__(self, path: Path, *, create: bool = False, by: str = "arena") -> None:
        if not create and not path.is_file():
            raise DovetailError(f"{path} does not exist; `dovetail arena FILE` creates it")
        super().__init__(path, by)
        try:
            if create:
                _for_owner(path)
                with self._engine.connect() as connection:
                    # Pages and the broker read while the arena writes.
                    connection.connection.cursor().execute("PRAGMA journal_mode=WAL")
                with self._engine.begin() as connection:
                    s.metadata.create_all(connection)
                    if connection.execute(sa.select(s.arena.c.version)).scalar() is None:
                        connection.execute(sa.insert(s.arena).values(version=s.VERSION))
            with self._reader.begin() as connection:
                found = connection.execute(sa.select(s.arena.c.version)).scalar()
            if found in _STEPS:
                with self._engine.begin() as connection:
                    found = _upgrade(connection)
        except (sa.exc.SQLAlchemyError, OSError) as error:
            raise DovetailError(f"cannot use {path}: {database.line(error)}") from None
        if found != s.VERSION:
            raise DovetailError(
                f"{path} has version {found} of an arena's tables; this program reads {s.VERSION}"
            )
        if create:
            self.season()

    # -- seasons ----------------------------------------------------------------------------------

    def season(self, name: str | None = None) -> Season:
        """Return the current season; or start a new one with this name, ending the one before.

        Raises:
            DovetailError: the name was already used.
        """
        c = s.seasons.c
        with self._writing() as connection:
            rows = connection.execute(sa.select(s.seasons).order_by(c.number)).all()
            if name is None and rows:
                return Season(*rows[-1])
            name = name or "1"
            if any(row.name == name for row in rows):
                raise DovetailError(f"there was a season {name!r}; choose another name")
            now = time.time()
            number = len(rows) + 1
            change(connection, s.seasons, c.ended.is_(None), ended=now)
            connection.execute(sa.insert(s.seasons).values(number=number, name=name, began=now))
            change(connection, s.units, PENDING, dropped="the season ended")
            add_line(connection, "season", name, "")
        return Season(number, name, now, None)

    def final(self, seed: int, ladders: Mapping[str, int], rounds: int = 1) -> dict[str, int]:
        """Start the season's final, a round robin; return the number of units in each ladder.

        Every player that has played in the season takes part unless paused or banned. Units in
        progress still count.

        Args:
            ladders: players per unit of each ladder.
            rounds: the number of times each pair meets.

        Raises:
            DovetailError: the final has already begun, or there are too few players.
        """
        season = self.season()
        if season.final is not None:
            raise DovetailError(
                f"the final of season {season.name!r} has begun already; begin another season "
                "after it"
            )
        counts, found = self.counts(season.number), {}
        master = self.master(season.number, seed)
        for name, size in ladders.items():
            players = {
                number: each.entrant
                for number, each in self.players(name).items()
                if each.state == "active" and number in counts
            }
            rng = random.Random(derive(master, name, "final", season.number))
            found[name] = [unit for _ in range(rounds) for unit in round_robin(players, size, rng)]
        if not any(found.values()):
            raise DovetailError("too few agents have played in this season for a final")
        mine = s.seasons.c.number == season.number
        with self._writing() as connection:
            change(connection, s.units, PENDING, s.units.c.tries == 0, dropped="the final began")
            change(connection, s.seasons, mine, final=time.time())
            for name, units in found.items():
                for each in units:
                    add_unit(connection, season.number, name, master, each)
            add_line(connection, "final", season.name, f"{sum(map(len, found.values()))} units")
        return {name: len(units) for name, units in found.items()}

    def end(self, season: Season, why: str = "the final is over") -> None:
        """Record the end of a season."""
        mine = s.seasons.c.number == season.number
        with self._writing() as connection:
            change(connection, s.seasons, mine, ended=time.time())
            add_line(connection, "ended", season.name, why)

    def seasons(self) -> list[Season]:
        """Return all seasons, oldest first."""
        rows = self._rows(sa.select(s.seasons).order_by(s.seasons.c.number))
        return [Season(*row) for row in rows]

    # -- players ----------------------------------------------------------------------------------

    def enter(self, ladder: str, entrant: str, program: str) -> int:
        """Return the number of a program in a ladder, adding it if it is new."""
        c = s.players.c
        query = sa.select(c.id).where(
            c.ladder == ladder, c.entrant == entrant, c.program == program
        )
        with self._writing() as connection:
            found = connection.execute(query).scalar()
            if found is not None:
                return int(found)
            row = sa.insert(s.players).values(
                ladder=ladder, entrant=entrant, program=program, entered=time.time()
            )
            number = database.inserted(connection, row)
            add_line(connection, "entered", named(entrant, program), ladder)
            return number

    def players(self, ladder: str | None = None) -> dict[int, LadderPlayer]:
        """Return the players of a ladder, or of all, by number."""
        query = sa.select(
            s.players,
            s.entrants.c.state.label("entrant_state"),
            s.entrants.c.why.label("entrant_why"),
        ).join(s.entrants, s.players.c.entrant == s.entrants.c.name, isouter=True)
        if ladder is not None:
            query = query.where(s.players.c.ladder == ladder)
        found = {}
        for row in self._rows(query.order_by(s.players.c.id)):
            worse = row.entrant_state in ("paused", "banned") and row.state != "banned"
            state, why = (row.entrant_state, row.entrant_why) if worse else (row.state, row.why)
            faults = 0 if worse else row.faults
            found[row.id] = LadderPlayer(
                row.id, row.ladder, row.entrant, row.program, state, why, faults
            )
        return found


def _for_owner(path: Path) -> None:
    """Restrict an arena's new folder and file to their owner."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for each in path.parent.glob(f"{path.name}*"):  # SQLite's companion files inherit its mode
        each.chmod(0o600)


_STEPS = {
    1: ("ALTER TABLE seasons ADD COLUMN final FLOAT",),
    2: ("ALTER TABLE units ADD COLUMN software VARCHAR NOT NULL DEFAULT ''",),
    3: (
        "ALTER TABLE players ADD COLUMN since FLOAT",
        "ALTER TABLE players ADD COLUMN seen FLOAT",
        "ALTER TABLE players ADD COLUMN address VARCHAR",
        "ALTER TABLE units ADD COLUMN asked VARCHAR",
        "CREATE INDEX ix_units_asked ON units (asked)",
        'ALTER TABLE log ADD COLUMN "by" VARCHAR',
    ),
    4: (
        "CREATE INDEX ix_units_played ON units (season, ladder, played)",
        "CREATE INDEX ix_units_pending ON units (season) WHERE played IS NULL AND dropped IS NULL",
    ),
}
"""SQL that migrates each version to the next."""


def _upgrade(connection: sa.Connection) -> int:
    """Migrate tables of an earlier version unless another program just has; return the version."""
    found = int(connection.execute(sa.select(s.arena.c.version)).scalar_one())
    while found in _STEPS:
        for step in _STEPS[found]:
            connection.execute(sa.text(step))
        found += 1
    s.metadata.create_all(connection)
    connection.execute(sa.update(s.arena).values(version=found))
    return found
