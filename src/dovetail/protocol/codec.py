"""Encodes and decodes messages; limits are checked before a byte is decoded."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from dovetail.protocol import limits as limits_
from dovetail.protocol import messages, tensors
from dovetail.protocol import validation_errors as complaints
from dovetail.protocol.errors import Code, ProtocolError
from dovetail.protocol.messages import Limits

T = TypeVar("T")

MAX_TEXT = 600
"""Maximum characters of an error about a frame, which may quote any of it."""
LONGEST_RANGE = 1_000_000
"""Maximum numbers of a ``range`` that is encoded; more would exceed any frame."""
UNLIMITED = Limits(2**63 - 1, 2**63 - 1, 2**63 - 1)
"""The limits of values that were checked before, or are never in a frame."""


def _encode_other(value: Any) -> Any:
    if type(value) is np.ndarray or (  # `np.ma` is imported when it is first named
        isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
    ):
        return tensors.pack(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, range) and len(value) <= LONGEST_RANGE:
        return list(value)
    if isinstance(value, int):  # a subclass, such as an agent's handle
        return int(value)
    raise TypeError(f"a {type(value).__name__} cannot travel; use numbers, text, lists or arrays")


def extension(code: int, data: memoryview) -> Any:
    """Return the value of a MessagePack extension: an array, or the extension itself."""
    if code == tensors.EXTENSION:
        return tensors.unpack(data)
    return msgspec.msgpack.Ext(code, bytes(data))


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_other)
encode = _encoder.encode
"""Return the frame of a message or other value; raises one of ``UNSENDABLE``."""


@lru_cache(maxsize=1 << 12)
def array_head(count: int) -> bytes:
    """Return the head of a MessagePack array, whose elements follow; msgspec writes whole values
    only."""
    if count < 16:
        return bytes([0x90 + count])
    if count < 1 << 16:
        return b"\xdc" + count.to_bytes(2, "big")
    return b"\xdd" + count.to_bytes(4, "big")


_TIMES = (datetime.date, datetime.time, datetime.timedelta)
_LOOKED_AT = (dict, list, tuple, *_TIMES)
"""Types of the values that ``check_values`` may refuse."""


DEEPEST = 500
"""Maximum levels of a value that are read or checked, whatever the limits: each takes some of the
stack."""
_HARMLESS = frozenset({int, float, str, bool, bytes, type(None)})
"""The types of most values, which need no check."""


def check_values(value: Any, depth: int = 0) -> None:
    """Check a value for what the encoder accepts and the contract does not.

    Raises:
        TypeError: a map has a key that is not text (S3.6), or there is a time stamp.
        RecursionError: it is nested too deeply, or in itself; compiled code sets no limit.
    """
    if depth > DEEPEST:
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
    elif isinstance(value, _TIMES):
        raise TypeError(f"a {type(value).__name__} cannot travel; write it as text or a number")


def own(message: messages.Message) -> bytes:
    """Return the frame of a message with a user's values, after ``check_values``.

    Raises one of ``UNSENDABLE``.
    """
    for name in _FREE.get(type(message), ()):
        value = getattr(message, name)
        if isinstance(value, _LOOKED_AT):
            check_values(value)
    if isinstance(message, messages.Turn):
        for view in message.seats:
            for value in (view.observation, view.afterstates, view.scene):
                if isinstance(value, _LOOKED_AT):
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
"""Fields that accept any value."""

UNSENDABLE = (TypeError, OverflowError, ValueError, RecursionError)
"""The exceptions of ``encode``, as for an object, a huge integer, half a surrogate pair, or a list
in itself."""
UNREADABLE: tuple[
    type[msgspec.DecodeError], type[ValueError], type[RecursionError], type[OverflowError]
]
UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError, OverflowError)
"""The exceptions of decoding foreign bytes, JSON included, that are cut off, not UTF-8, of another
type, or nested too deeply."""


class _Named(msgspec.Struct):
    """Fields that identify a message, undecoded: a bad frame can have anything in them."""

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
    """Return the error for a bad frame; ``said`` returns its text, given the message's type."""
    kind, about = "", {}
    with suppress(*UNREADABLE):
        named = _named.decode(frame)
        for name in _Named.__struct_fields__[1:]:
            with suppress(msgspec.ValidationError):
                about[name] = _integer.decode(getattr(named, name))
        kind = _text.decode(named.type)
    return ProtocolError(code, said(kind), kind, about)


class Decoder(Generic[T]):
    """A decoder for the messages that one side accepts."""

    def __init__(self, accepts: Any, limits: Limits | None = None) -> None:
        self._accepts = accepts
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(
            accepts, ext_hook=extension
        )
        self.limit(limits or Limits())

    def limit(self, limits: Limits) -> None:
        """Change the limits; of the depth no more than ``DEEPEST`` counts."""
        limits = msgspec.structs.replace(limits, depth=min(limits.depth, DEEPEST))
        self._limits = limits
        # For frames that need no walk; copies, since compiled code reads a struct's field slowly.
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
        """Return the error for a bad frame; not being well-formed comes first."""
        text = _brief(str(error))
        if isinstance(error, msgspec.ValidationError):
            try:
                limits_.walk(frame, self._limits)  # decoding stopped at the fault
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
    """Shorten an error in the middle, where it quotes a value; the place is at its end."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT // 2]}...{text[-MAX_TEXT // 2 :]}"


_any: Decoder[Any] = Decoder(Any)


def decode(frame: bytes) -> Any:
    """Return the value in ``frame``; tensors become numpy arrays.

    Raises:
        ProtocolError: code ``limit`` or ``malformed``; ``invalid`` for a time stamp or a key that
            is not text.
    """
    value = _any.decode(frame)
    _check_received(value)
    return value


def _check_received(value: Any) -> None:
    if isinstance(value, _LOOKED_AT):
        try:
            check_values(value)
        except TypeError as error:
            raise ProtocolError("invalid", str(error)) from None


_payload = msgspec.msgpack.Decoder(Any, ext_hook=extension)


def payload(value: Any) -> Any:
    """Return a payload as an object, decoding it if it came from another process.

    Raises:
        ProtocolError: code ``malformed``.
    """
    if not isinstance(value, msgspec.Raw):
        return value
    try:
        return _payload.decode(value)
    except UNREADABLE as error:
        raise ProtocolError("malformed", str(error) or type(error).__name__) from None


def opened(value: Any) -> Any:
    """Return a payload as ``payload`` does; one of another process is checked, too."""
    found = payload(value)
    if found is not value:
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
"""Messages that the broker decodes before ``hello``; all others get the error ``hello-first``."""

AT_PEER: dict[str, Any] = {
    "environment": messages.ToEnvironment,
    "agent": messages.ToAgent,
    "experiment": messages.ToExperiment,
    "observer": messages.ToExperiment,
}
"""Messages that a peer of each role accepts from the broker."""


def ready(*types: Any) -> None:
    """Have msgspec analyse types now, at import.

    Otherwise it does so when it first decodes a value, and crashes the program if two threads do
    that at the same time (seen with 0.22).
    """
    for each in types:
        msgspec.msgpack.Decoder(each)


ready(*AT_BROKER.values(), BEFORE_HELLO, *AT_PEER.values())
