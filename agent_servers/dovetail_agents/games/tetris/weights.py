"""Linear evaluations of Tetris: published weights, and the files that training writes.

Sources: ``dellacherie`` Fahey 2003; ``bcts`` Thiery and Scherrer 2009 as published in MdpTetris
(the same as ``dt-8``); ``dt-10`` and ``dt-20`` Gabillon, Ghavamzadeh and Scherrer 2013, learned on
10 x 10 and 20 x 10 boards by classification-based modified policy iteration and given to two
decimals. We know of no published weights for Bertsekas and Tsitsiklis' 22 features; those of
``bertsekas`` were learned here (docs/agents/tetris.md).
"""

from __future__ import annotations

from typing import Any, Literal, Self

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.tetris import kernels
from dovetail_games.tetris import features

Features = Literal["dt", "dt-diversity", "bertsekas", "all"]
KINDS: dict[Features, int] = {
    "dt": kernels.DT,
    "dt-diversity": kernels.DIVERSITY,
    "bertsekas": kernels.BERTSEKAS,
    "all": kernels.ALL,
}

DT_10 = (-2.18, 2.42, -2.17, -3.31, 0.95, -2.22, -0.81, -9.65, 1.27)
DT_20 = (-2.68, 1.38, -2.41, -6.32, 2.03, -2.71, -0.43, -9.48, 0.89)

# Heights, differences, largest height, holes, constant.
BERTSEKAS = (
    *(0.1958, 0.0239, 0.1091, 0.0768, 0.0839, 0.0869, 0.0729, 0.1062, 0.0166, 0.1791),
    *(-0.1393, -0.0999, -0.0991, -0.0856, -0.0957, -0.1063, -0.1281, -0.1081, -0.1371),
    *(-0.0341, -0.713, 6.9206),
)


def size(features: Features, width: int) -> int:
    """Return the number of features in a set, for a board width.

    >>> size("dt", 10), size("dt-diversity", 10), size("bertsekas", 10), size("all", 10)
    (8, 9, 22, 31)
    """
    return int(kernels.size(KINDS[features], width))


class Weights(Struct, frozen=True, tag_field="agent", tag="dovetail.tetris-player"):
    """A linear evaluation; JSON on disk."""

    version: Literal[1]
    features: Features
    weights: list[float]
    reward: float = 0.0
    """Weight of the rows that a placement clears."""
    width: int = 10
    """Width of the board; only features of columns depend on it."""
    made: dict[str, Any] = {}
    """Notes on its origin, for readers."""

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Return the weights that ``bytes`` encoded.

        Raises:
            DovetailError: the bytes are not saved weights.
        """
        try:
            found = msgspec.json.decode(data, type=cls)
        except codec.UNREADABLE as error:
            raise DovetailError(f"these bytes are not a saved tetris-player: {error}") from None
        if not 4 <= found.width <= 30 or len(found.weights) != size(found.features, found.width):
            raise DovetailError(
                f"these bytes are not a saved tetris-player: {len(found.weights)} weights of "
                f"{found.features} on width {found.width}"
            )
        return found

    def bytes(self) -> bytes:
        """Return the file's content."""
        return msgspec.json.encode(self) + b"\n"

    def check(self, width: int) -> None:
        """Raise DovetailError if these weights do not fit a board of this width."""
        if len(self.weights) != size(self.features, width):
            raise DovetailError(
                f"tetris-player has {len(self.weights)} weights; the features {self.features} need "
                f"{size(self.features, width)} on a board {width} wide"
            )

    def array(self) -> NDArray[np.float64]:
        """Return the weights: float64."""
        return np.array(self.weights, np.float64)


def _published(features: Features, weights: tuple[float, ...]) -> Weights:
    return Weights(1, features, list(weights))


PLAYERS = {
    "dellacherie": _published("dt", features.DELLACHERIE),
    "dt-8": _published("dt", features.DT_8),
    "bcts": _published("dt", features.DT_8),
    "dt-10": _published("dt-diversity", DT_10),
    "dt-20": _published("dt-diversity", DT_20),
    "bertsekas": Weights(1, "bertsekas", list(BERTSEKAS), 1 / 0.95),
}
