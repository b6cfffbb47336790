"""Players of Tetris that weigh features, with published, learned or custom weights."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct, ValidationError, convert
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Agent, Decision, Needs, Seat, Thoughts
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedReal
from dovetail.protocol.spaces import Box, Dict
from dovetail_agents.games.tetris import kernels
from dovetail_agents.games.tetris.weights import (
    KINDS,
    PLAYERS,
    Features,
    Weights,
    size,
)
from dovetail_agents.learning.checked import whole
from dovetail_games.tetris.environment import Configuration
from dovetail_games.tetris.kernels import ROTATIONS


class TetrisPlayerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``TetrisPlayer``."""

    player: Annotated[
        Literal["dellacherie", "dt-8", "bcts", "dt-10", "dt-20", "bertsekas"],
        Meta(
            description="Published weights of Dellacherie, Thiery and Scherrer "
            "(dt-8 and bcts are one), or Gabillon, Ghavamzadeh and Scherrer's; or weights "
            "learned here of Bertsekas and Tsitsiklis' features, for ten columns."
        ),
    ] = "dellacherie"
    weights: Annotated[
        list[LimitedReal] | None,
        Meta(
            description="Your own weights instead, in the order of `features`. A state that "
            "training has saved takes the place of both."
        ),
    ] = None
    features: Annotated[
        Features,
        Meta(
            description="Features for `weights`: Dellacherie and Thiery's eight; those and pattern "
            "diversity; Bertsekas and Tsitsiklis' (22 on ten columns); or all of them."
        ),
    ] = "dt"
    reward: Annotated[
        LimitedReal, Meta(description="With your own weights: the weight of the rows cleared.")
    ] = 0.0
    avoid_end: Annotated[
        bool,
        Meta(description="A placement that ends the game is worth minus infinity, as published."),
    ] = True


class TetrisPlayer(Agent[TetrisPlayerParameters]):
    """Tetris: places each piece where the wall has few holes and steps, by a weighted sum of
    features; ties go to the first.

    Features and weights are those of the study, section 2, of MdpTetris, and of the papers listed
    in ``dovetail_agents.games.tetris.weights``.
    """

    name = "tetris-player"
    needs = Needs(game="tetris", legal="list")
    capacity = 0

    def __init__(self, parameters: TetrisPlayerParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.loaded = False
        self._use(self._given())

    def _given(self) -> Weights:
        own = self.parameters
        if own.weights is None:
            return PLAYERS[own.player]
        if own.features in ("dt", "dt-diversity"):
            need = size(own.features, 10)
            if len(own.weights) != need:
                raise DovetailError(
                    f"agent tetris-player, option 'weights': {len(own.weights)} weights; "
                    f"{need} are needed"
                )
        return Weights(1, own.features, own.weights, own.reward)

    def _use(self, weights: Weights) -> None:
        self.evaluation = weights
        self._weights = weights.array()
        self._kind = KINDS[weights.features]

    def init(self, seat: Seat) -> None:
        self.evaluation.check(_board(seat)[1])

    def step(self, decision: Decision) -> int:
        seen = decision.observation
        if not isinstance(seen, dict):
            raise DovetailError("tetris-player: these are not the observations of tetris")
        height, width = _board(decision.seat)
        cells = whole("boards", seen.get("board"), (height, width)).astype(np.int64)
        piece = int(whole("pieces", seen.get("piece"), (), len(ROTATIONS) - 1))
        wall: NDArray[Any] = np.zeros(height + 4, np.int64)
        wall[:height] = (cells << np.arange(width)).sum(1)[::-1]
        out: NDArray[Any] = np.empty((4 * width, kernels.size(kernels.ALL, width)))
        ends: NDArray[Any] = np.empty((4 * width, 2), np.int64)
        count = kernels.described_after_all(wall, piece, height, width, self._kind, out, ends)
        reward, avoid = self.evaluation.reward, self.parameters.avoid_end
        assert decision.legal is not None
        if decision.think:
            values = reward * ends[:count, 0] + out[:count, : len(self._weights)] @ self._weights
            decision.thoughts = Thoughts([float(value) for value in values])
        return decision.legal[kernels.best(count, out, ends, self._weights, reward, avoid)]

    def save(self) -> bytes:
        """Return the weights; empty if the parameters determine them."""
        return self.evaluation.bytes() if self.loaded else b""

    def load(self, state: bytes) -> None:
        """Use weights saved by an agent or by training."""
        self._use(Weights.read(state) if state else self._given())
        self.loaded = bool(state)


def _board(seat: Seat) -> tuple[int, int]:
    """Return the height and width of a seat's board."""
    space = seat.spec.observation_spaces[0]
    board = space.spaces.get("board") if isinstance(space, Dict) else None
    if isinstance(board, Box) and len(board.shape) == 2:
        height, width = board.shape
        with suppress(ValidationError):
            convert({"height": height, "width": width}, Configuration)
            return height, width
    raise DovetailError("tetris-player: these are not the observations of tetris")
