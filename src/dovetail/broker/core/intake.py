"""Input of the core: frames of peers, and messages of those in this process.

Only messages that the sender's role may send are accepted.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from sys import getrefcount
from typing import Any

import numpy as np
from msgspec import Raw
from msgspec.msgpack import Decoder

from dovetail.broker.core.core import Core
from dovetail.broker.peers.outbox import Address
from dovetail.broker.runs.runs import answered
from dovetail.peer.host import Host
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.messages import NIL, Action, Turn, View
from dovetail.protocol.outside import LEAST, MOST
from dovetail.protocol.scenes import Scene
from dovetail.protocol.tensors import DIMENSIONS, DTYPES

log = logging.getLogger("dovetail.broker")

AT_ONCE = 16
"""Frames taken from an unauthenticated connection between checks that it is still open."""
LARGE = 1 << 12
"""Frames above this many bytes are handled one at a time."""
_AROUND = 1024  # an upper bound for the encoded bytes of a turn or view without its array and lists
_ARRAY = np.ndarray
_BITS = 8  # bits of a seat's number; a turn with higher ones is encoded
_SMALL = 1 << 62
_TRAVEL = {id(np.dtype(name)) for name in DTYPES} if sys.byteorder == "little" else set()
"""The ids of NumPy dtypes that need no conversion."""
_WRONG = (*codec.UNSENDABLE, *codec.UNREADABLE)
_encode = codec.encode
_turn: Callable[[m.Turn], m.Turn] = m.Turn.__copy__  # type: ignore[attr-defined]
_view: Callable[[View], View] = View.__copy__  # type: ignore[attr-defined]
_flat = Decoder(list[bool | int | float]).decode
_numbers = Decoder(list[int]).decode
_scores = Decoder(list[float]).decode
_SCENE_DEPTH = 8  # nesting depth of a turn with a well-typed scene whose actions are numbers
_scene = Decoder(Scene, ext_hook=codec.extension).decode


class Local:
    """A peer in this process; a ``host`` answers its messages, or else it reads its ``inbox``."""

    reliable = True

    def __init__(self, host: Host | None = None) -> None:
        self.host = host
        self.rules = host is not None and host.role == "environment"
        """True for a host of environments."""
        self.inbox: deque[m.Message] = deque()
        """Messages received by a peer without a host."""

    def frame(self, message: m.Message | bytes, core: Core) -> bytes:
        """Return the frame of a message from this peer, or of an error if it cannot be sent."""
        if isinstance(message, bytes):
            return message
        if self.host is None:
            return codec.encode(message)
        try:
            frame = codec.own(message)
            most = core.broker.settings.limits.frame
            if len(frame) <= most:
                return frame
            text = f"{len(frame):,} bytes in a message; the broker accepts at most {most:,}"
        except codec.UNSENDABLE as error:
            text = str(error)
        instead = self.host.unsendable(message, f"the answer cannot travel: {text}")
        if isinstance(instead, m.Error) and instead.id is None and instead.answers is None:
            instead.answers = answered(core.runs, core.broker.connections.get(self), message)
        return codec.encode(instead)


def light(turn: m.Turn, limits: m.Limits) -> m.Turn | None:
    """Return a turn as the broker would decode it; None if it must be encoded to find out.  A
    shortcut for turns whose observations are numbers, lists of numbers, ASCII text or arrays, with
    or without arrays of afterstates, ASCII text and scenes beside them: encoding takes long."""
    said: Any = turn  # what rules return is not always what the types say
    seats: Any = said.seats
    if (
        type(seats) is not list
        or said.info is not NIL
        or said.scene is not NIL
        or said.text is not None
        or type(said.terminated) is not bool
        or type(said.truncated) is not bool
    ):
        return None
    long, size = 0, _AROUND  # bytes of long values, and of all else
    views: list[View] = []
    for view in seats:
        if type(view) is not View or type(view.reward) is not float:
            return None
        seat: Any = view.seat
        if type(seat) is not int or seat < 0:
            return None
        if view.truncated is not None and type(view.truncated) is not bool:
            return None
        after: Any = NIL
        if view.afterstates is not NIL:
            after = _arriving(view, "afterstates")
            if after is None:
                return None
            long += after.nbytes
        kind: Any = type(view.observation)
        if kind is _ARRAY:
            one: Any = _arriving(view, "observation")
            if one is None:
                return None
            long += one.nbytes
        else:
            one = view.observation
            if kind is str:
                if not one.isascii():
                    return None
                long += len(one)
            elif kind is list or kind is tuple:
                size += 9 * len(one)
                try:
                    one = _flat(_encode(one))
                except _WRONG:
                    return None
            elif kind is int:
                if not LEAST <= one <= MOST:
                    return None
            elif kind is not float and kind is not bool:
                return None
        arriving = _view(view)
        arriving.observation = one
        arriving.afterstates = after
        size += _AROUND
        legal: Any = view.legal
        if type(legal) is list:
            size += 9 * len(legal)
            try:
                arriving.legal = _numbers(_encode(legal))
            except _WRONG:
                return None
        elif type(legal) is bytes:
            long += len(legal)
        elif legal is not None:
            return None
        text: Any = view.text
        if text is not None:
            if type(text) is not str or not text.isascii():
                return None
            long += len(text)
        if view.scene is not NIL:
            shown = _drawn(view.scene, limits)
            if shown is None:
                return None
            size += len(shown)
            arriving.scene = Raw(shown)
        views.append(arriving)
    to_act: Any = turn.to_act
    for number in to_act:
        if type(number) is not int or number >> _BITS:
            return None
    size += 9 * len(to_act)
    made = _turn(turn)
    made.to_act, made.seats = [*to_act], views
    outcome: Any = turn.outcome
    if outcome is not None:
        size += 9 * len(outcome)
        try:
            made.outcome = _scores(_encode(outcome))
        except _WRONG:
            return None
    if size > limits.elements or size + long > limits.frame:
        return None
    return made


def _drawn(scene: Any, limits: m.Limits) -> bytes | None:
    """Return the bytes of a well-typed scene; None if it must be decoded to find out."""
    if type(scene) is not Scene or limits.depth < _SCENE_DEPTH:
        return None
    try:
        frame = _encode(scene)
        _scene(frame)
    except _WRONG:
        return None
    paths: Any = scene.paths
    numbered = all(type(each.action) is int for each in scene.choices)
    return frame if numbered and (paths is None or type(paths) is _ARRAY) else None


def _arriving(view: View, name: str) -> np.ndarray[Any, Any] | None:
    """Return an array of a view, read-only, and copied unless the view holds the only reference;
    None if it must be encoded first."""
    alone = _holders(view, name) == _ALONE
    array: Any = getattr(view, name)
    if type(array) is not _ARRAY or id(array.dtype) not in _TRAVEL or array.ndim > DIMENSIONS:
        return None
    if not alone or array.base is not None or not array.flags.c_contiguous:
        array = array.copy()  # in C order
    array.setflags(False)
    return array  # type: ignore[no-any-return]


def _holders(view: View, name: str) -> int:
    """Return the reference count of a view's field, plus a constant."""
    return getrefcount(getattr(view, name))


