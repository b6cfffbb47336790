"""The arena's one file: entrants, players, units and everything that was played.

Each change is one transaction, so that a program killed between two of them leaves a whole state: a unit is
planned, and is played again until it stands there with all its games and the ratings after it.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from dovetail.experiments import database
from dovetail.experiments.arena import schema as s
from dovetail.experiments.arena.games import Game, worth
from dovetail.experiments.arena.pairing import round_robin
from dovetail.experiments.arena.rows import (
    Played,
    Rating,
    Unit,
    game_row,
    ratings,
    seat_rows,
    units,
)
from dovetail.experiments.statistics.ranked import after
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail.transport import keys

FILE = "arena.db"
State = Literal["active", "paused", "banned"]


def named(entrant: str, program: str) -> str:
    """Return what tables call a program; a baseline has no entrant."""
    return f"{entrant}/{program}" if entrant else program


@dataclass(frozen=True, slots=True)
class Player:
    """A program in a ladder."""

    id: int
    ladder: str
    entrant: str
    """Empty for a baseline."""
    program: str
    state: State
    """The entrant's state, if that is worse than its own."""
    why: str
    faults: int = 0
    """Losses by fault in a row; 0 if it was its operator who paused it."""

    @property
    def name(self) -> str:
        """What tables call it."""
        return named(self.entrant, self.program)


@dataclass(frozen=True, slots=True)
class Season:
    """A stretch of time with a table of its own."""

    number: int
    name: str
    began: float
    ended: float | None
    final: float | None = None
    """When its final began, if it did."""


