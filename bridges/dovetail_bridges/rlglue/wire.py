"""RL-Glue's wire format: frames, abstract types and texts as bytes.  Pure; numbers are big-endian.

A frame is a code (int32), the length of its payload (uint32), and the payload.  No memory is
allocated for a length or a count before its bytes have arrived.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from dovetail.protocol.errors import DovetailError

LIMIT = 64 * 1024 * 1024
"""Maximum bytes of a payload."""
HEADER = struct.Struct(">iI")
COUNTS = struct.Struct(">III")
LENGTH = struct.Struct(">I")
INTEGER = struct.Struct(">i")
REWARD = struct.Struct(">d")
OUTCOME = struct.Struct(">id")
"""``terminal`` and ``reward``, which precede the observation in the answer to a step."""
INT_RANGE = (-(2**31), 2**31 - 1)


class Code(IntEnum):
    """The content of a frame."""

    EXPERIMENT = 1
    AGENT = 2
    ENVIRONMENT = 3
    AGENT_INIT = 4
    AGENT_START = 5
    AGENT_STEP = 6
    AGENT_END = 7
    AGENT_CLEANUP = 8
    AGENT_MESSAGE = 10
    ENV_INIT = 11
    ENV_START = 12
    ENV_STEP = 13
    ENV_CLEANUP = 14
    ENV_MESSAGE = 19
    RL_INIT = 20
    RL_START = 21
    RL_STEP = 22
    RL_CLEANUP = 23
    RL_RETURN = 24
    RL_NUM_STEPS = 25
    RL_NUM_EPISODES = 26
    RL_EPISODE = 27
    RL_AGENT_MESSAGE = 33
    RL_ENV_MESSAGE = 34
    TERM = 35
    RL_ENV_START = 36
    RL_ENV_STEP = 37
    RL_AGENT_START = 38
    RL_AGENT_STEP = 39
    RL_AGENT_END = 40


ROLES = {Code.EXPERIMENT: "experiment", Code.AGENT: "agent", Code.ENVIRONMENT: "environment"}
"""The role announced by a first frame, by its code."""


class WireError(DovetailError):
    """Invalid bytes; the text says what was wrong and what was expected."""


class Adt(Struct, frozen=True):
    """An observation or action: RL-Glue's abstract type."""

    ints: Sequence[int] = ()
    doubles: Sequence[float] = ()
    chars: bytes = b""

    def __str__(self) -> str:
        parts = [f"ints {_short(self.ints)}", f"doubles {_short(self.doubles)}"]
        return ", ".join([*parts, f"chars {self.chars[:20]!r}"])


EMPTY = bytes(12)
"""The bytes of an empty abstract type."""


def _short(numbers: Sequence[float]) -> str:
    text = ", ".join(map(str, numbers[:8]))
    return f"[{text}]" if len(numbers) <= 8 else f"[{text}, ... ({len(numbers)} in all)]"


def frame(code: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame."""
    return HEADER.pack(code, len(payload)) + payload


def packed(adt: Adt) -> bytes:
    """Return an abstract type as bytes.

    Raises:
        WireError: an integer does not fit 32 bits.
    """
    ints, doubles, chars = adt.ints, adt.doubles, adt.chars
    try:
        return (
            struct.pack(
                f">III{len(ints)}i{len(doubles)}d",
                *(len(ints), len(doubles), len(chars)),
                *ints,
                *doubles,
            )
            + chars
        )
    except struct.error as error:
        raise WireError(f"cannot send {adt}: {error}; RL-Glue's integers have 32 bits") from None


def check_adt(payload: bytes, at: int = 0) -> bytes:
    """Return ``payload`` if exactly one abstract type fills it from ``at`` to its end.

    Raises:
        WireError: the counts and the length differ.
    """
    have = len(payload) - at
    if have < 12:
        raise WireError(f"an observation or action needs at least 12 bytes; got {max(have, 0)}")
    ints, doubles, chars = COUNTS.unpack_from(payload, at)
    if 12 + 4 * ints + 8 * doubles + chars != have:
        raise WireError(
            f"an observation or action announces {ints} ints, {doubles} doubles and {chars} chars, "
            f"which are {12 + 4 * ints + 8 * doubles + chars} bytes; got {have}"
        )
    return payload


def unpacked(payload: bytes, at: int = 0) -> Adt:
    """Return the abstract type that fills ``payload`` from ``at`` to its end.

    Raises:
        WireError: the counts and the length differ.
    """
    check_adt(payload, at)
    ints, doubles, chars = COUNTS.unpack_from(payload, at)
    numbers = struct.unpack_from(f">{ints}i{doubles}d", payload, at + 12)
    return Adt(numbers[:ints], numbers[ints:], payload[len(payload) - chars :] if chars else b"")


def text(content: bytes | str) -> bytes:
    """Return a text as the payload of a frame."""
    data = content.encode() if isinstance(content, str) else content
    return LENGTH.pack(len(data)) + data


def check_text(payload: bytes) -> bytes:
    """Return ``payload`` if it is one text.

    Raises:
        WireError: the announced length differs from the actual one.
    """
    if len(payload) < 4 or LENGTH.unpack_from(payload)[0] != len(payload) - 4:
        raise WireError(f"a text announces a length other than its own; got {len(payload)} bytes")
    return payload


def text_of(payload: bytes) -> str:
    """Return the text in a payload; bytes that are not UTF-8 are read as Latin-1.

    Raises:
        WireError: the announced length differs from the actual one.
    """
    data = check_text(payload)[4:]
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def check_outcome(payload: bytes) -> bytes:
    """Return ``payload`` if it is an environment's answer to a step: terminal, reward, observation.

    Raises:
        WireError: it has another form.
    """
    return check_adt(payload, OUTCOME.size)


class Frames:
    """A buffer that collects bytes and returns complete frames."""

    __slots__ = ("_data", "_limit")

    def __init__(self, limit: int = LIMIT) -> None:
        self._data = b""
        self._limit = limit

    @property
    def empty(self) -> bool:
        """True if all bytes that arrived were taken."""
        return not self._data

    def feed(self, data: bytes) -> None:
        """Append bytes."""
        self._data = self._data + data if self._data else data

    @property
    def missing(self) -> int:
        """The number of bytes that the frame in progress still lacks by its header; 0 if
        complete."""
        have = len(self._data)
        if have < 8:
            return 8 - have
        length: int = HEADER.unpack_from(self._data)[1]
        return max(0, 8 + length - have)

    def take(self) -> tuple[int, bytes] | None:
        """Return the code and payload of the next complete frame, or None.

        Raises:
            WireError: the frame is larger than the limit.
        """
        data = self._data
        if len(data) < 8:
            return None
        code, length = HEADER.unpack_from(data)
        if length > self._limit:
            raise WireError(
                f"a frame announces {length:,} bytes; at most {self._limit:,} are accepted"
            )
        end = 8 + length
        if len(data) < end:
            return None
        self._data = data[end:]
        return code, data[8:end]
