"""The rules of Tetris with one decision per piece: a rotation and a column (the study, section 1).

The piece falls straight down from above the wall and stays where it comes to rest. Full rows are
cleared even if the piece rises above the board; the game is over if the wall is then higher than
the board (MdpTetris' simplified rules). The score is the number of rows.

Placements are numbered ``rotation * width + column``, with the column of the piece's left edge.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.environments.environment import IllegalAction
from dovetail_games.tetris import kernels
from dovetail_games.tetris.pieces import PIECES, SHAPES

__all__ = ["PIECES", "TetrisBoard"]


class TetrisBoard:
    """A position: a wall and the piece to place, with the source of pieces.

    Args:
        height: the rows of the board.
        width: the columns of the board.
        pieces: the pieces to draw from, with equal probability.
        rng: the source of pieces.
    """

    __slots__ = ("height", "lines", "over", "piece", "pieces", "placed", "rng", "wall", "width")

    def __init__(
        self,
        height: int = 20,
        width: int = 10,
        pieces: str = PIECES,
        rng: random.Random | None = None,
    ) -> None:
        self.height = height
        self.width = width
        self.pieces = [PIECES.index(name) for name in pieces]
        self.rng = rng or random.Random(0)
        self.wall: NDArray[Any] = np.zeros(height + 4, np.int64)
        """Rows from the bottom; bit c is column c.  The top four are above the board."""
        self.piece = self.draw()
        self.lines = 0
        self.placed = 0
        self.over = False

    def draw(self) -> int:
        """Return the number of the next piece."""
        return self.pieces[self.rng.randrange(len(self.pieces))]

    def legal(self) -> list[int]:
        """Return the placements of the piece in ascending order; empty once the game is over."""
        if self.over:
            return []
        width = self.width
        return [
            rotation * width + column
            for rotation, shape in enumerate(SHAPES[PIECES[self.piece]])
            for column in range(width - shape.width + 1)
        ]

    def place(self, action: int) -> int:
        """Place the piece; return the rows cleared.  ``draw`` supplies the next piece.

        Raises:
            IllegalAction: there is no such placement; nothing has changed.
        """
        name = PIECES[self.piece]
        if self.over:
            raise IllegalAction("the game is over; nothing can be placed", 0)
        rotation, column = divmod(action, self.width) if type(action) is int else (-1, 0)
        if not 0 <= rotation < len(SHAPES[name]) or column > (
            self.width - SHAPES[name][rotation].width
        ):
            raise IllegalAction(
                f"{action!r} is not a placement of {name}: rotations 0 to {len(SHAPES[name]) - 1} "
                f"times {self.width}, plus a column where it fits",
                0,
            )
        _, cleared, _ = kernels.drop(self.wall, self.piece, rotation, column, self.width)
        self.lines += int(cleared)
        self.placed += 1
        self.over = bool(self.wall[self.height])
        return int(cleared)

    def cells(self) -> NDArray[np.uint8]:
        """Return the board: uint8, shape (height, width), row 0 at the top."""
        rows = self.wall[: self.height][::-1, None]
        found: NDArray[np.uint8] = (rows >> np.arange(self.width) & 1).astype(np.uint8)
        return found
