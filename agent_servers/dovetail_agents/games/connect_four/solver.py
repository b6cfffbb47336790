"""Exact values of positions in Connect Four."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.connect_four import kernels
from dovetail_agents.games.connect_four.book import BOOK, children, key, read
from dovetail_games.connect_four.rules import ConnectFourBoard

Array = NDArray[Any]
MOST_SQUARES = 42
MOST_BITS = 54
"""Maximum of (rows + 1) x columns, so that a table entry can hold a position and its bound."""
TABLE_BITS = 22
"""Base-2 logarithm of the table's size: 4,194,304 positions, 32 MiB."""
EARLY = 12
"""Maximum discs of positions whose best columns are cached, as they take seconds to find."""


class Solver:
    """Solves positions on boards of up to 42 squares; earlier results speed up later searches.

    (rows + 1) x columns may be at most 54, which excludes wide boards such as 3 x 14.

    A position early in the game takes seconds to minutes, unless it is in the book; one with a
    dozen discs takes a fraction of a second.  Threads may share a solver.

    >>> board = ConnectFourBoard()
    >>> for column in (3, 3, 4, 4):
    ...     board.drop(column)
    >>> Solver().score(board)
    18

    Args:
        rows: the number of rows.
        columns: the number of columns.
        bits: the base-2 logarithm of the number of positions to remember.
        book: whether to look positions up in the book.

    Raises:
        DovetailError: the board is too large.
    """

    def __init__(
        self, rows: int = 6, columns: int = 7, *, bits: int = TABLE_BITS, book: bool = True
    ) -> None:
        side = rows + 1
        if rows * columns > MOST_SQUARES or side * columns > MOST_BITS:
            raise DovetailError(
                f"Connect Four on {rows} rows and {columns} columns cannot be solved here; choose "
                f"a board of at most {MOST_SQUARES} squares on which (rows + 1) x columns is at "
                f"most {MOST_BITS}"
            )
        self.rows, self.columns = rows, columns
        whole = sum(((1 << rows) - 1) << column * side for column in range(columns))
        bottom = sum(1 << column * side for column in range(columns))
        self._shape = (side, bottom, whole, 64 - bits)
        self._table: Array = np.zeros(1 << bits, np.int64)
        middle = (columns - 1) / 2
        self._order: Array = np.array(
            [
                ((1 << rows) - 1) << column * side
                for column in sorted(range(columns), key=lambda each: abs(each - middle))
            ],
            np.int64,
        )
        self._known: dict[tuple[int, int], list[int]] = {}
        self._book = read(BOOK) if book and (rows, columns) == (6, 7) else {}

    def score(self, board: ConnectFourBoard) -> int:
        """Return the score of a position for the side to move.

        It is 1 if that side wins with its last disc, 2 with the one before, and so on; negative if
        the opponent wins or has won, 0 for a draw.
        """
        return self._score(board, -MOST_SQUARES, MOST_SQUARES)

    def value(self, board: ConnectFourBoard) -> int:
        """Return 1 if the side to move wins, 0 for a draw, -1 if it loses; cheaper than a score."""
        return int(np.sign(self._score(board, -1, 1)))

    def _score(self, board: ConnectFourBoard, low: int, high: int) -> int:
        left = self.rows * self.columns - board.moves
        if board.winner is not None:
            return -(left // 2 + 1)
        if board.over:
            return 0
        if (found := self._book.get(key(board))) is not None:
            return found
        own, other = board.discs[board.mover], board.discs[1 - board.mover]
        return int(
            kernels.score(
                *(own, own | other, left, low, high),
                *self._shape,
                *(self._table, self._order),
            )
        )

    def scores(self, board: ConnectFourBoard) -> dict[int, int]:
        """Return the score of each legal column for the side that drops a disc there."""
        return {column: -self.score(after) for column, after in children(board)}

    def best(self, board: ConnectFourBoard) -> list[int]:
        """Return the legal columns with the highest score; cheaper than all scores."""
        place = (board.discs[board.mover], board.discs[1 - board.mover])
        if (known := self._known.get(place)) is not None:
            return list(known)
        found: list[int] = []
        highest = -MOST_SQUARES
        middle = (self.columns - 1) / 2
        for column, after in sorted(children(board), key=lambda each: abs(each[0] - middle)):
            score = -self._score(after, -MOST_SQUARES, 1 - highest)  # one lower, to recognise ties
            if score > highest:
                highest, found = score, []
            if score == highest:
                found.append(column)
        if board.moves <= EARLY:
            self._known[place] = sorted(found)
        return sorted(found)

    def values(self, board: ConnectFourBoard) -> dict[int, int]:
        """Return the value of each legal column for the side to move: 1 for a win, 0 for a draw, -1
        for a loss."""
        return {column: -self.value(after) for column, after in children(board)}


@lru_cache(maxsize=2)
def solver(rows: int, columns: int) -> Solver:
    """Return the solver that all players on a board size share."""
    return Solver(rows, columns)
