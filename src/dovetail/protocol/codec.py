"""Messages to bytes and back.  Limits are checked before a byte is decoded."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from dovetail.protocol import limits as limits_
from dovetail.protocol import messages, tensors
from dovetail.protocol import validation_errors as complaints
from dovetail.protocol.errors import Code, ProtocolError
from dovetail.protocol.messages import Limits
from dovetail.protocol.ready import ready

T = TypeVar("T")

MAX_TEXT = 600
"""Characters of an error about a frame, which may quote any of it."""
LONGEST_RANGE = 1_000_000
"""Numbers of a ``range`` that are encoded; more are beyond any frame."""
UNLIMITED = Limits(2**63 - 1, 2**63 - 1, 2**63 - 1)
"""For values that were checked already, or that never travel in a frame."""


def _encode_other(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tensors.pack(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, range) and len(value) <= LONGEST_RANGE:
        return list(value)
    if isinstance(value, int):  # of a class of its own, such as the number of an agent
        return int(value)
    raise TypeError(f"a {type(value).__name__} cannot travel; use numbers, text, lists or arrays")


def extension(code: int, data: memoryview) -> Any:
    """Return the value of a MessagePack extension: an array, or the extension as it came."""
    if code == tensors.EXTENSION:
        return tensors.unpack(data)
    return msgspec.msgpack.Ext(code, bytes(data))


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_other)
encode = _encoder.encode
"""Return the frame of a message, or of any value that can travel.

Raises one of ``UNSENDABLE`` for a value that cannot.
"""

_CONTAINERS = (dict, list, tuple)


_DEEPEST = 500
"""Levels of a value that are looked at; far fewer may travel."""
_HARMLESS = frozenset({int, float, str, bool, bytes, type(None)})
"""Types of most values; each may travel."""


def check_values(value: Any, depth: int = 0) -> None:
    """Check that a value has only what the contract lets travel, where the encoder lets more
    through.

    Raises:
        TypeError: a map has a key that is not text (S3.6), or there is a time stamp.
        RecursionError: it is nested too deep, or contains itself; compiled code sets no limit.
    """
    if depth > _DEEPEST:
        raise RecursionError("maximum recursion depth exceeded in a value")
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                shown = repr(key)[:40]
                raise TypeError(f"keys of maps are text, not {shown} ({type(key).__name__}) (S3.6)")
            if type(each) not in _HARMLESS:  # a call takes long
                check_values(each, depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            if type(each) not in _HARMLESS:
                check_values(each, depth + 1)
    elif isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        raise TypeError(f"a {type(value).__name__} cannot travel; write it as text or a number")


def own(message: messages.Message) -> bytes:
    """Return the frame of a message whose values a user made.

    Raises one of ``UNSENDABLE``, also for what ``check_values`` refuses.
    """
    for name in _FREE.get(type(message), ()):
        value = getattr(message, name)
        if isinstance(value, _CONTAINERS) or type(value) is datetime.datetime:
            check_values(value)
    if isinstance(message, messages.Turn):
        for view in message.seats:
            for value in (view.observation, view.afterstates, view.scene):
                if isinstance(value, _CONTAINERS):
                    check_values(value)
    return encode(message)


_FREE: dict[type[messages.Message], tuple[str, ...]] = {
    messages.Action: ("action", "measures"),
    messages.Turn: ("scene", "info"),
    messages.Reply: ("body",),
    messages.Run: ("configuration",),
    messages.ExperimentCreate: ("parameters",),
    messages.ExperimentMessage: ("body",),
}
"""Fields that may have any value."""

UNSENDABLE = (TypeError, OverflowError, ValueError, RecursionError)
"""The exceptions of ``encode``: an object, too large an integer, half a surrogate pair, a list in
itself."""
UNREADABLE: tuple[
    type[msgspec.DecodeError], type[ValueError], type[RecursionError], type[OverflowError]
]
UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError, OverflowError)
"""The exceptions of decoding foreign bytes, JSON included: they are cut off, not UTF-8, of another
type, or nested thousands deep."""


class _Named(msgspec.Struct):
    """The fields that any message may have, unopened: each may be anything, of any size, in a frame
    that is refused."""

    type: msgspec.Raw = messages.NIL
    version: msgspec.Raw = messages.NIL
    id: msgspec.Raw = messages.NIL
    match: msgspec.Raw = messages.NIL
    instance: msgspec.Raw = messages.NIL
    episode: msgspec.Raw = messages.NIL
    turn: msgspec.Raw = messages.NIL
    seat: msgspec.Raw = messages.NIL
    answers: msgspec.Raw = messages.NIL
    seq: msgspec.Raw = messages.NIL


_named = msgspec.msgpack.Decoder(_Named)
_text = msgspec.msgpack.Decoder(str)
_integer = msgspec.msgpack.Decoder(int)


def _refusal(frame: bytes, code: Code, said: Callable[[str], str]) -> ProtocolError:
    """Return the refusal of a frame; ``said`` returns its text for the type of the message."""
    kind, about = "", {}
    with suppress(*UNREADABLE):
        named = _named.decode(frame)
        for name in _Named.__struct_fields__[1:]:
            with suppress(msgspec.ValidationError):
                about[name] = _integer.decode(getattr(named, name))
        kind = _text.decode(named.type)
    return ProtocolError(code, said(kind), kind, about)


class Decoder(Generic[T]):
    """Reads the messages that one side of one role accepts."""

    def __init__(self, accepts: Any, limits: Limits | None = None) -> None:
        self._accepts = accepts
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(
            accepts, ext_hook=extension
        )
        self.limit(limits or Limits())

    def limit(self, limits: Limits) -> None:
        """Read what is within other limits from now on."""
        self._limits = limits
        # Of a frame that needs no walk; compiled, a field of a message takes long to read.
        self._size = min(limits.frame, limits.elements, limits_.LONG)
        self._depth = limits.depth

    def decode(self, frame: bytes) -> T:
        """Return the message in ``frame``.

        Raises:
            ProtocolError: code ``limit``, ``malformed``, ``unknown-type`` or ``invalid``.
        """
        try:
            if len(frame) > self._size:
                limits_.check(frame, self._limits)
            elif limits_.openings(frame) > self._depth:
                limits_.walk(frame, self._limits)
            return self._decoder.decode(frame)
        except (ProtocolError, *UNREADABLE) as error:
            raise self._refused(frame, error) from None

    def _refused(self, frame: bytes, error: Exception) -> ProtocolError:
        """Return what is wrong with a frame: first that it is not well-formed, if so, then what it
        says."""
        text = _brief(str(error))
        if isinstance(error, msgspec.ValidationError):
            try:
                limits_.walk(frame, self._limits)  # nothing was read beyond what is wrong
            except ProtocolError as whole:
                error, text = whole, str(whole)
        if isinstance(error, ProtocolError):
            return _refusal(frame, error.code, lambda _: text)
        if not isinstance(error, msgspec.ValidationError):
            return _refusal(frame, "malformed", lambda _: complaints.malformed(text, frame))
        if text.endswith("`$.type`") or text == "Object missing required field `type`":
            return _refusal(
                frame,
                "unknown-type",
                lambda kind: complaints.unknown_type(text, kind, self._accepts),
            )
        return _refusal(
            frame, "invalid", lambda kind: complaints.invalid(text, kind, self._accepts)
        )


def _brief(text: str) -> str:
    """Return an error without the middle of a value that it quotes; where that stood is at its
    end."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT // 2]}...{text[-MAX_TEXT // 2 :]}"