class Store:
    """An arena's database.

    Args:
        path: the file.
        create: whether to create it if it is not there.

    Raises:
        DovetailError: it cannot be opened, is not an arena's, or a newer version wrote it.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        if not create and not path.is_file():
            raise DovetailError(f"{path} does not exist; `dovetail arena FILE` creates it")
        url = sa.make_url(f"sqlite:///{path}")
        self._engine = database.engine(url, "BEGIN IMMEDIATE")
        self._reader = database.engine(url, "BEGIN")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if create:
                with self._engine.connect() as connection:
                    # Pages and the broker read while the arena writes.
                    connection.connection.cursor().execute("PRAGMA journal_mode=WAL")
                with self._engine.begin() as connection:
                    s.metadata.create_all(connection)
                    if connection.execute(sa.select(s.arena.c.version)).scalar() is None:
                        connection.execute(sa.insert(s.arena).values(version=s.VERSION))
            with self._reader.begin() as connection:
                found = connection.execute(sa.select(s.arena.c.version)).scalar()
            if found == 1:
                with self._engine.begin() as connection:
                    _from_1(connection)
                found = s.VERSION
        except (sa.exc.SQLAlchemyError, OSError) as error:
            raise DovetailError(f"cannot use {path}: {database.line(error)}") from None
        if found != s.VERSION:
            raise DovetailError(
                f"{path} has version {found} of an arena's tables; this program reads {s.VERSION}"
            )
        if create:
            self.season()

    def close(self) -> None:
        """Close it."""
        self._engine.dispose()
        self._reader.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise DovetailError(f"cannot write {self.path}: {database.line(error)}") from None

    # -- entrants ---------------------------------------------------------------------------------

    def invite(self, name: str) -> str:
        """Return a new access token of an entrant; an earlier one, or its key, is void from now on."""
        token = secrets.token_hex(24)
        self._admit(name, _hash(token))
        return token

    def admit(self, name: str, public: str) -> None:
        """Let an entrant in with a public key; an earlier key, or its access token, is void from now on.

        Raises:
            DovetailError: the key is another entrant's.
        """
        self._admit(name, public)

    def _admit(self, name: str, shown: str) -> None:
        e = s.entrants.c
        with self._writing() as connection:
            holder = connection.execute(sa.select(e.name).where(e.token == shown)).scalar()
            if holder not in (None, name):
                raise DovetailError(f"this is the key of {holder!r}; each entrant needs its own")
            mine = sa.update(s.entrants).where(e.name == name).values(token=shown)
            known = connection.execute(mine).rowcount
            if not known:
                new = sa.insert(s.entrants).values(name=name, token=shown, invited=time.time())
                connection.execute(new)
            _log(connection, "invited", name, "again; what it had is void" if known else "")

    def entrant(self, given: str) -> str | None:
        """Return whose access token or secret key this is; None if it is unknown or its entrant is banned."""
        shown = [_hash(given)] if keys.problem(given) else [_hash(given), keys.public(given)]
        query = sa.select(s.entrants.c.name).where(
            s.entrants.c.token.in_(shown), s.entrants.c.state != "banned"
        )
        with self._reader.begin() as connection:
            found: str | None = connection.execute(query).scalar()
            return found

    def keys(self) -> dict[str, tuple[str, bool]]:
        """Return the public key of each entrant that has one, and whether it may use it, by name."""
        e = s.entrants.c
        with self._reader.begin() as connection:
            rows = connection.execute(sa.select(e.name, e.token, e.state).order_by(e.name))
            return {
                row.name: (row.token, row.state != "banned")
                for row in rows
                if len(row.token) == keys.LENGTH
            }

    def entrants(self) -> dict[str, State]:
        """Return the state of each entrant, by name."""
        with self._reader.begin() as connection:
            rows = connection.execute(sa.select(s.entrants).order_by(s.entrants.c.name))
            return {row.name: row.state for row in rows}

    def mark(self, who: str, state: State, why: str) -> None:
        """Pause, ban or resume an entrant, or one program as ``ENTRANT/PROGRAM``, in all ladders.

        A baseline is a program of no entrant: ``/PROGRAM``.

        Raises:
            DovetailError: there is no such entrant or program.
        """
        entrant, slash, program = who.partition("/")
        p = s.players.c
        with self._writing() as connection:
            mine = sa.update(s.players).where(p.entrant == entrant)
            if slash:
                found = connection.execute(
                    mine.where(p.program == program).values(state=state, why=why, faults=0)
                ).rowcount
            else:
                found = connection.execute(
                    sa.update(s.entrants)
                    .where(s.entrants.c.name == entrant)
                    .values(state=state, why=why)
                ).rowcount
                if state == "active":  # what was paused for its faults as well
                    connection.execute(
                        mine.where(p.state == "paused").values(state=state, why="", faults=0)
                    )
            if not found:
                raise DovetailError(
                    f"there is no entrant or program {who!r}; `dovetail arena standings` lists them"
                )
            _log(connection, {"active": "resumed"}.get(state, state), who, why)

    def note(self, about: str, text: str) -> None:
        """Write a note into the log."""
        with self._writing() as connection:
            _log(connection, "note", about, text)

    def log(
        self, last: int = 50, about: Sequence[str] | None = None
    ) -> list[tuple[float, str, str, str]]:
        """Return the latest lines of the log, or those about some, the oldest first: when, what, whom, text."""
        query = sa.select(s.log).order_by(s.log.c.id.desc()).limit(last)
        if about is not None:
            query = query.where(s.log.c.about.in_(about))
        with self._reader.begin() as connection:
            rows = [(r.at, r.what, r.about, r.text) for r in connection.execute(query)]
        return rows[::-1]

    # -- seasons ----------------------------------------------------------------------------------

    def season(self, name: str | None = None) -> Season:
        """Return the present season, or begin one of this name, which ends the one before.

        Raises:
            DovetailError: there was a season of this name.
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
            connection.execute(sa.update(s.seasons).where(c.ended.is_(None)).values(ended=now))
            connection.execute(sa.insert(s.seasons).values(number=number, name=name, began=now))
            connection.execute(
                sa.update(s.units)
                .where(s.units.c.played.is_(None), s.units.c.dropped.is_(None))
                .values(dropped="the season ended")
            )
            _log(connection, "season", name, "")
        return Season(number, name, now, None)

    def final(self, seed: int, ladders: Mapping[str, int], rounds: int = 1) -> dict[str, int]:
        """Begin the final of the season, a round robin; return how many units each ladder plays.

        Everyone plays who has played in the season and is not paused or banned. Units under way still count.

        Args:
            seed: the arena's.
            ladders: how many meet in a unit of each ladder.
            rounds: how often everyone meets everyone else.

        Raises:
            DovetailError: the final has begun already, or there are too few players.
        """
        season = self.season()
        if season.final is not None:
            raise DovetailError(
                f"the final of season {season.name!r} has begun already; begin another season after it"
            )
        counts, found = self.counts(season.number), {}
        for name, size in ladders.items():
            players = {
                number: each.entrant
                for number, each in self.players(name).items()
                if each.state == "active" and number in counts
            }
            rng = random.Random(derive(seed, name, "final", season.number))
            found[name] = [unit for _ in range(rounds) for unit in round_robin(players, size, rng)]
        if not any(found.values()):
            raise DovetailError("too few agents have played in this season for a final")
        u = s.units.c
        with self._writing() as connection:
            connection.execute(
                sa.update(s.units)
                .where(u.played.is_(None), u.dropped.is_(None), u.tries == 0)
                .values(dropped="the final began")
            )
            connection.execute(
                sa.update(s.seasons)
                .where(s.seasons.c.number == season.number)
                .values(final=time.time())
            )
            for name, units in found.items():
                for each in units:
                    _plan(connection, season.number, name, seed, each)
            _log(connection, "final", season.name, f"{sum(map(len, found.values()))} units")
        return {name: len(units) for name, units in found.items()}

    def end(self, season: Season, why: str = "the final is over") -> None:
        """Write down that a season is over."""
        with self._writing() as connection:
            connection.execute(
                sa.update(s.seasons)
                .where(s.seasons.c.number == season.number)
                .values(ended=time.time())
            )
            _log(connection, "ended", season.name, why)

    def seasons(self) -> list[Season]:
        """Return all seasons, the oldest first."""
        with self._reader.begin() as connection:
            rows = connection.execute(sa.select(s.seasons).order_by(s.seasons.c.number))
            return [Season(*row) for row in rows]

    # -- players ----------------------------------------------------------------------------------

    def enter(self, ladder: str, entrant: str, program: str) -> int:
        """Return the number of a program in a ladder; it is new if it was never there."""
        c = s.players.c
        query = sa.select(c.id).where(
            c.ladder == ladder, c.entrant == entrant, c.program == program
        )
        with self._writing() as connection:
            found = connection.execute(query).scalar()
            if found is not None:
                return int(found)
            key = connection.execute(
                sa.insert(s.players).values(
                    ladder=ladder, entrant=entrant, program=program, entered=time.time()
                )
            ).inserted_primary_key
            assert key is not None
            _log(connection, "entered", named(entrant, program), ladder)
            return int(key[0])

    def players(self, ladder: str | None = None) -> dict[int, Player]:
        """Return the players of a ladder, or of all, by number."""
        query = sa.select(
            s.players,
            s.entrants.c.state.label("entrant_state"),
            s.entrants.c.why.label("entrant_why"),
        ).join(s.entrants, s.players.c.entrant == s.entrants.c.name, isouter=True)
        if ladder is not None:
            query = query.where(s.players.c.ladder == ladder)
        found = {}
        with self._reader.begin() as connection:
            for row in connection.execute(query.order_by(s.players.c.id)):
                worse = row.entrant_state in ("paused", "banned") and row.state != "banned"
                state, why = (row.entrant_state, row.entrant_why) if worse else (row.state, row.why)
                faults = 0 if worse else row.faults
                found[row.id] = Player(
                    row.id, row.ladder, row.entrant, row.program, state, why, faults
                )
        return found

    # -- units ------------------------------------------------------------------------------------

    def plan(self, season: int, ladder: str, seed: int, players: Sequence[int]) -> Unit:
        """Write down that a unit will be played; its seed is derived from the arena's."""
        with self._writing() as connection:
            return _plan(connection, season, ladder, seed, players)

    def planned(self, season: int) -> list[Unit]:
        """Return the units that were planned and not finished, the oldest first."""
        u, p = s.units.c, s.places.c
        query = (
            sa.select(u.id, u.ladder, u.seed, u.tries, p.player)
            .join(s.places, p.unit == u.id)
            .where(u.season == season, u.played.is_(None), u.dropped.is_(None))
            .order_by(u.id, p.place)
        )
        found: dict[int, Unit] = {}
        with self._reader.begin() as connection:
            for row in connection.execute(query):
                unit = found.setdefault(row.id, Unit(row.id, row.ladder, row.seed, [], row.tries))
                unit.players.append(row.player)
        return list(found.values())

    def begin(self, unit: Unit) -> int:
        """Count a try to play a unit; return its number."""
        mine = s.units.c.id == unit.id
        with self._writing() as connection:
            connection.execute(sa.update(s.units).where(mine).values(tries=s.units.c.tries + 1))
            return int(connection.execute(sa.select(s.units.c.tries).where(mine)).scalar_one())

    def drop(self, unit: Unit, why: str, tries: int = 0) -> None:
        """Give a planned unit up, if it was tried so often."""
        with self._writing() as connection:
            connection.execute(
                sa.update(s.units)
                .where(s.units.c.id == unit.id, s.units.c.tries >= tries)
                .values(dropped=why)
            )

    def finish(self, season: int, unit: Unit, played: Sequence[Game], most: int) -> list[Rating]:
        """Record a unit with all its games, in one transaction; return its players' ratings.

        Args:
            season: that ratings are of.
            unit: as planned.
            played: its games.
            most: how many losses by fault in a row pause a player.
        """
        points = worth(played, len(unit.players))
        p, u = s.players.c, s.units.c
        with self._writing() as connection:
            order = 1 + (connection.execute(sa.select(sa.func.max(u.played))).scalar() or 0)
            before = ratings(connection, season, unit.players)
            waiting = u.played.is_(None) & u.dropped.is_(None)
            taken = connection.execute(
                sa.update(s.units)
                .where((u.id == unit.id) & waiting)
                .values(played=order, finished=time.time())
            )
            if taken.rowcount != 1:  # it counts already, or its season is over
                return []
            ranking = {str(who): -each for who, each in zip(unit.players, points, strict=True)}
            rated = after({str(who): each for who, each in before.items()}, ranking)
            for place, (who, each) in enumerate(zip(unit.players, points, strict=True)):
                mu, sigma = rated[str(who)]
                connection.execute(
                    sa.update(s.places)
                    .where(s.places.c.unit == unit.id, s.places.c.place == place)
                    .values(points=each, mu=mu, sigma=sigma)
                )
            for game in played:
                connection.execute(sa.insert(s.games).values(**game_row(unit.id, game)))
            connection.execute(
                sa.insert(s.seats), [each for game in played for each in seat_rows(unit.id, game)]
            )
            for place, who in enumerate(unit.players):
                mine = p.id == who
                faults = connection.execute(sa.select(p.faults).where(mine)).scalar_one()
                last = None
                for game in played:
                    if place in game.seating:
                        faults = faults + 1 if game.fault == place else 0
                        last = game if game.fault == place else last
                connection.execute(sa.update(s.players).where(mine).values(faults=faults))
                if last is not None:
                    text = f"{most} losses by fault in a row, the last in unit {unit.id}: {last.reason}"
                    text += f" ({last.message})" if last.message else ""
                    _pause(connection, mine & (p.faults >= most), text)
        return [rated[str(who)] for who in unit.players]

    def tried(self, player: int, fault: str) -> None:
        """Take how an agent that was paused for its faults did against a baseline; it is back if ``fault`` is empty."""
        mine = (s.players.c.id == player) & (s.players.c.state == "paused")
        with self._writing() as connection:
            if fault:
                text = f"losses by fault; the last against a baseline: {fault}"
                connection.execute(sa.update(s.players).where(mine).values(why=text))
                return
            for row in connection.execute(sa.select(s.players).where(mine)).all():
                connection.execute(
                    sa.update(s.players).where(mine).values(state="active", why="", faults=0)
                )
                text = f"{row.ladder}: played without a fault against a baseline"
                _log(connection, "resumed", named(row.entrant, row.program), text)

    def ratings(self, season: int, players: Sequence[int]) -> dict[int, Rating]:
        """Return the present ratings of players that have one in a season."""
        with self._reader.begin() as connection:
            return ratings(connection, season, players)

    def counts(self, season: int) -> dict[int, tuple[int, int]]:
        """Return how many units each player has played in a season, and the order of its last."""
        u, p = s.units.c, s.places.c
        query = (
            sa.select(p.player, sa.func.count(), sa.func.max(u.played))
            .join(s.units, p.unit == u.id)
            .where(u.season == season, u.played.is_not(None))
            .group_by(p.player)
        )
        with self._reader.begin() as connection:
            return {row[0]: (row[1], row[2]) for row in connection.execute(query)}

    def latest(self, season: int, ladder: str) -> int:
        """Return the order of the last unit that counts; 0 if there is none."""
        u = s.units.c
        query = sa.select(sa.func.max(u.played)).where(u.season == season, u.ladder == ladder)
        with self._reader.begin() as connection:
            return connection.execute(query).scalar() or 0

    def played(
        self, season: int, ladder: str, *, player: int | None = None, last: int | None = None
    ) -> list[Played]:
        """Return the units of a ladder that count, in the order in which they ended.

        Args:
            season: its number.
            ladder: its name.
            player: only those of this player.
            last: only so many, the latest.
        """
        u = s.units.c
        query = sa.select(u.id).where(u.season == season, u.ladder == ladder, u.played.is_not(None))
        if player is not None:
            of = sa.select(s.places.c.unit).where(s.places.c.player == player)
            query = query.where(u.id.in_(of))
        if last is not None:
            query = query.order_by(u.played.desc()).limit(last)
        with self._reader.begin() as connection:
            return units(connection, query)


