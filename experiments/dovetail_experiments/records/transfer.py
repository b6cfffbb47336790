"""Finished stages as bytes, for transfer from the store of the machine that played them.

A stage is split into parts of limited size, and counts only once its last part has arrived.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
from msgspec import Struct

from dovetail.protocol.messages import Episode
from dovetail_experiments.records import database
from dovetail_experiments.records.records import Records
from dovetail_experiments.records.store import Store

MOST = 10_000
"""Maximum episodes in a part."""


class StagePart(Struct, frozen=True):
    """A part of a finished stage."""

    number: int
    """The stage's number in the schedule."""
    kind: str
    name: str
    trained: int
    agents: list[str]
    rotate: bool
    software: str
    """Software version that played it."""
    episodes: list[Episode]
    states: dict[str, bytes]
    """The learners' states after the stage, by name; only in its last part."""
    kept: dict[str, bytes]
    """States of the execution that belong to no stage; only in its last part."""
    first: bool
    last: bool


class Sender:
    """Reads finished stages from a store, each once.

    Args:
        url: the store's URL.
        execution: the execution's number there.
        known: the stages that the receiver already has.
    """

    def __init__(self, url: database.Url, execution: int, known: set[int]) -> None:
        self._url = url
        self._execution = execution
        self._known = set(known)

    def parts(self) -> Iterator[bytes]:
        """Yield the parts of the stages that have finished since the last call."""
        with Store(self._url) as store:
            finished = store.finished_stages(self._execution)
            for number in sorted({*finished} - self._known):
                self._known.add(number)
                yield from map(msgspec.msgpack.encode, self._parts(store, finished[number]))

    def _parts(self, store: Store, row: int) -> Iterator[StagePart]:
        with Records(self._url, check=False) as records:
            [stage] = records.rows("stages", where=[f"id={row}"])
            seated = list(records.rows("seatings", where=[f"stage={row}"]))
            saved = {
                (each.stage, each.agent): each.state
                for each in records.states()
                if each.execution == self._execution
            }
        agents = [each["agent"] for each in sorted(seated, key=lambda each: int(each["place"]))]
        episodes = store.results(row)
        number = stage["number"]
        chunk, first = list(islice(episodes, MOST)), True
        while first or chunk:
            following = list(islice(episodes, MOST))
            last = not following
            yield StagePart(
                number,
                stage["kind"],
                stage["name"],
                stage["trained"],
                agents,
                bool(stage["rotate"]),
                stage["software"],
                chunk,
                {agent: each for (at, agent), each in saved.items() if last and at == number},
                {agent: each for (at, agent), each in saved.items() if last and at < 0},
                first=first,
                last=last,
            )
            chunk, first = following, False


class Receiver:
    """Adds stages played on another machine to a store."""

    def __init__(self, store: Store, execution: int) -> None:
        self._store = store
        self._execution = execution
        self._row = 0

    def take(self, data: bytes) -> StagePart:
        """Add a part; return it.

        Raises:
            DovetailError: the store refuses it.
        """
        part = msgspec.msgpack.decode(data, type=StagePart)
        if part.first:
            self._row = self._store.begin_stage(
                self._execution,
                part.number,
                part.kind,
                part.name,
                part.trained,
                part.agents,
                part.rotate,
                part.software,
            )
        for each in part.episodes:
            self._store.add(self._row, each)
        if part.last:
            for name, state in part.kept.items():
                self._store.keep(self._execution, name, state)
            self._store.finish_stage(self._execution, part.number, self._row, part.states)
        return part
