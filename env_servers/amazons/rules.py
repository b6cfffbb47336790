"""The rules of Amazons (W. Zamkauskas 1988) on a board of any size (the study, section 1).

In turn, each player moves one amazon as a chess queen moves, and that amazon then shoots an arrow as
far as a queen moves; nothing passes over amazons and arrows, and an arrow's square stays closed.
Who cannot move loses.

Squares are numbered row by row from the top.  A move is ``(source * squares + target) * squares +
arrow``; in two steps it is first ``source * squares + target`` and then ``squares² + arrow``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.env_servers.amazons import kernels
from dovetail.env_servers.amazons.kernels import ARROW, FREE
from dovetail.env_servers.environment import DovetailError, IllegalAction

MARKS = ".abx"


def start_position(rows: int, columns: int) -> str:
    """Return the standard set-up: seat 0's amazons at the top, seat 1's mirrored to the bottom.

    A third of the way in on the first row and down both sides; on 10 x 10 the usual position.

    >>> start_position(5, 5)
    '.a.a./a...a/...../b...b/.b.b.'
    """
    board = [["."] * columns for _ in range(rows)]
    down, right = (rows - 1) // 3, (columns - 1) // 3
    for row, column in ((0, right), (0, columns - 1 - right), (down, 0), (down, columns - 1)):
        board[row][column] = "a"
        board[rows - 1 - row][column] = "b"
    return "/".join("".join(row) for row in board)


class Board:
    """A position.

    Args:
        position: rows from the top, divided by ``/``: ``a`` and ``b`` are the seats' amazons, ``x``
            arrows, ``.`` free squares.
        first: the seat that begins.
        steps: whether queen move and arrow are two decisions.

    Raises:
        DovetailError: the position is none.
    """

    __slots__ = ("columns", "last", "mover", "rows", "shooter", "squares", "steps", "winner")

    def __init__(self, position: str, first: int = 0, steps: bool = False) -> None:
        lines = position.split("/")
        self.rows, self.columns = len(lines), len(lines[0])
        if any(len(line) != self.columns for line in lines) or set(position) - set(f"{MARKS}/"):
            raise DovetailError(
                f"environment amazons, option 'position': {position!r} is none; rows of equal length "
                "divided by '/', of 'a', 'b', 'x' and '.'"
            )
        marks = [MARKS.index(mark) for line in lines for mark in line]
        self.squares: NDArray[Any] = np.array(marks, np.int8)
        for seat, mark in enumerate("ab"):
            if mark not in position:
                raise DovetailError(
                    f"environment amazons, option 'position': seat {seat} has no amazon ({mark!r})"
                )
        self.mover = first
        self.steps = steps
        self.shooter: int | None = None
        """The square of the amazon that has moved and must shoot."""
        self.winner: int | None = None
        self.last: tuple[int, ...] = ()
        """The squares of the last move: from, to, arrow."""
        self._settle()

    @property
    def over(self) -> bool:
        """Whether somebody has won."""
        return self.winner is not None

    def copy(self) -> Board:
        """Return a board that goes its own way."""
        other = Board.__new__(Board)
        for name in Board.__slots__:
            setattr(other, name, getattr(self, name))
        other.squares = self.squares.copy()
        return other

    def moves(self) -> NDArray[Any]:
        """Return the mover's actions, in rising order; int64, empty once the game is over."""
        size = self.rows * self.columns
        found: NDArray[Any]
        if self.over:
            return np.empty(0, np.int64)
        if not self.steps:
            found = kernels.moves(self.squares, self.rows, self.columns, self.mover)
        elif self.shooter is None:
            found = kernels.queen_moves(self.squares, self.rows, self.columns, self.mover)
        else:
            reached = np.empty(size, np.bool_)
            kernels.reach(self.squares, self.rows, self.columns, self.shooter, reached)
            found = size * size + np.flatnonzero(reached)
        return found

    def legal(self) -> list[int]:
        """Return the mover's actions, in rising order; none once the game is over."""
        found: list[int] = self.moves().tolist()
        return found

    def play(self, action: int) -> None:
        """Let the mover act.

        Raises:
            IllegalAction: the action is not legal; nothing has changed.
        """
        if self.over:
            raise IllegalAction("the game is over; no move is legal", self.mover)
        source, target, arrow = self._checked(action)
        board = self.squares
        if target is not None:
            board[source] = FREE
            board[target] = self.mover + 1
            self.last = (source, target)
            self.shooter = target
        if arrow is not None:
            board[arrow] = ARROW
            self.last = (*self.last, arrow)
            self.shooter = None
            self.mover = 1 - self.mover
            self._settle()

    def _checked(self, action: Any) -> tuple[int, int | None, int | None]:
        """Return source, target and arrow of a legal action; target or arrow may be another step's."""
        size = self.rows * self.columns
        board = self.squares
        problem = f"{action!r} is no action here"
        if type(action) is int and action >= 0:
            if self.shooter is not None:
                arrow = action - size * size
                if 0 <= arrow < size and kernels.clear(board, self.columns, self.shooter, arrow):
                    return self.shooter, None, arrow
                problem = f"{action!r} is no arrow from square {self.shooter}"
            else:
                move, arrow = (action, -1) if self.steps else divmod(action, size)
                source, target = divmod(move, size)
                if source < size and board[source] == self.mover + 1:
                    if not kernels.clear(board, self.columns, source, target):
                        problem = f"{action}: no amazon gets from square {source} to {target}"
                    elif self.steps:
                        return source, target, None
                    else:
                        board[source] = FREE
                        free = kernels.clear(board, self.columns, target, arrow)
                        board[source] = self.mover + 1
                        if free:
                            return source, target, arrow
                        problem = f"{action}: no arrow gets from square {target} to {arrow}"
                else:
                    problem = f"{action}: seat {self.mover} has no amazon on square {source}"
        raise IllegalAction(problem, self.mover)

    def _settle(self) -> None:
        if not kernels.can_move(self.squares, self.rows, self.columns, self.mover):
            self.winner = 1 - self.mover

    def __str__(self) -> str:
        """Return the position in the form of ``position``."""
        marks = "".join(MARKS[square] for square in self.squares)
        columns = self.columns
        return "/".join(marks[row * columns : (row + 1) * columns] for row in range(self.rows))
