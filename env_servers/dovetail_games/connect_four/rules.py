"""The rules of Connect Four on a board of any size, as bitboards.

Players drop discs in turn; a disc falls to the lowest free square of its column.  The first player
with ``connect`` discs in a row, horizontally, vertically or diagonally, wins; a full board is a
draw.

Square (column c, row r), row 0 at the bottom, is bit ``c * (rows + 1) + r``.  The spare bit on top
of each column keeps lines from wrapping around (the usual layout, after Tromp's Fhourstones).
"""

from __future__ import annotations

from typing import Any

from dovetail.peer.environments.environment import IllegalAction


class ConnectFourBoard:
    """A position.

    >>> board = ConnectFourBoard()
    >>> for column in (3, 3, 4, 4, 5, 5, 6):
    ...     board.drop(column)
    >>> board.winner
    0
    """

    __slots__ = (
        "_free",
        "_next",
        "_quick",
        "_soonest",
        "columns",
        "connect",
        "discs",
        "heights",
        "last",
        "moves",
        "over",
        "rows",
        "winner",
    )

    def __init__(self, rows: int = 6, columns: int = 7, connect: int = 4) -> None:
        self.rows = rows
        self.columns = columns
        self.connect = connect
        self.discs = [0, 0]
        """Bitboard of each player."""
        self.heights = [0] * columns
        self.moves = 0
        self.winner: int | None = None
        self.over = False
        """True once a seat has won or the board is full."""
        self.last: int | None = None
        """Column of the last move."""
        side = rows + 1
        self._quick = (1, side, side - 1, side + 1) if connect == 4 else None
        self._next = [1 << column * side for column in range(columns)]
        """Bit of the lowest free square in each column."""
        self._free = list(range(columns))
        self._soonest = 2 * connect - 1
        """Minimum number of moves for a winning row."""

    @classmethod
    def of(cls, planes: Any, connect: int) -> ConnectFourBoard:
        """Return the board with the given discs: shape (2, rows, columns), row 0 at the bottom."""
        _, rows, columns = planes.shape
        board = cls(rows, columns, connect)
        for column in range(columns):
            for row in range(rows):
                for player in (0, 1):
                    if planes[player, row, column]:
                        board.discs[player] |= 1 << column * (rows + 1) + row
                        board.heights[column] = row + 1
            board._next[column] <<= board.heights[column]
        board.moves = sum(board.heights)
        board._free = [column for column in range(columns) if board.heights[column] < rows]
        board._soonest = 0  # the discs may not be the result of alternating moves
        last = 1 - board.mover
        if board.wins(board.discs[last]):
            board.winner = last
        board.over = board.winner is not None or not board._free
        return board

    def copy(self) -> ConnectFourBoard:
        """Return an independent copy."""
        other = ConnectFourBoard.__new__(ConnectFourBoard)
        for name in ConnectFourBoard.__slots__:
            value = getattr(self, name)
            setattr(other, name, value.copy() if type(value) is list else value)
        return other

    @property
    def mover(self) -> int:
        """Player to move: 0 or 1."""
        return self.moves & 1

    def legal(self) -> list[int]:
        """Return the columns that are not full, in ascending order; empty once the game is over."""
        return [] if self.over else self._free.copy()

    def drop(self, column: int) -> None:
        """Drop a disc of the mover.

        Raises:
            IllegalAction: the column is full or does not exist, or the game is over; nothing has
                changed.
        """
        if self.over or type(column) is not int or column not in self._free:
            raise IllegalAction(self._problem(column), self.moves & 1)
        moves = self.moves
        mover = moves & 1
        bit = self._next[column]
        self._next[column] = bit << 1
        mine = self.discs[mover] = self.discs[mover] | bit
        height = self.heights[column] + 1
        self.heights[column] = height
        if height == self.rows:
            self._free.remove(column)
        self.moves = moves = moves + 1
        self.last = column
        if moves >= self._soonest and self.wins(mine):
            self.winner = mover
            self.over = True
        elif not self._free:
            self.over = True

    def _problem(self, column: object) -> str:
        if self.over:
            return "the game is over; no move is legal"
        if type(column) is not int or not 0 <= column < self.columns:
            return f"{column!r} is not a column; the columns are 0 to {self.columns - 1}"
        return f"column {column} is full; legal are {self._free}"

    def wins(self, discs: int) -> bool:
        """Return whether a bitboard has ``connect`` in a row."""
        if self._quick is not None:
            for step in self._quick:
                pairs = discs & discs >> step
                if pairs & pairs >> 2 * step:
                    return True
            return False
        side = self.rows + 1
        for step in (1, side, side - 1, side + 1):
            line = discs
            done = 1
            # Doubling: after each iteration a bit of `line` stands for `done` discs in a row.
            while line and done < self.connect:
                grow = min(done, self.connect - done)
                line &= line >> grow * step
                done += grow
            if line:
                return True
        return False
