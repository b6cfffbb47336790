"""The saved form of an n-tuple network for 2048, written by the agent and by training."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.game_2048.networks import Layout, Name, layout
from dovetail_agents.learning.saving import Counter, pack, unpack, wrong

Array = NDArray[Any]


class NTupleParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``NTuple2048``."""

    learning_rate: Annotated[
        float,
        Meta(ge=0, le=2, description="Rate of the whole network, divided evenly among its tables."),
    ] = 0.1
    network: Annotated[
        Name,
        Meta(
            description="lines: the 17 four-tuples of Szubert and Jaskowski, for boards of any "
            "size; fives: six five-tuples in all turns and mirror images, for 4 x 4; sixes: four "
            "six-tuples also in all turns and mirror images, too large to be saved in a message "
            "of the usual limit"
        ),
    ] = "lines"
    exponents: Annotated[
        Annotated[int, Meta(ge=2, le=18)] | None,
        Meta(
            description="Tiles distinguished, including the free square; 16 go up to 32768. If not "
            "given, 16 for lines, 14 for fives and 15 for sixes",
        ),
    ] = None
    stages: Annotated[
        int,
        Meta(
            ge=1,
            le=4,
            description="Sets of weights, by the largest tile of the board: one below 8192, and "
            "others from 8192, 16384 and 32768 on, each of which begins with the values of the one "
            "before",
        ),
    ] = 1
    plies: Annotated[
        int,
        Meta(
            ge=1,
            le=4,
            description="Slides looked ahead by expectimax where it does not learn; 1 uses the "
            "network's value",
        ),
    ] = 1

    def layout(self, rows: int, columns: int) -> Layout:
        """Return the network for a board."""
        return layout(self.network, rows, columns, self.exponents, self.stages)


class _Settings(Struct, forbid_unknown_fields=True):
    shape: list[Annotated[int, Meta(ge=1, le=10)]]
    """Rows and columns; empty before the first board."""
    episodes: Counter


def dump(
    parameters: NTupleParameters, shape: tuple[int, int] | None, weights: Array | None, games: int
) -> bytes:
    """Return a saved agent.

    Args:
        parameters: the agent's parameters.
        shape: rows and columns of the board that it has learned, or None.
        weights: its network's weights, float32.
        games: the number of episodes that it has learned from.
    """
    settings = _Settings(list(shape or ()), games)
    arrays = {} if weights is None else {"weights": weights}
    return pack("ntuple-2048", 3, parameters, 0, settings, arrays, compress=True)


def parse(
    data: bytes,
) -> tuple[NTupleParameters, tuple[int, int] | None, Layout | None, Array | None, int]:
    """Return the arguments that ``dump`` was called with, and the network's layout.

    Raises:
        DovetailError: the bytes are not a saved agent.
    """
    saved = unpack("ntuple-2048", data, 3, NTupleParameters, _Settings, compress=True)
    found = saved.settings
    if not found.shape:
        return saved.parameters, None, None, None, found.episodes
    if len(found.shape) != 2:
        raise wrong("ntuple-2048", f"a board of {found.shape}")
    shape = (found.shape[0], found.shape[1])
    try:
        network = saved.parameters.layout(*shape)
    except DovetailError as error:
        raise wrong("ntuple-2048", str(error)) from None
    return (
        saved.parameters,
        shape,
        network,
        saved.array("weights", "<f4", network.shape),
        found.episodes,
    )
