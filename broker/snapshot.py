"""The whole state of a core as bytes, and a core of those bytes.

Whatever the core comes to know is written, field by field, so that a new field needs nothing here.
Two things are not: timers, which ``Core.rewatch`` derives again, and agents' kept states, which
stand in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dovetail.broker.access import Access, Grant
from dovetail.broker.clocks import SeatClock
from dovetail.broker.core import Core
from dovetail.broker.ending import Ending
from dovetail.broker.episode import Episode
from dovetail.broker.graph import Graph
from dovetail.broker.instances import Instance
from dovetail.broker.limits import Allowance
from dovetail.broker.match import Match, Play
from dovetail.broker.opening import Opening
from dovetail.broker.outbox import Outbox
from dovetail.broker.peers import Peer
from dovetail.broker.place import Place
from dovetail.broker.rebuild import Rebuild
from dovetail.broker.request import Request
from dovetail.broker.rules import Rules
from dovetail.broker.run import Run, Schedule
from dovetail.broker.sitter import Sitter
from dovetail.broker.stack import Stack
from dovetail.broker.stack_batch import Asked
from dovetail.broker.tables import Settings
from dovetail.protocol import messages, spaces
from dovetail.protocol.states import MATCH, RUN, SEAT, SESSION, Machine

_STATE = (
    *(SeatClock, Ending, Episode, Opening, Rules, Instance, Match, Play, Sitter, Outbox, Peer),
    *(Place, Rebuild, Request, Run, Schedule, Settings, Machine, Stack, Asked),
    *(Access, Grant, Allowance),
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
"""Results that wait until the experiment has them: thousands, where runs play in groups."""


def _fixed(core: Core) -> dict[str, Any]:
    states = {"session": SESSION, "match": MATCH, "seat": SEAT, "run": RUN}
    return {"out": core.tables.out, "nil": messages.NIL, **states}


def write(core: Core, locals_: Mapping[str, Any]) -> bytes:
    """Return the state of a core that has nothing left to say.

    Args:
        core: the broker's.
        locals_: the addresses of peers in this program, by name.
    """
    core.rewatch()
    return Graph(_CLASSES, {**_fixed(core), **locals_}, whole=_WHOLE).encode(core.state())


def read(data: bytes, core: Core, absent: Callable[[str], Any]) -> None:
    """Give a new core the state that ``write`` returned.

    Args:
        data: the bytes.
        core: to be given it.
        absent: returns what stands for the address of a peer in the program that wrote them.

    Raises:
        ValueError: the bytes are not that.
    """
    core.take_over(Graph(_CLASSES, _fixed(core), absent).decode(data))
    core.rewatch()
