"""Encoders of observations as state numbers or bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Seat
from dovetail.protocol.errors import DovetailError
from dovetail_agents.general.q_learning.table import Key


class Component(Struct, frozen=True, forbid_unknown_fields=True):
    """One number of an observation as part of a state: clamped, then cut into steps of
    ``width``."""

    at: Annotated[int, Meta(ge=0)]
    """Index in the flattened observation."""
    least: float
    most: float
    width: Annotated[float, Meta(gt=0)] = 1.0

    @property
    def levels(self) -> int:
        """Number of values it can have."""
        return int((self.most - self.least) // self.width) + 1

    def level(self, number: float) -> int:
        """Return the level of a number."""
        return int((min(max(number, self.least), self.most) - self.least) // self.width)


Encode = Callable[[Any, Seat], Any]


def whole(observation: Any, seat: Seat) -> bytes:
    """Return the bytes of an observation."""
    if isinstance(observation, np.ndarray | np.generic):
        return observation.tobytes()
    return msgspec.msgpack.encode(observation, enc_hook=lambda each: np.asarray(each).tobytes())


def bucketed(parts: Sequence[Component]) -> Encode:
    """Return a function that numbers states by components in mixed radix, the first fastest."""

    def encode(observation: Any, seat: Seat) -> int:
        flat = np.asarray(observation).reshape(-1)
        number, radix = 0, 1
        for part in parts:
            number += part.level(float(flat[part.at])) * radix
            radix *= part.levels
        return number

    return encode


def key_of(state: Any, who: str) -> Key:
    """Return an encoder's result as a key; raise DovetailError if it is invalid."""
    if isinstance(state, bytes):
        return state
    if isinstance(state, int | np.integer) and 0 <= state < 1 << 64:
        return int(state)
    raise DovetailError(
        f"agent {who}, option 'encoder': it must return bytes or a number from 0, not {state!r}"[
            :300
        ]
    )
