"""The rules of Amazons (W. Zamkauskas 1988) on a board of any size (the study, section 1).

In turn, each player moves one amazon as a chess queen moves, and that amazon then shoots an arrow
as far as a queen moves; nothing passes over amazons and arrows, and an arrow's square stays closed.
Who cannot move loses.

Squares are numbered row by row from the top.  A move is ``(source * squares + target) * squares +
arrow``; in two steps it is first ``source * squares + target`` and then ``squares² + arrow``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.env_servers.amazons import kernels
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
        """Whether a seat has won."""
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
        if self.over:
            return np.empty(0, np.int64)
        shooter = -1 if self.shooter is None else self.shooter
        found: NDArray[Any] = kernels.actions(
            self.squares, self.rows, self.columns, self.mover, self.steps, shooter
        )
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
        if type(action) is not int:
            raise IllegalAction(f"{action!r} is not an action of this game", self.mover)
        if self.steps:
            self._step(action)
            return
        size = self.rows * self.columns
        found = 0
        if 0 <= action < size**3:  # others may not even fit into the kernel's integers
            found = kernels.play(self.squares, self.rows, self.columns, self.mover, action)
        if found == 0:
            raise IllegalAction(self._problem(action), self.mover)
        self.last = (action // (size * size), action // size % size, action % size)
        self.mover = 1 - self.mover
        if found == 2:
            self.winner = 1 - self.mover

    def _step(self, action: int) -> None:
        """Move an amazon, or let the one that has moved shoot."""
        size = self.rows * self.columns
        if self.shooter is None:
            target = -1
            if 0 <= action < size * size:  # others may not even fit into the kernel's integers
                target = kernels.walk(self.squares, self.columns, self.mover, action)
            if target < 0:
                raise IllegalAction(self._problem(action), self.mover)
            self.last, self.shooter = (action // size, target), target
            return
        found = 0
        if 0 <= action - size * size < size:
            found = kernels.shoot(
                self.squares, self.rows, self.columns, self.mover, self.shooter, action
            )
        if found == 0:
            raise IllegalAction(f"{action} is not an arrow from square {self.shooter}", self.mover)
        self.last, self.shooter = (*self.last, action - size * size), None
        self.mover = 1 - self.mover
        if found == 2:
            self.winner = 1 - self.mover

    def _problem(self, action: int) -> str:
        """Return why a move, or in steps a queen move, is not legal."""
        size = self.rows * self.columns
        move, arrow = (action, 0) if self.steps else divmod(action, size)
        source, target = divmod(move, size)
        if not 0 <= source < size:
            return f"{action!r} is not an action of this game"
        if self.squares[source] != self.mover + 1:
            return f"seat {self.mover} has no amazon on square {source}"
        if not kernels.clear(self.squares, self.columns, source, target):
            return f"no amazon gets from square {source} to {target}"
        return f"no arrow gets from square {target} to {arrow}"

    def _settle(self) -> None:
        if not kernels.can_move(self.squares, self.rows, self.columns, self.mover):
            self.winner = 1 - self.mover

    def __str__(self) -> str:
        """Return the position in the form of ``position``."""
        marks = "".join(MARKS[square] for square in self.squares)
        columns = self.columns
        return "/".join(marks[row * columns : (row + 1) * columns] for row in range(self.rows))
