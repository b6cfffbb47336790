"""Players of Tetris that weigh hand-made features: Dellacherie's, Thiery and Scherrer's, or one's own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.agent_servers.agent import Agent, Decision, Seat
from dovetail.env_servers.tetris import features
from dovetail.env_servers.tetris.kernels import FEATURES
from dovetail.env_servers.tetris.rules import Board
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Box, Dict

PLAYERS = {"dellacherie": features.DELLACHERIE, "dt-8": features.DT_8}


class TetrisPlayerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``TetrisPlayer``."""

    player: Annotated[
        Literal["dellacherie", "dt-8"], Meta(description="Whose published weights.")
    ] = "dellacherie"
    weights: Annotated[
        list[float] | None,
        Meta(description="Eight weights of one's own instead, in the order of `features.NAMES`."),
    ] = None
    avoid_end: Annotated[
        bool,
        Meta(description="A placement that ends the game is worth minus infinity, as published."),
    ] = True


class TetrisPlayer(Agent):
    """Tetris: places each piece where a weighted sum of eight features is largest; the first of equals.

    Features and weights are those of the study, section 2.1, and of MdpTetris.
    """

    name = "tetris-player"
    Parameters = TetrisPlayerParameters
    parameters: TetrisPlayerParameters
    capacity = 0

    def __init__(self, parameters: TetrisPlayerParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        given = self.parameters.weights
        if given is not None and len(given) != FEATURES:
            raise DovetailError(
                f"agent tetris-player, option 'weights': {len(given)} weights; {FEATURES} are needed"
            )
        self.weights: NDArray[Any] = np.array(
            PLAYERS[self.parameters.player] if given is None else given
        )

    def init(self, seat: Seat) -> None:
        space = seat.spec.observation_spaces[0]
        board = space.spaces.get("board") if isinstance(space, Dict) else None
        if seat.spec.name != "tetris" or not isinstance(board, Box):
            raise DovetailError(f"tetris-player plays tetris only, not {seat.spec.name}")

    def step(self, decision: Decision) -> int:
        cells = np.asarray(decision.observation["board"], np.int64)
        height, width = cells.shape
        board = Board(height, width)
        board.wall[:height] = (cells << np.arange(width)).sum(1)[::-1]
        board.piece = decision.observation["piece"]
        found, over = features.after_all(board)
        values = found @ self.weights
        if self.parameters.avoid_end:
            values[over] = -np.inf
        assert decision.legal is not None
        return decision.legal[int(values.argmax())]
