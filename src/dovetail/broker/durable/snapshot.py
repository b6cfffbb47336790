"""Saves the whole state of a core as bytes, and restores it.

All of the core's state is written, field by field, so that a new field needs no change here.  Two
things are left out: timers, which ``Core.rewatch`` rebuilds, and stored agent states, which are in
the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dovetail.broker.core.core import Core
from dovetail.broker.durable.object_codec import ObjectCodec
from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.match import Match, Play, Seat
from dovetail.broker.matches.run import RunState, Schedule
from dovetail.broker.matches.stack import Holder, Over, Stack
from dovetail.broker.peers.access import Access, Grant
from dovetail.broker.peers.limits import Allowance
from dovetail.broker.peers.outbox import Outbox
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import Settings
from dovetail.broker.requests.requests import Request
from dovetail.broker.rules.clocks import SeatClock
from dovetail.broker.rules.ending import Ending
from dovetail.broker.rules.episode import Episode
from dovetail.broker.runs.episode_migration import Migration
from dovetail.protocol import messages, spaces
from dovetail.protocol.seeds import SeatSeeds
from dovetail.protocol.states import MATCH, RUN, SEAT, SESSION, Machine

_STATE = (
    *(SeatClock, Ending, Episode, Instance, Match, Play, Seat, Outbox, Peer),
    *(Migration, Request, RunState, Schedule, Settings, Machine, Stack, Over, Holder),
    *(Access, Grant, Allowance, SeatSeeds),
)
_CLASSES = {
    **{f"broker.{kind.__name__}": kind for kind in _STATE},
    **{
        f"{prefix}.{name}": kind
        for prefix, module in (("message", messages), ("space", spaces))
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    },
}

_WHOLE = (messages.Episodes,)
"""Unconfirmed results of batched runs, of which there can be thousands."""


def _fixed(core: Core) -> dict[str, Any]:
    states = {"session": SESSION, "match": MATCH, "seat": SEAT, "run": RUN}
    return {"out": core.broker.out, "nil": messages.NIL, **states}


def write(core: Core, locals_: Mapping[str, Any]) -> bytes:
    """Return the state of a core whose output has been taken; ``locals_`` names the addresses of
    peers in this process."""
    core.rewatch()
    return ObjectCodec(_CLASSES, {**_fixed(core), **locals_}, whole=_WHOLE).encode(core.snapshot())


def read(data: bytes, core: Core, absent: Callable[[str], Any]) -> None:
    """Restore a new core from the bytes that ``write`` returned; ``absent`` makes stand-ins for the
    addresses of peers in the process that wrote them.

    Raises:
        ValueError: they are no state.
    """
    core.resume(ObjectCodec(_CLASSES, _fixed(core), absent).decode(data))
    core.rewatch()
