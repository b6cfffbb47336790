"""A position of Amazons to be searched and valued, by the compiled ``kernels``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.agent_servers.games.amazons import kernels

FEATURES = kernels.FEATURES
Array = NDArray[Any]
LONGEST_LINE = kernels.LINE


class Geometry:
    """What a size of board means to the features."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns, self.width = rows, columns, columns + 2
        steps = [
            down * self.width + right
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
            if down or right
        ]
        table: Array = np.zeros((3, (rows + 2) * self.width), np.int32)
        table[0, :8] = steps
        table[2] = -1
        for row in range(rows):
            for column in range(columns):
                at = (row + 1) * self.width + column + 1
                table[1, at] = row in (0, rows - 1) and column in (0, columns - 1)
                if rows % 2 == 0 and columns % 2 == 0:
                    table[2, at] = 2 * (row >= rows // 2) + (column >= columns // 2)
        self.table = table

    def inside(self, square: int) -> int:
        """Return the number of a bordered square on the board itself."""
        return (square // self.width - 1) * self.columns + square % self.width - 1

    def bordered(self, square: int) -> int:
        """Return the number of a square in the array with the border."""
        return (square // self.columns + 1) * self.width + square % self.columns + 1


class Position:
    """A position as the player to move sees it: it is player 0.

    Args:
        planes: shape (3, rows, columns): own amazons, the opponent's, arrows.
        geometry: of this size of board.
    """

    def __init__(self, planes: Array, geometry: Geometry) -> None:
        self.geometry = geometry
        board: Array = np.full((geometry.rows + 2, geometry.width), 4, np.int8)
        inner = board[1:-1, 1:-1]
        inner[:] = 0
        for plane, mark in zip(planes, (1, 2, 3), strict=True):
            inner[np.asarray(plane) != 0] = mark
        self.board = board.ravel()
        amazons = [np.flatnonzero(self.board == mark) for mark in (1, 2)]
        most = max(len(each) for each in amazons)
        self.where: Array = np.full((2, most), -1, np.int32)
        for player, squares in enumerate(amazons):
            self.where[player, : len(squares)] = squares

    def copy(self) -> Position:
        """Return a position that goes its own way."""
        other = Position.__new__(Position)
        other.geometry = self.geometry
        other.board, other.where = self.board.copy(), self.where.copy()
        return other

    def play(self, move: int, player: int = 0) -> None:
        """Make a move of a player, in the kernels' form."""
        kernels.make(self.board, self.where, player, move)

    def action(self, move: int) -> int:
        """Return the environment's number of a move."""
        inside = self.geometry.inside
        size = self.geometry.rows * self.geometry.columns
        source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
        return (inside(source) * size + inside(target)) * size + inside(arrow)

    def move(self, action: int) -> int:
        """Return the kernels' form of an action."""
        bordered = self.geometry.bordered
        size = self.geometry.rows * self.geometry.columns
        source, target, arrow = action // size**2, action // size % size, action % size
        return bordered(source) << 20 | bordered(target) << 10 | bordered(arrow)


class Search:
    """Searches positions of one size with one evaluation.

    Args:
        weights: of the twelve features; may be changed in place between searches.
        divisor: the mobility that counts as 1.
        full: whether mobility counts whole moves instead of queen moves.
        won: the value of a won game.
    """

    def __init__(self, weights: Array, divisor: float, full: bool, won: float) -> None:
        self.weights = weights
        self._rule: Array = np.array([*weights, divisor, won, float(full)])
        self._found: Array = np.zeros(FEATURES)
        self._killers: Array = np.zeros((LONGEST_LINE, kernels.KILLERS), np.int64)
        self._lines: Array = np.zeros((LONGEST_LINE + 1, LONGEST_LINE + 1), np.int64)
        self._moves: Array = np.zeros((0, 0), np.int64)
        self._values: Array = np.zeros(0)
        self._nodes: Array = np.zeros(1, np.int64)

    @property
    def nodes(self) -> int:
        """Positions that were evaluated so far."""
        return int(self._nodes[0])

    def _ready(self, position: Position) -> None:
        self._rule[:FEATURES] = self.weights
        reach = 4 * max(position.geometry.rows, position.geometry.columns)
        most = position.where.shape[1] * reach * reach  # targets of each amazon, arrows of each
        if self._moves.shape[1] < most:
            self._moves = np.zeros((LONGEST_LINE, most), np.int64)
            self._values = np.zeros(most)

    def value(self, position: Position, mover: int = 0) -> tuple[float, Array]:
        """Return the value of a position to player 0, and its features."""
        self._ready(position)
        table = position.geometry.table
        found = np.zeros(FEATURES)
        worth = kernels.evaluate(position.board, position.where, mover, table, self._rule, found)
        if found[0] > 1 or found[1] > 1:  # a game that is over was not scaled
            found[:2] = np.minimum(1.0, found[:2] / self._rule[kernels.DIVISOR])
        return float(worth), found

    def root(
        self, position: Position, depth: int, top: int = 1, *, prune: bool = True
    ) -> tuple[Array, Array]:
        """Return player 0's moves and their values; the ``top`` best are exact, the rest bounds
        below."""
        self._ready(position)
        self._killers[:] = 0
        count = kernels.root(
            position.board,
            position.where,
            depth,
            top,
            position.geometry.table,
            self._rule,
            position.geometry.width,
            prune,
            self._killers,
            self._moves,
            self._found,
            self._lines,
            self._nodes,
            self._values,
        )
        return self._moves[0, :count].copy(), self._values[:count].copy()

    def line(self, position: Position, mover: int, depth: int) -> tuple[float, list[int]]:
        """Return the value to player 0 at full window, and the moves of best play."""
        self._ready(position)
        self._killers[:] = 0
        worth = kernels.value(
            position.board,
            position.where,
            mover,
            depth,
            -np.inf,
            np.inf,
            position.geometry.table,
            self._rule,
            position.geometry.width,
            True,
            self._killers,
            self._moves,
            self._found,
            self._lines,
            self._nodes,
        )
        length = int(self._lines[1, 0])
        return float(worth), self._lines[1, 1 : 1 + length].tolist()

    def wins(self, position: Position, move: int, depth: int, seed: int) -> bool:
        """Return whether player 0 wins after a move if both play on by searches of ``depth``."""
        self._ready(position)
        after = position.copy()
        after.play(move)
        won: bool = kernels.rollout(
            after.board,
            after.where,
            depth,
            seed,
            position.geometry.table,
            self._rule,
            position.geometry.width,
            self._killers,
            self._moves,
            self._found,
            self._lines,
            self._nodes,
            self._values,
        )
        return won
