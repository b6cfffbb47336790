"""What the broker writes down: the records of the journal."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

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


class StateRecord(Record, tag="kept"):
    """The saved state of an agent under a name."""

    name: str
    agent: str
    state: bytes
    time: float = 0.0


AnyRecord = EpisodeRecord | StateRecord
