"""The bodies of a broker's replies, which may be anything."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, TypeVar

import msgspec

from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError

T = TypeVar("T")


class _Peer(TypedDict):
    name: str
    role: str
    state: str
    software: str


class _Offer(m.Offer, kw_only=True):
    peer: str


class _Instance(TypedDict):
    instance: int
    agent: str
    peer: str
    busy: Any


class _Run(TypedDict):
    run: int
    environment: str
    agents: list[Any]
    state: str
    finished: int
    playing: Any
    episodes: int


class CatalogueBody(TypedDict):
    """The parts of a catalogue that programs rely on (S7.12)."""

    peers: list[_Peer]
    environments: list[_Offer]
    agents: list[_Offer]
    instances: list[_Instance]
    runs: list[_Run]
    kept: list[str]
    counters: dict[str, int]
    more: NotRequired[int]


def body_of(what: str, body: Any, kind: type[T], *, strict: bool = True) -> T:
    """Return the body of a reply as what it must be.

    Raises:
        DovetailError: it is something else.
    """
    try:
        return msgspec.convert(body, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise DovetailError(f"the broker's {what} cannot be read: {error}") from None


def numbered(body: Any, name: str) -> int:
    """Return the number that a reply gives what was asked for, an ``instance`` or a ``run``.

    Raises:
        DovetailError: there is none.
    """
    found = body.get(name) if isinstance(body, dict) else None
    if type(found) is not int:
        raise DovetailError(f"the broker's reply has no {name!r}")
    return found
