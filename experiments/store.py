"""The store: results in a database, SQLite by default, any that SQLAlchemy knows by its URL."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode, SeatResult

metadata = sa.MetaData()

executions = sa.Table(
    "executions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, index=True),
    sa.Column("file", sa.Text, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("finished", sa.Float),
)
"""An experiment file played once; times in seconds since 1970, UTC."""

stages = sa.Table(
    "stages",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("execution", sa.ForeignKey("executions.id"), nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("trained", sa.Integer, nullable=False),
    sa.Column("agents", sa.Text, nullable=False),
    sa.Column("rotate", sa.Boolean, nullable=False),
    sa.Column("finished", sa.Float),
)
"""A stretch of a phase, or one playing of an evaluation after ``trained`` learning episodes."""

episodes = sa.Table(
    "episodes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("stage", sa.ForeignKey("stages.id"), nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("reason", sa.String, nullable=False),
    sa.Column("blame", sa.Integer),
    sa.Column("outcome", sa.Text),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("scored", sa.Boolean, nullable=False),
    sa.Column("again", sa.Boolean, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("seats", sa.Text, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("opening", sa.Text, nullable=False),
)
"""One episode; ``seats`` is a JSON list of [agent type, return, decisions, seconds, breaches], ``digest`` of its
actions, ``opening`` a JSON list of the joint actions that the broker played first."""

states = sa.Table(
    "states",
    metadata,
    sa.Column("execution", sa.ForeignKey("executions.id"), primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    sa.Column("stage", sa.Integer, nullable=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
)
"""The last saved state of each learner, after the stage of that number."""

BATCH_SECONDS = 1.0


class Store:
    """A store open for writing; results are on disk about a second after they came.

    Raises:
        DovetailError: there is no database at the URL.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._rows: list[dict[str, Any]] = []
        self._written = time.monotonic()
        try:
            parsed = sa.make_url(url)
            if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, ":memory:"):
                Path(str(parsed.database)).parent.mkdir(parents=True, exist_ok=True)
            self._engine = sa.create_engine(parsed)
            metadata.create_all(self._engine)
        except (sa.exc.SQLAlchemyError, OSError, ImportError) as error:
            hint = ""
            if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("psycopg"):
                hint = "; install dovetail[postgres]"
            raise DovetailError(f"cannot use the store {url}: {_line(error)}{hint}") from None

    def begin(self, name: str, file: str, seed: int) -> int:
        """Record that an experiment starts; return the number of the execution."""
        return self._insert(executions, name=name, file=file, seed=seed, started=time.time())

    def unfinished(self, name: str, file: str) -> int | None:
        """Return the last execution of exactly this file that did not finish, if there is one."""
        query = (
            sa.select(executions.c.id)
            .where(executions.c.name == name)
            .where(executions.c.file == file)
            .where(executions.c.finished.is_(None))
            .order_by(executions.c.id.desc())
        )
        with self._engine.begin() as connection:
            found: int | None = connection.execute(query).scalar()
            return found

    def finished_stages(self, execution: int) -> dict[int, int]:
        """Return the finished stages of an execution: number in the schedule, and id."""
        query = (
            sa.select(stages.c.number, stages.c.id)
            .where(stages.c.execution == execution)
            .where(stages.c.finished.is_not(None))
        )
        with self._engine.begin() as connection:
            return {row.number: row.id for row in connection.execute(query)}

    def begin_stage(
        self,
        execution: int,
        number: int,
        kind: str,
        name: str,
        trained: int,
        agents: Sequence[str],
        rotate: bool,
    ) -> int:
        """Record that a stage starts; delete what an interrupted attempt left."""
        old = sa.select(stages.c.id).where(
            stages.c.execution == execution, stages.c.number == number
        )
        try:
            with self._engine.begin() as connection:
                for stage in connection.execute(old).scalars().all():
                    connection.execute(sa.delete(episodes).where(episodes.c.stage == stage))
                    connection.execute(sa.delete(stages).where(stages.c.id == stage))
        except sa.exc.SQLAlchemyError as error:
            raise self._failed(error) from None
        return self._insert(
            stages,
            execution=execution,
            number=number,
            kind=kind,
            name=name,
            trained=trained,
            agents=json.dumps(list(agents)),
            rotate=rotate,
        )

    def add(self, stage: int, episode: Episode) -> None:
        """Add a result; it is written soon, together with others."""
        seats = [[s.agent, s.total, s.decisions, s.seconds, s.breaches] for s in episode.seats]
        self._rows.append(
            {
                "stage": stage,
                "number": episode.index,
                "seed": episode.seed,
                "reason": episode.reason,
                "blame": episode.blame,
                "outcome": None if episode.outcome is None else json.dumps(episode.outcome),
                "turns": episode.turns,
                "scored": episode.scored,
                "again": episode.will_retry,
                "message": episode.message,
                "seats": json.dumps(seats),
                "digest": episode.digest,
                "opening": _json(episode.opening),
            }
        )
        if time.monotonic() - self._written > BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what was added.

        Raises:
            DovetailError: the database refuses; nothing that was added is lost.
        """
        if self._rows:
            try:
                with self._engine.begin() as connection:
                    connection.execute(sa.insert(episodes), self._rows)
            except sa.exc.SQLAlchemyError as error:
                raise self._failed(error) from None
            self._rows = []
        self._written = time.monotonic()

    def finish_stage(
        self, execution: int, number: int, stage: int, saved: dict[str, bytes]
    ) -> None:
        """Record in one transaction that a stage is over, with its learners' states."""
        self.flush()
        try:
            with self._engine.begin() as connection:
                for agent, state in saved.items():
                    mine = (states.c.execution == execution) & (states.c.agent == agent)
                    connection.execute(sa.delete(states).where(mine))
                    connection.execute(
                        sa.insert(states).values(
                            execution=execution, agent=agent, stage=number, state=state
                        )
                    )
                connection.execute(
                    sa.update(stages).where(stages.c.id == stage).values(finished=time.time())
                )
        except sa.exc.SQLAlchemyError as error:
            raise self._failed(error) from None

    def finish(self, execution: int) -> None:
        """Record that an experiment is over."""
        self.flush()
        with self._engine.begin() as connection:
            connection.execute(
                sa.update(executions)
                .where(executions.c.id == execution)
                .values(finished=time.time())
            )

    def saved(self, execution: int) -> dict[str, bytes]:
        """Return the last saved state of each learner of an execution."""
        query = sa.select(states.c.agent, states.c.state).where(states.c.execution == execution)
        with self._engine.begin() as connection:
            return {agent: bytes(state) for agent, state in connection.execute(query)}

    def results(self, stage: int) -> list[Episode]:
        """Return the episodes of a stage, in the order in which they ended."""
        query = sa.select(episodes).where(episodes.c.stage == stage).order_by(episodes.c.id)
        with self._engine.begin() as connection:
            rows = connection.execute(query).mappings().all()
        return [
            Episode(
                run=stage,
                index=row["number"],
                episode=row["id"],
                seed=row["seed"],
                reason=row["reason"],
                seats=[
                    SeatResult(agent, seat, total, decisions, seconds, breaches)
                    for seat, (agent, total, decisions, seconds, breaches) in enumerate(
                        json.loads(row["seats"])
                    )
                ],
                outcome=None if row["outcome"] is None else json.loads(row["outcome"]),
                blame=row["blame"],
                turns=row["turns"],
                scored=row["scored"],
                will_retry=row["again"],
                message=row["message"],
                digest=row["digest"],
                opening=json.loads(row["opening"]),
            )
            for row in rows
        ]

    def close(self) -> None:
        """Write what is pending and close."""
        try:
            self.flush()
        finally:
            self._engine.dispose()

    def _insert(self, table: sa.Table, **values: Any) -> int:
        try:
            with self._engine.begin() as connection:
                key = connection.execute(sa.insert(table).values(**values)).inserted_primary_key
        except sa.exc.SQLAlchemyError as error:
            raise self._failed(error) from None
        assert key is not None
        return int(key[0])

    def _failed(self, error: Exception) -> DovetailError:
        return DovetailError(f"cannot write the store {self.url}: {_line(error)}")


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode()


def _line(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())[:200]
