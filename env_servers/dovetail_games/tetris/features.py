"""Features of Tetris boards: Dellacherie's six and Thiery's two (Thiery and Scherrer 2009)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail_games.tetris import kernels
from dovetail_games.tetris.rules import TetrisBoard

NAMES = (
    "landing height",
    "eroded cells",
    "row transitions",
    "column transitions",
    "holes",
    "cumulative wells",
    "hole depth",
    "rows with holes",
)
DELLACHERIE = (-1.0, 1.0, -1.0, -1.0, -4.0, -1.0, 0.0, 0.0)
"""Weights of P. Dellacherie's hand-tuned player (Fahey 2003)."""
DT_8 = (-12.629, 6.601974, -9.215815, -19.77356, -13.08335, -10.48747, -1.611863, -24.04087)
"""Weights of Thiery and Scherrer's player, as published in MdpTetris."""


def after_all(board: TetrisBoard) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the features after every placement of the piece, and flags of those that end the game.

    float64, shape (placements, 8), in the order of ``NAMES``; bool, shape (placements,).
    """
    out: NDArray[Any] = np.empty((4 * board.width, kernels.FEATURES + 1), np.float64)
    count = kernels.features_after_all(board.wall, board.piece, board.height, board.width, out)
    return out[:count, : kernels.FEATURES], out[:count, kernels.FEATURES] > 0
