"""The piece that each filled square came from, for scenes; the rules only keep filled squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail_games.tetris.pieces import PIECES, SHAPES

Painted = NDArray[np.uint8]
"""One more than the piece's number on each square, 0 if it is empty; row 0 is at the top."""
UNKNOWN = len(PIECES) + 1
"""Value of a square filled by an unseen piece."""
ABOVE = 4
"""Rows above the board that a piece may reach."""


def after(painted: Painted, piece: int, rotation: int, column: int) -> Painted:
    """Return the board after a piece has fallen and full rows were cleared.

    >>> after(np.zeros((2, 4), np.uint8), PIECES.index("O"), 0, 1).tolist()
    [[0, 6, 6, 0], [0, 6, 6, 0]]
    """
    width = painted.shape[1]
    found = np.vstack([np.zeros((ABOVE, width), np.uint8), painted])
    shape = SHAPES[PIECES[piece]][rotation]
    columns = np.arange(shape.width)
    rows = np.array(shape.rows[: shape.height])[::-1, None]
    mask = (rows >> columns & 1).astype(bool)
    across = slice(column, column + shape.width)
    top = 0
    while top + shape.height < len(found):
        if (mask & (found[top + 1 : top + 1 + shape.height, across] > 0)).any():
            break
        top += 1
    found[top : top + shape.height, across][mask] = piece + 1
    left = found[~found.all(axis=1)]
    gone = np.zeros((len(found) - len(left), width), np.uint8)
    return np.vstack([gone, left])[ABOVE:]