_any: Decoder[Any] = Decoder(Any)


def decode(frame: bytes) -> Any:
    """Return the value in ``frame``, whatever it is; tensors become numpy arrays.

    Raises:
        ProtocolError: code ``limit`` or ``malformed``; ``invalid`` for a time stamp or a key that
            is not text.
    """
    value = _any.decode(frame)
    _check_received(value)
    return value


def _check_received(value: Any) -> None:
    if isinstance(value, _CONTAINERS) or type(value) is datetime.datetime:
        try:
            check_values(value)
        except TypeError as error:
            raise ProtocolError("invalid", str(error)) from None


_payload = msgspec.msgpack.Decoder(Any, ext_hook=extension)


def opened(value: Any) -> Any:
    """Return a payload as an object, decoding it if it came from another process."""
    if not isinstance(value, msgspec.Raw):
        return value
    try:
        found = _payload.decode(value)
    except UNREADABLE as error:
        raise ProtocolError("malformed", str(error) or type(error).__name__) from None
    _check_received(found)
    return found


AT_BROKER: dict[str, Any] = {
    "environment": messages.FromEnvironment,
    "agent": messages.FromAgent,
    "experiment": messages.FromExperiment,
    "observer": messages.FromObserver,
}
"""Messages that the broker accepts from a peer of each role."""

BEFORE_HELLO: Any = messages.Session
"""Messages that the broker reads from a peer before its ``hello``; all but ``hello`` gets
``hello-first``."""

AT_PEER: dict[str, Any] = {
    "environment": messages.ToEnvironment,
    "agent": messages.ToAgent,
    "experiment": messages.ToExperiment,
    "observer": messages.ToExperiment,
}
"""Messages that a peer of each role accepts from the broker."""

ready(*AT_BROKER.values(), BEFORE_HELLO, *AT_PEER.values())
