"""Peers in the broker's own program."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import numpy as np
from msgspec.msgpack import Decoder

from dovetail.broker.core.core import Core
from dovetail.broker.runs.pending import answered
from dovetail.peer.serving import Host
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.messages import NIL, View
from dovetail.protocol.tensors import DTYPES

_AROUND = 1024
"""Bytes that go with an array in a frame, at most: its dtype and its shape."""
_ARRAY = np.ndarray
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_TRAVEL = "".join(np.dtype(name).char for name in DTYPES) if sys.byteorder == "little" else ""
"""The letters of dtypes that arrive as they are, if they are native."""
_WRONG = (*codec.UNSENDABLE, *codec.UNREADABLE)
_encode = codec.encode
_decode = Decoder(m.Turn).decode


class Local:
    """A peer in this program.

    Args:
        host: what answers; None for a peer that reads its ``inbox``.
    """

    reliable = True

    def __init__(self, host: Host | None = None) -> None:
        self.host = host
        self.inbox: deque[m.Message] = deque()
        """What a peer without a host has received."""

    def frame(self, message: m.Message | bytes, core: Core) -> bytes:
        """Return the frame of a message from this peer, or of what goes in its place."""
        if isinstance(message, bytes):
            return message
        if self.host is None:
            return codec.encode(message)
        try:
            frame = codec.own(message)
            most = core.tables.settings.limits.frame
            if len(frame) <= most:
                return frame
            text = f"{len(frame):,} bytes in a message; the broker accepts at most {most:,}"
        except codec.UNSENDABLE as error:
            text = str(error)
        instead = self.host.unsendable(message, f"the answer cannot travel: {text}")
        if isinstance(instead, m.Error) and instead.id is None and instead.answers is None:
            instead.answers = answered(core.runs, core.tables.connections.get(self), message)
        return codec.encode(instead)


def light(turn: m.Turn, limits: m.Limits) -> m.Turn | None:
    """Return what arrives of a turn; None if that must be seen from its frame.

    Observations that are plainly numbers or arrays do not go through a frame, which takes long.  What
    arrives of an array is a copy that cannot be written to, as over a socket.

    Args:
        turn: of rules in this program.
        limits: of frames.
    """
    seats: Any = turn.seats  # what rules return is not always what the types say
    if type(seats) is not list or turn.info is not NIL or turn.scene is not NIL:
        return None
    seen: list[Any] = []
    arrives: list[Any] = []
    room = limits.frame
    found = None
    try:
        for view in seats:
            if type(view) is not View or view.afterstates is not NIL or view.scene is not NIL:
                return None
            one: Any = view.observation
            kind = type(one)
            if kind is _ARRAY:
                dtype = one.dtype
                room -= one.nbytes + _AROUND
                if room < 0 or dtype.char not in _TRAVEL or not dtype.isnative:
                    return None
                one_arrives = one.copy()  # in C order
                one_arrives.setflags(False)
                arrives.append(one_arrives)
            elif (kind is int and _LEAST <= one <= _MOST) or kind is float or kind is bool:
                arrives.append(one)
            else:
                return None
            seen.append(one)
            view.observation = NIL
        frame = _encode(turn)
        if len(frame) <= room and len(frame) <= limits.elements:
            found = _decode(frame)
    except _WRONG:
        return None
    finally:
        for place, one in enumerate(seen):
            seats[place].observation = one
    if found is not None:
        for place, one in enumerate(arrives):
            found.seats[place].observation = one
    return found


def plain(action: m.Action) -> bool:
    """Return whether an action arrives as it is: a number, and nothing beside it."""
    chosen = action.action
    return (
        type(chosen) is int
        and _LEAST <= chosen <= _MOST
        and not action.measures
        and action.thoughts is None
        and action.refused == 0
    )
