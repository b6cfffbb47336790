"""Episodes as rows, written in bulk and read back a limited number at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec
import sqlalchemy as sa

from dovetail.protocol.messages import Episode, SeatResult
from dovetail.protocol.seats import seated
from dovetail_experiments.records import schema as s
from dovetail_experiments.records.damage import damaged

CHUNK = 5_000
"""Episodes per read."""

Seating = tuple[Sequence[str], bool]
"""The agents of a stage in the order of the file, and whether they rotate through the seats."""


def insert(
    connection: sa.Connection, given: Sequence[tuple[int, Episode]], seating: Mapping[int, Seating]
) -> None:
    """Insert results into the tables ``episodes``, ``seats`` and ``measures``.

    Args:
        connection: a connection in a transaction that locks SQLite for writing.
        given: results, each with the id of its stage.
        seating: the seating of each stage, by its id.
    """
    rows = [_row(stage, each) for stage, each in given]
    numbers = _inserted(connection, rows)
    seats: list[tuple[Any, ...]] = []
    measures: list[tuple[Any, ...]] = []
    for number, (stage, episode) in zip(numbers, given, strict=True):
        names, rotate = seating[stage]
        agents = seated(names, episode.index if rotate else 0)
        outcome = episode.outcome
        for place, seat in enumerate(episode.seats):
            total = seat.total
            seats.append(
                (
                    number,
                    place,
                    agents[place],
                    seat.agent,
                    seat.instance,
                    None if total != total else total,
                    None if outcome is None else outcome[place],
                    seat.decisions,
                    seat.seconds,
                    seat.breaches,
                    seat.ignored,
                    seat.refused,
                )
            )
            for name, value in seat.measures.items():
                measures.append((number, place, name, value if math.isfinite(value) else None))
    _bulk(connection, s.seats, list(s.seats.columns), seats)
    _bulk(connection, s.measures, list(s.measures.columns), measures)


def _row(stage: int, episode: Episode) -> tuple[Any, ...]:
    """Return a row of ``episodes``, without the id."""
    opening = ""
    if episode.opening:
        opening = msgspec.json.encode(episode.opening, enc_hook=repr).decode()
    return (
        stage,
        episode.index,
        episode.seed,
        episode.reason,
        episode.blame,
        episode.turns,
        episode.scored,
        episode.will_retry,
        episode.message,
        episode.digest,
        opening,
    )


def _inserted(connection: sa.Connection, rows: Sequence[tuple[Any, ...]]) -> Sequence[int]:
    """Insert rows of ``episodes``; return their ids."""
    key, *columns = s.episodes.columns
    match connection.dialect.name:
        case "sqlite":
            # No other program writes now, and explicit ids count as used.
            query = "SELECT seq FROM sqlite_sequence WHERE name = 'episodes'"
            last = connection.exec_driver_sql(query).scalar() or 0
            numbers: Sequence[int] = range(last + 1, last + 1 + len(rows))
        case "postgresql":
            query = (
                "SELECT nextval(pg_get_serial_sequence('episodes', 'id')) "
                "FROM generate_series(1, :count)"
            )
            found = connection.execute(sa.text(query), {"count": len(rows)})
            numbers = found.scalars().all()
        case _:
            plain = [dict(zip([c.name for c in columns], row, strict=True)) for row in rows]
            insert = sa.insert(s.episodes).returning(key, sort_by_parameter_order=True)
            return connection.execute(insert, plain).scalars().all()
    full = [(number, *row) for number, row in zip(numbers, rows, strict=True)]
    _bulk(connection, s.episodes, [key, *columns], full)
    return numbers


def _bulk(
    connection: sa.Connection,
    table: sa.Table,
    columns: Sequence[sa.Column[Any]],
    rows: list[tuple[Any, ...]],
) -> None:
    """Insert rows with the database's fastest method."""
    if not rows:
        return
    names = [each.name for each in columns]
    driver = connection.dialect.driver
    if driver == "pysqlite":
        statement = sa.insert(table).compile(dialect=connection.dialect, column_keys=names)
        connection.exec_driver_sql(str(statement), rows)
    elif driver == "psycopg":
        quote = connection.dialect.identifier_preparer.quote
        there = f"{quote(table.name)} ({', '.join(map(quote, names))})"
        cursor: Any = connection.connection.cursor()
        with cursor.copy(f"COPY {there} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    else:
        connection.execute(sa.insert(table), [dict(zip(names, row, strict=True)) for row in rows])


def read(
    reading: Callable[[], AbstractContextManager[sa.Connection]],
    stage: int,
    again: bool | None = None,
) -> Iterator[Episode]:
    """Yield the episodes of a stage in the order in which they ended, a chunk at a time.

    Args:
        reading: opens a transaction, one for each chunk, since the caller may take long.
        again: True for retried episodes only, False for the others; None for all.

    Raises:
        DovetailError: an opening is not JSON.
    """
    last, more = 0, True
    while more:
        with reading() as connection:
            found = list(_chunk(connection, stage, last, again))
        yield from found
        more = len(found) == CHUNK
        last = found[-1].episode if found else last


def _chunk(
    connection: sa.Connection, stage: int, after: int, again: bool | None
) -> Iterator[Episode]:
    """Yield the next results of a stage after an id."""
    e = s.episodes.c
    query = sa.select(s.episodes).where(e.stage == stage, e.id > after)
    if again is not None:
        query = query.where(e.again if again else ~e.again)
    rows = _plain(connection, query.order_by(e.id).limit(CHUNK))
    if not rows:
        return
    first, last = rows[0][0], rows[-1][0]

    def parts(table: sa.Table) -> Sequence[tuple[Any, ...]]:
        query = sa.select(table).where(table.c.episode.between(first, last))
        if last - first >= len(rows):  # other episodes lie between them
            query = query.join(s.episodes, table.c.episode == e.id).where(e.stage == stage)
            if again is not None:
                query = query.where(e.again if again else ~e.again)
        return _plain(connection, query.order_by(table.c.episode, table.c.seat))

    measures: dict[tuple[int, int], dict[str, float]] = {}
    for episode, seat, name, value in parts(s.measures):
        found = measures.setdefault((episode, seat), {})
        found[name] = math.nan if value is None else value
    seats: dict[int, list[SeatResult]] = {row[0]: [] for row in rows}
    scores: dict[int, list[float]] = {row[0]: [] for row in rows}
    for episode, seat, _, kind, instance, total, score, *more in parts(s.seats):
        if score is not None:
            scores[episode].append(score)
        earned = math.nan if total is None else total
        result = kind, instance, earned, *more, measures.get((episode, seat), {})
        seats[episode].append(SeatResult(*result))
    for number, _, index, seed, reason, blame, turns, scored, retry, text, digest, start in rows:
        outcome = scores[number]
        try:
            opening = json.loads(start) if start else []
        except ValueError:
            why = f"the opening of episode {number} is not JSON"
            raise damaged(connection.engine.url, why) from None
        yield Episode(
            run=stage,
            index=index,
            episode=number,
            seed=seed,
            reason=reason,
            seats=seats[number],
            outcome=outcome or None,
            blame=blame,
            turns=turns,
            scored=bool(scored),
            will_retry=bool(retry),
            message=text,
            digest=digest,
            opening=opening,
        )


def _plain(connection: sa.Connection, query: sa.Select[Any]) -> list[tuple[Any, ...]]:
    """Return all rows as the driver's tuples, whose truth values may be numbers.

    SQLAlchemy's own rows take three times as long.
    """
    cursor = connection.execute(query).cursor
    assert cursor is not None
    return list(cursor.fetchall())
