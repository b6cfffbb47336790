"""Positions of Amazons, to be searched and evaluated by the compiled ``kernels``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Spec
from dovetail.protocol.spaces import Box
from dovetail_agents.games.amazons import alpha_beta, kernels
from dovetail_agents.learning.checked import whole

FEATURES = kernels.FEATURES
Array = NDArray[Any]
LONGEST_LINE = kernels.LINE
LONGEST_SIDE = 20
"""Most rows or columns; the kernels' moves have ten bits for a square."""


def board_of(spec: Spec, who: str) -> tuple[int, int]:
    """Return the rows and columns of a game of Amazons by whole moves.

    Raises:
        DovetailError: it is another game.
    """
    space = spec.observation_spaces[0]
    if not isinstance(space, Box) or len(space.shape) != 3 or space.shape[0] != 3:
        raise DovetailError(
            f'{who} needs whole moves; set the environment\'s option action to "move"'
        )
    _, rows, columns = space.shape
    if not all(1 <= each <= LONGEST_SIDE for each in (rows, columns)):
        raise DovetailError(f"{who}: Amazons has no board of {rows} x {columns} squares")
    return rows, columns


class AmazonsGeometry:
    """Tables for the features, for one board size."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns, self.width = rows, columns, columns + 2
        steps = [
            down * self.width + right
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
            if down or right
        ]
        table: Array = np.zeros((7, (rows + 2) * self.width), np.int32)
        table[kernels.DIRECTIONS, :8] = steps
        table[kernels.QUADRANT] = -1
        for row in range(rows):
            for column in range(columns):
                at = (row + 1) * self.width + column + 1
                table[kernels.CORNER, at] = row in (0, rows - 1) and column in (0, columns - 1)
                if rows % 2 == 0 and columns % 2 == 0:
                    table[kernels.QUADRANT, at] = 2 * (row >= rows // 2) + (column >= columns // 2)
                high = min(row + 1, rows - 1) - max(row - 1, 0) + 1
                wide = min(column + 1, columns - 1) - max(column - 1, 0) + 1
                table[kernels.NEIGHBOURS, at] = high * wide - 1
                table[kernels.ROW, at], table[kernels.COLUMN, at] = row, column
                table[kernels.FALLING, at] = row - column + columns
        self.table = table

    def inside(self, square: int) -> int:
        """Convert a square of the bordered array to a square of the board."""
        return (square // self.width - 1) * self.columns + square % self.width - 1

    def bordered(self, square: int) -> int:
        """Convert a square of the board to a square of the bordered array."""
        return (square // self.columns + 1) * self.width + square % self.columns + 1


class AmazonsPosition:
    """A position from the view of the player to move, who is player 0.

    Args:
        planes: shape (3, rows, columns): own amazons, the opponent's, arrows.
        geometry: the tables for this board size.

    Raises:
        DovetailError: the planes have another shape, or numbers other than 0 and 1.
    """

    def __init__(self, planes: Any, geometry: AmazonsGeometry) -> None:
        planes = whole("boards", planes, (3, geometry.rows, geometry.columns))
        self.geometry = geometry
        board: Array = np.full((geometry.rows + 2, geometry.width), 4, np.int8)
        inner = board[1:-1, 1:-1]
        inner[:] = 0
        for plane, mark in zip(planes, (1, 2, 3), strict=True):
            inner[plane != 0] = mark
        self.board = board.ravel()
        amazons = [np.flatnonzero(self.board == mark) for mark in (1, 2)]
        most = max(len(each) for each in amazons)
        self.where: Array = np.full((2, most), -1, np.int32)
        for player, squares in enumerate(amazons):
            self.where[player, : len(squares)] = squares

    def copy(self) -> AmazonsPosition:
        """Return an independent copy."""
        other = AmazonsPosition.__new__(AmazonsPosition)
        other.geometry = self.geometry
        other.board, other.where = self.board.copy(), self.where.copy()
        return other

    def play(self, move: int, player: int = 0) -> None:
        """Make a player's move, in the kernels' form."""
        kernels.move_amazon(self.board, self.where, player, move)

    def action(self, move: int) -> int:
        """Return the environment's number of a move in the kernels' form."""
        inside = self.geometry.inside
        size = self.geometry.rows * self.geometry.columns
        source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
        return (inside(source) * size + inside(target)) * size + inside(arrow)

    def move(self, action: int) -> int:
        """Return an action of player 0 as a move in the kernels' form.

        Raises:
            DovetailError: it moves no amazon of player 0 to a free square, or shoots at one that is
                not free.
        """
        size = self.geometry.rows * self.geometry.columns
        if not 0 <= action < size**3:
            raise DovetailError(f"the game offers a move that Amazons does not have: {action}")
        squares = action // size**2, action // size % size, action % size
        source, target, arrow = map(self.geometry.bordered, squares)
        if self.board[source] != 1 or self.board[target] or (self.board[arrow] and arrow != source):
            raise DovetailError(f"the game offers a move that is not legal: {action}")
        return source << 20 | target << 10 | arrow


class AmazonsSearch:
    """Searches positions of one board size with one evaluation.

    Args:
        weights: the weights of the twelve features; may be changed in place between searches.
        divisor: the mobility that counts as 1.
        full: whether mobility counts whole moves instead of queen moves.
        won: the value of a won game.
    """

    def __init__(self, weights: Array, divisor: float, full: bool, won: float) -> None:
        self.weights = weights
        self._rule: Array = np.array([*weights, divisor, won, float(full)])
        self._killers: Array = np.zeros((LONGEST_LINE, kernels.KILLERS), np.int64)
        self._best: Array = np.zeros((LONGEST_LINE + 1, LONGEST_LINE + 1), np.int64)
        self._moves: Array = np.zeros((LONGEST_LINE, 0), np.int64)
        self._nodes: Array = np.zeros(1, np.int64)

    @property
    def nodes(self) -> int:
        """Number of positions evaluated so far."""
        return int(self._nodes[0])

    def work(self, position: AmazonsPosition) -> kernels.Work:
        """Return a position for the kernels, with scratch arrays for a search."""
        self._rule[:FEATURES] = self.weights
        self._killers[:] = 0
        geometry = position.geometry
        reach = 4 * max(geometry.rows, geometry.columns)
        most = position.where.shape[1] * reach * reach  # amazons x targets x arrows
        if self._moves.shape[1] < most:
            self._moves = np.zeros((LONGEST_LINE, most), np.int64)
        squares = len(position.board)
        work = kernels.Work(
            board=position.board,
            where=position.where,
            lines=np.zeros((4, geometry.rows + geometry.columns), np.int64),
            geometry=geometry.table,
            rule=self._rule,
            killers=self._killers,
            moves=self._moves,
            values=np.zeros(most),
            found=np.zeros(FEATURES),
            units=np.zeros(squares, np.int64),
            changes=np.zeros((2, squares), np.int64),
            best=self._best,
            nodes=self._nodes,
        )
        kernels.prepare(work)
        return work

    def value(self, position: AmazonsPosition, mover: int = 0) -> tuple[float, Array]:
        """Return the value of a position for player 0, and its features."""
        work = self.work(position)
        return float(kernels.evaluate(work, mover)), work.found

    def root(
        self, position: AmazonsPosition, depth: int, top: int = 1, *, prune: bool = True
    ) -> tuple[Array, Array]:
        """Return player 0's moves and values: the ``top`` best are exact, others upper bounds."""
        work = self.work(position)
        count = alpha_beta.root(work, depth, top, prune)
        return work.moves[0, :count].copy(), work.values[:count]

    def line(self, position: AmazonsPosition, mover: int, depth: int) -> tuple[float, list[int]]:
        """Return the value for player 0 with a full window, and the line of best play."""
        work = self.work(position)
        worth = alpha_beta.value(work, mover, depth, -np.inf, np.inf, True)
        length = int(work.best[1, 0])
        return float(worth), work.best[1, 1 : 1 + length].tolist()

    def wins(self, position: AmazonsPosition, move: int, depth: int, seed: int) -> bool:
        """Return whether player 0 wins after a move, with both sides playing by searches of
        ``depth``."""
        after = position.copy()
        after.play(move)
        won: bool = alpha_beta.rollout(self.work(after), depth, seed)
        return won
