"""The store: writes results to a record, and reads back the state of a resumed experiment."""

from __future__ import annotations

import os
import platform
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import msgspec
import sqlalchemy as sa

from dovetail.peer import provenance
from dovetail.peer.closing import Closing
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode
from dovetail.transport.process_owner import Owner
from dovetail_experiments.records import damage, database, episodes
from dovetail_experiments.records import schema as s
from dovetail_experiments.records.batch_writer import BatchWriter
from dovetail_experiments.records.records import Records


class TakenOver(DovetailError):
    """Another attempt to play an execution has started, so this one may no longer write."""


class Store(Closing):
    """A store open for writing; results reach the disk after about a second.

    A thread writes them in batches; if too many are waiting, ``add`` blocks.

    An execution has one writer at a time: the store that started it or last took it over.  Each
    writing transaction checks this first, and raises ``TakenOver`` if another store has taken over.

    Raises:
        DovetailError: there is no database at the URL, or a newer version of Dovetail wrote it.
    """

    def __init__(self, url: database.Url) -> None:
        self.url = url
        self._owner = Owner()
        self._lock = threading.RLock()
        """Held during the only writing transaction."""
        self._results = BatchWriter(self._write, TakenOver)
        self._seating: dict[int, episodes.Seating] = {}
        self._labels: dict[int, str] = {}
        self._executions: dict[int, int] = {}
        """Execution of each stage."""
        self._attempts: dict[int, int] = {}
        """Attempt of each execution that this store writes or wrote."""
        self._engine = database.writing(url)
        database.share(self._engine)

    def begin(
        self,
        name: str,
        file: str,
        seed: int,
        *,
        number: int | None = None,
        trial: int | None = None,
        variant: str = "",
        settings: Mapping[str, str] | None = None,
    ) -> int:
        """Record the start of an experiment, to be written by this store; return the execution's
        number.

        Args:
            file: the experiment as JSON, with all its settings.
            number: the execution's number, if reserved; None for the next free one.
            trial: its number in a sweep or among repeats; None for a single execution.
            variant: the settings of a sweep as text.
            settings: the settings of a sweep, by key of the file.
        """
        made = provenance.here()
        row = sa.insert(s.executions).values(
            name=name,
            file=file,
            seed=seed,
            started=time.time(),
            trial=trial,
            variant=variant,
            software=made.software,
            platform=f"Python {made.python}, {platform.system()} {platform.machine()}",
            revision=made.revision,
            python=made.python,
            numpy=made.numpy,
            numba=made.numba,
            writer=_this_program(),
        )
        if number is not None:
            row = row.values(id=number)
        with self._writing() as connection:
            execution = database.inserted(connection, row)
            rows = [
                {"execution": execution, "key": name, "value": value}
                for name, value in (settings or {}).items()
            ]
            if rows:
                connection.execute(sa.insert(s.settings), rows)
        self._attempts[execution] = 1
        return execution

    def reserve(self, count: int) -> list[int]:
        """Reserve numbers for executions that start later; return them."""
        empty = sa.insert(s.executions).values(name="", file="", seed=0, started=0.0)
        with self._writing() as connection:  # no one sees the rows
            found = [database.inserted(connection, empty) for _ in range(count)]
            connection.execute(sa.delete(s.executions).where(s.executions.c.id.in_(found)))
        return found

    def take(self, execution: int) -> int:
        """Take over an execution from earlier writers; return the number of this attempt."""
        with self._writing() as connection:
            return self._take(connection, execution)

    def withdraw(self, execution: int) -> bool:
        """Remove an execution without episodes, as if it had never started; return whether it was
        removed."""
        if execution not in self._attempts:  # it never started
            return True
        self.flush()
        of_it = sa.select(s.stages.c.id).where(s.stages.c.execution == execution)
        played = sa.select(s.episodes.c.id).where(s.episodes.c.stage.in_(of_it)).limit(1)
        with self._writing() as connection:
            self._check(connection, execution)
            if connection.execute(played).first() is not None:
                return False
            connection.execute(sa.delete(s.seatings).where(s.seatings.c.stage.in_(of_it)))
            for table in (s.stages, s.states, s.settings):
                connection.execute(sa.delete(table).where(table.c.execution == execution))
            connection.execute(sa.delete(s.executions).where(s.executions.c.id == execution))
        return True

    def _take(self, connection: sa.Connection, execution: int) -> int:
        c = s.executions.c
        connection.execute(
            sa.update(s.executions)
            .where(c.id == execution)
            .values(attempt=c.attempt + 1, writer=_this_program())
        )
        query = sa.select(c.attempt).where(c.id == execution)
        attempt = self._attempts[execution] = int(connection.execute(query).scalar_one())
        return attempt

    def _check(self, connection: sa.Connection, execution: int) -> None:
        """Check within a transaction that this attempt may write an execution.

        An execution that this store has not written before is taken over.

        Raises:
            TakenOver: another attempt has started since.
        """
        mine = self._attempts.get(execution)
        if mine is None:
            self._take(connection, execution)
            return
        c = s.executions.c
        # Row locks, where available, make a takeover wait for the end of this change.
        query = sa.select(c.attempt, c.writer).where(c.id == execution).with_for_update()
        row = connection.execute(query).first()
        if row is None or row.attempt != mine:
            what = "removed" if row is None else f"resumed by {row.writer}"
            raise TakenOver(
                f"execution {execution} in {database.shown(self.url)} was {what}, so attempt "
                f"{mine} may no longer write to it; results since then do not count"
            )

    def check(self) -> None:
        """Look for damage before anything is continued from what was written before.

        Raises:
            DovetailError: something is damaged or missing.
        """
        damage.check(self._engine, self.url)

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with damage.readable(self.url), self._lock, self._engine.begin() as connection:
            yield connection

    def _found(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        with self._reading() as connection:
            return connection.execute(query).all()

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """Open a transaction for a change; if it fails, takeovers in it are undone."""
        with self._lock:
            attempts = dict(self._attempts)
            try:
                with self._engine.begin() as connection:
                    yield connection
            except BaseException as error:
                self._attempts = attempts
                if isinstance(error, sa.exc.SQLAlchemyError):
                    raise DovetailError(
                        f"cannot write the store {database.shown(self.url)}: {database.line(error)}"
                    ) from None
                raise

    def unfinished(self, name: str, file: str) -> int | None:
        """Return the last unfinished execution of exactly this file; None if there is none."""
        return next((number for number, done in self._like(name, file) if not done), None)

    def started(self, execution: int) -> float:
        """Return the start time of an execution."""
        query = sa.select(s.executions.c.started).where(s.executions.c.id == execution)
        [(found,)] = self._found(query)
        return float(found)

    def interrupted(self, name: str) -> tuple[int, str] | None:
        """Return the last unfinished execution with a name, and its file; None if there is none."""
        return self._newest(name, s.executions.c.finished.is_(None))

    def latest(self, name: str) -> tuple[int, str] | None:
        """Return the last finished execution with a name, outside sweeps, and its file; None if
        there is none."""
        c = s.executions.c
        return self._newest(name, c.finished.is_not(None), c.trial.is_(None))

    def _newest(self, name: str, *where: sa.ColumnElement[bool]) -> tuple[int, str] | None:
        c = s.executions.c
        query = sa.select(c.id, c.file).where(c.name == name, *where).order_by(c.id.desc())
        rows = self._found(query.limit(1))
        return (int(rows[0].id), str(rows[0].file)) if rows else None

    def finished(self, execution: int) -> Sequence[sa.Row[Any]]:
        """Return the rows of an execution's finished stages, in order."""
        c = s.stages.c
        query = sa.select(s.stages).where(c.execution == execution, c.finished.is_not(None))
        return self._found(query.order_by(c.number))

    def software(self, execution: int) -> list[str]:
        """Return the software versions that played an execution's stages, in order, each once."""
        c = s.stages.c
        query = sa.select(c.software).where(c.execution == execution).order_by(c.number)
        return list(dict.fromkeys(row.software for row in self._found(query)))

    def made(self, stage: int) -> str:
        """Return the software version that played a stage; empty if it is not recorded."""
        [(found,)] = self._found(sa.select(s.stages.c.software).where(s.stages.c.id == stage))
        return str(found)

    def last(self, name: str, file: str) -> tuple[int, bool] | None:
        """Return the last execution of exactly this file, and whether it finished; None if there is
        none."""
        return next(self._like(name, file), None)

    def _like(self, name: str, file: str) -> Iterator[tuple[int, bool]]:
        """Yield the executions of a file, latest first; the order of its keys does not matter."""
        c = s.executions.c
        query = sa.select(c.id, c.finished, c.file).where(c.name == name).order_by(c.id.desc())
        rows, values = self._found(query), _values(file)
        return ((row.id, row.finished is not None) for row in rows if _values(row.file) == values)

    def finished_stages(self, execution: int) -> dict[int, int]:
        """Return the ids of an execution's finished stages, by their number in the schedule."""
        return {row.number: row.id for row in self.finished(execution)}

    def entered(self, name: str, file: str, trial: int | None) -> int | None:
        """Return the finished execution of exactly this file and trial; None if there is none."""
        done = [number for number, finished in self._like(name, file) if finished]
        c = s.executions.c
        query = sa.select(c.id).where(c.id.in_(done), c.trial.is_not_distinct_from(trial))
        return next((row.id for row in self._found(query)), None)

    def enter(self, source: Records, row: Mapping[str, Any], also: Callable[[int], object]) -> int:
        """Copy a complete execution from another record in one transaction; return its number here.

        Args:
            row: the execution's row in its table ``executions``.
            also: called with the new number before the copy is committed.
        """
        of_it = [f"execution={row['id']}"]

        def insert(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> int:
            new = {key: each for key, each in values.items() if key != "id"}
            return database.inserted(connection, sa.insert(table).values(new))

        with self._writing() as connection:
            values = {**row, "attempt": 1, "writer": _this_program()}
            number = insert(connection, s.executions, values)
            for each in source.rows("settings", where=of_it):
                connection.execute(sa.insert(s.settings).values({**each, "execution": number}))
            for each in source.rows("stages", where=of_it):
                stage = insert(connection, s.stages, {**each, "execution": number})
                seats = list(source.rows("seatings", where=[f"stage={each['id']}"]))
                for seat in seats:
                    connection.execute(sa.insert(s.seatings).values({**seat, "stage": stage}))
                seating = [seat["agent"] for seat in seats], bool(each["rotate"])
                results = episodes.read(source.connection, each["id"])
                while chunk := [(stage, each) for each in islice(results, episodes.CHUNK)]:
                    episodes.insert(connection, chunk, {stage: seating})
            for state in source.states(row["id"]):
                _save(connection, number, state.agent, state.stage, state.state, time.time())
            also(number)
        return number

    def begin_stage(
        self,
        execution: int,
        number: int,
        kind: str,
        name: str,
        trained: int,
        agents: Sequence[str],
        rotate: bool,
        software: str = "",
        *,
        keep: bool = False,
    ) -> int:
        """Record the start of a stage; delete leftovers of an interrupted attempt.

        Args:
            trained: the number of learning episodes before it.
            agents: the agents in the order of the file.
            rotate: whether they rotate through the seats.
            software: the version that played the stage; empty for this program's.
            keep: True to keep the results of an interrupted attempt that count, if the same
                software version played them.
        """
        software = software or str(provenance.here())
        old = sa.select(s.stages.c.id, s.stages.c.attempt, s.stages.c.software).where(
            s.stages.c.execution == execution, s.stages.c.number == number
        )
        stage: int
        attempt = 1
        with self._writing() as connection:
            self._check(connection, execution)
            rows = connection.execute(old).all()
            if keep and len(rows) == 1 and rows[0].software == software:
                [(stage, attempt, _)] = rows
                _remove(connection, stage, s.episodes.c.number.not_in(_final(stage)))
                _remove(connection, stage, ~s.episodes.c.scored & ~s.episodes.c.again)
            else:
                for stage, before, _ in rows:
                    attempt = max(attempt, before + 1)
                    _remove(connection, stage, sa.true())
                    connection.execute(sa.delete(s.seatings).where(s.seatings.c.stage == stage))
                    connection.execute(sa.delete(s.stages).where(s.stages.c.id == stage))
                row = sa.insert(s.stages).values(
                    execution=execution,
                    number=number,
                    kind=kind,
                    name=name,
                    trained=trained,
                    rotate=rotate,
                    attempt=attempt,
                    started=time.time(),
                    software=software,
                )
                stage = database.inserted(connection, row)
                seats = [{"stage": stage, "place": p, "agent": a} for p, a in enumerate(agents)]
                connection.execute(sa.insert(s.seatings), seats)
        self._executions[stage] = execution
        self._seating[stage] = list(agents), rotate
        self._labels[stage] = f"{execution}/{number}/{attempt}"
        return stage

    def label(self, stage: int) -> str:
        """Return the journal's label for a started stage: execution, number and attempt."""
        return self._labels[stage]

    def add(self, stage: int, episode: Episode) -> None:
        """Add a result, to be written in the next batch.

        Raises:
            DovetailError: the database refused an earlier one; added results are kept.
        """
        self._results.add((stage, episode))

    def flush(self) -> None:
        """Write all added results.

        Raises:
            DovetailError: the database refused; added results are kept.
        """
        self._results.flush()

    def _write(self, results: list[tuple[int, Episode]]) -> None:
        with self._writing() as connection:
            for execution in sorted({self._executions[stage] for stage, _ in results}):
                self._check(connection, execution)
            episodes.insert(connection, results, self._seating)

    def finish_stage(
        self, execution: int, number: int, stage: int, saved: dict[str, bytes]
    ) -> None:
        """Record the end of a stage with its learners' states, in one transaction."""
        self.flush()
        now = time.time()
        with self._writing() as connection:
            self._check(connection, execution)
            for agent, state in saved.items():
                _save(connection, execution, agent, number, state, now)
            connection.execute(
                sa.update(s.stages).where(s.stages.c.id == stage).values(finished=now)
            )

    def keep(self, execution: int, agent: str, state: bytes) -> None:
        """Record a state that belongs to no stage, such as a learner's initial one."""
        with self._writing() as connection:
            self._check(connection, execution)
            _save(connection, execution, agent, -1, state, time.time())

    def finish(self, execution: int) -> None:
        """Record the end of an experiment."""
        self.flush()
        mine = s.executions.c.id == execution
        with self._writing() as connection:
            self._check(connection, execution)
            connection.execute(sa.update(s.executions).where(mine).values(finished=time.time()))

    def saved(self, execution: int) -> dict[str, bytes]:
        """Return the last saved state of each learner of an execution."""
        c = s.states.c
        query = sa.select(c.agent, c.state).where(c.execution == execution)
        return {row.agent: bytes(row.state) for row in self._found(query)}

    def results(self, stage: int, *, again: bool | None = None) -> Iterator[Episode]:
        """Yield the episodes of a stage in the order in which they ended, a chunk at a time.

        Args:
            again: True for retried episodes only, False for the others; None for all.
        """
        return episodes.read(self._reading, stage, again)

    def kept(self, stage: int) -> Iterator[int]:
        """Yield the indices of the episodes of a stage with a result that counts, in order."""
        with self._reading() as connection:
            found = connection.execution_options(yield_per=episodes.CHUNK).execute(_final(stage))
            yield from found.scalars()

    def close(self) -> None:
        """Write pending results and close; in a forked child, leave pending results to the
        parent."""
        if not self._owner.here:
            return
        try:
            self._results.close()
        finally:
            self._engine.dispose()
            database.settle(self.url)


def _values(file: str) -> Any:
    """Return the contents of a JSON text; if it is not JSON, the text itself."""
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(file)
    return file


def _final(stage: int) -> sa.Select[Any]:
    """Select the indices of the episodes of a stage with a result that counts, in order."""
    e = s.episodes.c
    of_stage = sa.select(e.number).where(e.stage == stage, e.scored, ~e.again)
    return of_stage.distinct().order_by(e.number)


def _remove(connection: sa.Connection, stage: int, which: sa.ColumnElement[bool]) -> None:
    """Delete episodes of a stage."""
    e = s.episodes.c
    of_stage = sa.select(e.id).where(e.stage == stage, which)
    for table in (s.measures, s.seats):
        connection.execute(sa.delete(table).where(table.c.episode.in_(of_stage)))
    connection.execute(sa.delete(s.episodes).where(e.stage == stage, which))


def _save(
    connection: sa.Connection, execution: int, agent: str, stage: int, state: bytes, now: float
) -> None:
    """Replace an agent's latest state."""
    mine = (s.states.c.execution == execution) & (s.states.c.agent == agent)
    connection.execute(sa.delete(s.states).where(mine))
    connection.execute(
        sa.insert(s.states).values(
            execution=execution, agent=agent, stage=stage, state=state, saved=now
        )
    )


def _this_program() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"
