"""The rules of Amazons (W. Zamkauskas 1988) on a board of any size (the study, section 1).

In turn, each player moves one amazon like a chess queen, and that amazon then shoots an arrow in
the same way; nothing passes over amazons and arrows, and an arrow's square stays closed. A player
without a move loses.

Squares are numbered row by row from the top.  A move is ``(source * squares + target) * squares +
arrow``; in two steps it is first ``source * squares + target`` and then ``squares² + arrow``.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.environments.environment import DovetailError, IllegalAction
from dovetail_games.amazons import kernels
from dovetail_games.amazons.kernels import ILLEGAL, play

MARKS = ".abx"


def start_position(rows: int, columns: int) -> str:
    """Return the standard set-up: seat 0's amazons at the top, seat 1's mirrored to the bottom.

    They stand a third of the way in on the first row and down both sides; on 10 x 10 this is the
    usual position.

    >>> start_position(5, 5)
    '.a.a./a...a/...../b...b/.b.b.'
    """
    board = [["."] * columns for _ in range(rows)]
    down, right = (rows - 1) // 3, (columns - 1) // 3
    for row, column in ((0, right), (0, columns - 1 - right), (down, 0), (down, columns - 1)):
        board[row][column] = "a"
        board[rows - 1 - row][column] = "b"
    return "/".join("".join(row) for row in board)


@functools.lru_cache(maxsize=16)
def _read(position: str) -> tuple[int, int, NDArray[Any]]:
    """Return the rows, columns and squares of a position in the form of ``AmazonsBoard``."""
    lines = position.split("/")
    rows, columns = len(lines), len(lines[0])
    if any(len(line) != columns for line in lines) or set(position) - set(f"{MARKS}/"):
        raise DovetailError(
            f"environment amazons, option 'position': {position!r} is not a position; expected "
            "rows of equal length divided by '/', of 'a', 'b', 'x' and '.'"
        )
    for seat, mark in enumerate("ab"):
        if mark not in position:
            raise DovetailError(
                f"environment amazons, option 'position': seat {seat} has no amazon ({mark!r})"
            )
    marks = [MARKS.index(mark) for line in lines for mark in line]
    return rows, columns, np.array(marks, np.int8)


class AmazonsBoard:
    """A position.

    Args:
        position: rows from the top, divided by ``/``: ``a`` and ``b`` are the seats' amazons, ``x``
            arrows, ``.`` free squares.
        first: the seat that begins.
        steps: whether queen move and arrow are two decisions.

    Raises:
        DovetailError: the position is invalid.
    """

    __slots__ = (
        *("columns", "mover", "rows", "shooter", "squares", "steps", "winner"),
        *("_count", "_found", "_most", "_move", "_size"),
    )

    def __init__(self, position: str, first: int = 0, steps: bool = False) -> None:
        self.rows, self.columns, squares = _read(position)
        self.squares: NDArray[Any] = squares.copy()
        self.mover = first
        self.steps = steps
        self.shooter: int | None = None
        """Square of the amazon that has moved and must shoot."""
        self.winner: int | None = None
        self._size = self.rows * self.columns
        self._most = self._size**3
        self._move = -1
        """Last move; only the queen move until its arrow is shot."""
        self._found: NDArray[Any] = np.empty(0, np.int64)
        """Buffer of actions, empty until they are listed."""
        self._count = kernels.TOO_MANY
        """Number of listed actions, or ``TOO_MANY`` before."""
        if not kernels.can_move(self.squares, self.rows, self.columns, first):
            self.winner = 1 - first

    @property
    def last(self) -> tuple[int, ...]:
        """Squares of the last move: from, to, arrow."""
        if self._move < 0:
            return ()
        move, end = divmod(self._move, self._size)
        return (move, end) if self.shooter is not None else (*divmod(move, self._size), end)

    @property
    def over(self) -> bool:
        """True once a seat has won."""
        return self.winner is not None

    def copy(self) -> AmazonsBoard:
        """Return an independent copy."""
        other = AmazonsBoard.__new__(AmazonsBoard)
        for name in AmazonsBoard.__slots__:
            setattr(other, name, getattr(self, name))
        other.squares = self.squares.copy()
        other._found, other._count = self._found[:0], kernels.TOO_MANY
        return other

    def _list(self) -> None:
        """List the mover's actions."""
        shooter = -1 if self.shooter is None else self.shooter
        while self._count < 0:
            self._found = np.empty(max(kernels.ROOM, 2 * len(self._found)), np.int64)
            rows, columns, steps = self.rows, self.columns, self.steps
            self._count = kernels.actions(
                self.squares, rows, columns, self.mover, steps, shooter, self._found
            )

    def moves(self) -> NDArray[Any]:
        """Return the mover's actions in ascending order; int64, empty once the game is over."""
        if self._count < 0:
            self._list()
        return self._found[: self._count].copy()

    def legal(self) -> list[int]:
        """Return the mover's actions in ascending order; empty once the game is over."""
        if self._count < 0:
            self._list()
        found: list[int] = self._found[: self._count].tolist()
        return found

    def play(self, action: int) -> None:
        """Make an action of the mover.

        Raises:
            IllegalAction: the action is not legal; nothing has changed.
        """
        if self.winner is not None:
            raise IllegalAction("the game is over; no move is legal", self.mover)
        mover, steps = self.mover, self.steps
        shooter = -1 if self.shooter is None else self.shooter
        count = ILLEGAL
        # others might not even fit into the kernel's integers
        if type(action) is int and 0 <= action < self._most:
            count = play(
                self.squares, self.rows, self.columns, mover, steps, shooter, action, self._found
            )
        if count == ILLEGAL:
            raise IllegalAction(self._problem(action), mover)
        self._count = count
        if steps:
            if self.shooter is None:
                self._move, self.shooter = action, action % self._size
                return
            action += self._move * self._size - self._size**2
            self.shooter = None
        self._move = action
        self.mover = 1 - mover
        if count == 0:
            self.winner = mover

    def _problem(self, action: Any) -> str:
        """Return why an action is not legal."""
        size = self._size
        if self.shooter is not None:
            return f"{action!r} is not an arrow from square {self.shooter}"
        if type(action) is not int:
            return f"{action!r} is not an action of this game"
        move, arrow = (action, 0) if self.steps else divmod(action, size)
        source, target = divmod(move, size)
        if not 0 <= source < size:
            return f"{action!r} is not an action of this game"
        if self.squares[source] != self.mover + 1:
            return f"seat {self.mover} has no amazon on square {source}"
        if not kernels.clear(self.squares, self.columns, source, target):
            return f"no amazon gets from square {source} to {target}"
        return f"no arrow gets from square {target} to {arrow}"

    def __str__(self) -> str:
        """Return the position in the form of ``position``."""
        marks = "".join(MARKS[square] for square in self.squares)
        columns = self.columns
        return "/".join(marks[row * columns : (row + 1) * columns] for row in range(self.rows))
