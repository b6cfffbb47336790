"""What an n-tuple network of 2048 is saved as: by the agent, and by training for the agent to load."""

from __future__ import annotations

import zlib
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.agent_servers.games.game_2048.networks import Layout, Name, layout
from dovetail.protocol.errors import DovetailError

Array = NDArray[Any]


class NTupleParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``NTuple2048``."""

    learning_rate: Annotated[
        float,
        Meta(ge=0, le=2, description="Of the whole network; each table takes an equal part."),
    ] = 0.1
    network: Annotated[
        Name,
        Meta(
            description="lines: the 17 four-tuples of Szubert and Jaskowski, for boards of any size; "
            "fives: six five-tuples in all turns and mirror images, for 4 x 4; sixes: four six-tuples "
            "likewise, too large to be saved in a message of the usual limit"
        ),
    ] = "lines"


class _State(Struct, tag_field="agent", tag="dovetail.ntuple-2048", forbid_unknown_fields=True):
    version: Literal[2]
    parameters: NTupleParameters
    shape: list[int]
    weights: bytes
    """Little-endian float32, compressed by zlib."""
    episodes: int


def dump(
    parameters: NTupleParameters, shape: tuple[int, int] | None, weights: Array | None, games: int
) -> bytes:
    """Return the bytes of an agent.

    Args:
        parameters: of the agent.
        shape: rows and columns of the board it has learned, or None.
        weights: of that board's network, float32.
        games: episodes that it has learned from.
    """
    packed = b"" if weights is None else zlib.compress(weights.astype("<f4").tobytes(), 1)
    state = _State(2, parameters, [] if shape is None else list(shape), packed, games)
    return msgspec.msgpack.encode(state)


def parse(
    data: bytes,
) -> tuple[NTupleParameters, tuple[int, int] | None, Layout | None, Array | None, int]:
    """Return what ``dump`` was given, and the network's layout.

    Raises:
        DovetailError: the bytes are something else.
    """
    wrong = "these bytes are not a saved ntuple-2048"
    try:
        found = msgspec.msgpack.decode(data, type=_State)
        if not found.shape:
            return found.parameters, None, None, None, found.episodes
        if len(found.shape) != 2 or not all(1 <= side <= 10 for side in found.shape):
            raise DovetailError(f"{wrong}: a board of {found.shape}")
        shape = (found.shape[0], found.shape[1])
        network = layout(found.parameters.network, *shape)
        size = 4 * network.shape[0] * network.shape[1]
        raw = zlib.decompressobj().decompress(found.weights, size + 1)
    except (msgspec.DecodeError, ValueError, zlib.error) as error:
        raise DovetailError(f"{wrong}: {error}") from None
    if len(raw) != size:
        raise DovetailError(f"{wrong}: wrong size of tables")
    weights = np.frombuffer(raw, "<f4").reshape(network.shape).astype(np.float32)
    return found.parameters, shape, network, weights, found.episodes