def _from_1(connection: sa.Connection) -> None:
    """Bring tables of version 1 up to date, unless another program just has."""
    if connection.execute(sa.select(s.arena.c.version)).scalar() == 1:
        connection.execute(sa.text("ALTER TABLE seasons ADD COLUMN final FLOAT"))
        connection.execute(sa.update(s.arena).values(version=s.VERSION))


def _plan(
    connection: sa.Connection, season: int, ladder: str, seed: int, players: Sequence[int]
) -> Unit:
    number = 1 + (connection.execute(sa.select(sa.func.max(s.units.c.id))).scalar() or 0)
    unit = Unit(number, ladder, derive(seed, ladder, "unit", number), list(players), 0)
    connection.execute(
        sa.insert(s.units).values(
            id=number, season=season, ladder=ladder, seed=unit.seed, planned=time.time()
        )
    )
    connection.execute(
        sa.insert(s.places),
        [{"unit": number, "place": i, "player": p} for i, p in enumerate(players)],
    )
    return unit


def _pause(connection: sa.Connection, which: sa.ColumnElement[bool], why: str) -> None:
    """Pause players that are active, and say why in the log."""
    p = s.players.c
    mine = which & (p.state == "active")
    for row in connection.execute(sa.select(s.players).where(mine)).all():
        connection.execute(
            sa.update(s.players).where(p.id == row.id).values(state="paused", why=why)
        )
        _log(connection, "paused", named(row.entrant, row.program), f"{row.ladder}: {why}")


def _log(connection: sa.Connection, what: str, about: str, text: str) -> None:
    connection.execute(sa.insert(s.log).values(at=time.time(), what=what, about=about, text=text))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