_ALONE = _holders(View(0, np.zeros(1)), "observation")


def plain(action: m.Action) -> bool:
    """Return whether an action is a plain number with nothing beside it."""
    chosen = action.action
    return (
        type(chosen) is int
        and -_SMALL < chosen < _SMALL
        and not action.measures
        and action.thoughts is None
        and not action.refused
    )


def halves(frames: list[bytes], several: bool) -> list[list[bytes]]:
    """Split a burst of frames so that the first half is answered early.  Otherwise all matches move
    from program to program in step, and only one program works at a time.  Without ``several``
    cores that is so anyway, and the burst stays whole."""
    if not several or len(frames) < 2:
        return [frames]
    if len(frames) == 2 and len(frames[0]) <= LARGE:
        return [frames]
    middle = (len(frames) + 1) // 2
    return [frames[:middle], frames[middle:]]


class Intake:
    """Decodes the frames that a core receives, within its limits."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._limits = core.broker.settings.limits
        self._decoders = _decoders(self._limits)

    def take(self, address: Address, frames: Iterable[bytes], now: float) -> None:
        """Hand the core a burst of frames from a connection.  A frame that crashes the core (a bug)
        costs its sender the session."""
        core = self._core
        decode = self._decoders[core.role(address)].decode
        for frame in frames:
            try:
                try:
                    message = decode(frame)
                except ProtocolError as error:
                    core.refuse(address, error, now, len(frame))
                    continue
                core.receive(address, message, now, len(frame))
            except Exception:
                self._failed(address, now)
                return
            if type(message) is m.Hello:
                decode = self._decoders[core.role(address)].decode

    def hear(self, local: Local, said: Iterable[m.Message | bytes], now: float) -> None:
        """Hand the core messages of a peer in this program, judged as if from a socket."""
        core = self._core
        try:
            for each in said:
                if type(each) is Turn and local.rules:
                    turn = light(each, self._limits)
                    if turn is not None:
                        core.receive(local, turn, now)
                        continue
                elif type(each) is Action and plain(each) and not local.rules:
                    core.receive(local, each, now)
                    continue
                self.take(local, [local.frame(each, core)], now)
        except Exception:
            self._failed(local, now)

    def _failed(self, address: Address, now: float) -> None:
        log.exception(
            "the broker failed at a frame of %s, now sent away", self._core.failed(address, now)
        )


@cache
def _decoders(limits: m.Limits) -> Mapping[str | None, codec.Decoder[Any]]:
    """Return the decoders of peers' frames, by role; None before ``hello``."""
    accepted = [(None, codec.BEFORE_HELLO), *codec.AT_BROKER.items()]
    return {role: codec.Decoder(accepts, limits) for role, accepts in accepted}
