"""The journal: its records, and how to read them.

A file of records, each four bytes of length (big-endian) and a MessagePack map.  A record that a
crash cut short does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode, Mode


class Record(Struct, tag_field="record", tag=str.lower, omit_defaults=True):
    """A map in the journal whose ``record`` names its kind."""


class EpisodeRecord(Record, tag="played"):
    """An episode, complete enough to be replayed from its seed and actions."""

    result: Episode
    environment: str
    configuration: dict[str, Any]
    mode: Mode
    actions: list[list[tuple[int, Any]]]
    """Turn by turn, pairs of seat and action."""
    breached: list[list[int]] = []
    """``[turn, seat]`` of every action that the broker chose for a seat."""
    time: float = 0.0
    """When it was written; seconds since 1970, UTC."""
    label: str = ""
    """The label of its run; ``dovetail run`` writes ``EXECUTION/STAGE/ATTEMPT``."""


class StateRecord(Record, tag="kept"):
    """The saved state of an agent under a name."""

    name: str
    agent: str
    state: bytes
    time: float = 0.0


AnyRecord = EpisodeRecord | StateRecord

_decoder = msgspec.msgpack.Decoder(AnyRecord, ext_hook=codec.extension)


def episodes(path: Path) -> Iterator[tuple[int, EpisodeRecord]]:
    """Yield the episodes of a journal and their numbers, from 1; errors as of ``read``."""
    number = 0
    for record in read(path):
        if isinstance(record, EpisodeRecord):
            number += 1
            yield number, record


def superseded(path: Path) -> set[int]:
    """Return the numbers of the episodes that were played again later, and do not count.

    Those are interrupted episodes of a run, and what was played of a stage that an experiment
    began again; errors as of ``read``.
    """
    found = set()
    stages: dict[str, dict[int, list[int]]] = {}
    for number, record in episodes(path):
        stage, _, attempt = record.label.rpartition("/")
        if record.result.will_retry:
            found.add(number)
        elif stage and attempt.isdecimal():
            stages.setdefault(stage, {}).setdefault(int(attempt), []).append(number)
    for attempts in stages.values():
        latest = max(attempts)
        found.update(n for attempt, played in attempts.items() if attempt < latest for n in played)
    return found


def episode(path: Path, which: str) -> tuple[int, EpisodeRecord]:
    """Return an episode of a journal and its number.

    Args:
        path: of the journal.
        which: its number, or ``last``.

    Raises:
        DovetailError: the journal cannot be read, or there is no such episode.
    """
    found = None
    for found in episodes(path):
        if str(found[0]) == which.lstrip("0"):
            return found
    if found is None:
        raise DovetailError(f"{path} has no episodes")
    if which == "last":
        return found
    raise DovetailError(f"there is no episode {which}; {path} has {found[0]}")


def read(path: Path) -> Iterator[AnyRecord]:
    """Yield the records of a journal, oldest first.

    Raises:
        DovetailError: there is no journal at ``path``.
    """
    try:
        for _, record in scan(path):
            yield record
    except OSError as error:
        raise DovetailError(f"cannot read the journal {path}: {error.strerror}") from None


def scan(path: Path) -> Iterator[tuple[int, AnyRecord]]:
    """Yield the records of a journal, each with the position of its end in the file.

    Raises:
        DovetailError: the file is not a journal, or is damaged.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        end = 0
        while True:
            head = file.read(4)
            if len(head) < 4:
                return
            size = int.from_bytes(head, "big")
            data = file.read(size) if size <= 1 << 30 else b""
            if len(data) < size:
                if end == 0:
                    raise DovetailError(f"{path} is not a Dovetail journal")
                return
            try:
                record = _decoder.decode(data)
            except msgspec.DecodeError:
                raise DovetailError(
                    f"{path} is not a Dovetail journal, or is damaged at byte {end}"
                ) from None
            end += 4 + size
            yield end, record
