"""The rules of Connect Four on a board of any size, as bitboards.

Players drop discs in turn; a disc falls to the lowest free square of its column.  Whoever first
has ``connect`` of their own in a row, across, up or diagonally, wins; a full board is a draw.

Square (column c, row r), row 0 at the bottom, is bit ``c * (rows + 1) + r``.  The spare bit on top
of each column keeps lines from wrapping around (the usual layout, after Tromp's Fhourstones).
"""

from __future__ import annotations

from dovetail.env_servers.environment import IllegalAction


class Board:
    """A position.

    >>> board = Board()
    >>> for column in (3, 3, 4, 4, 5, 5, 6):
    ...     board.drop(column)
    >>> board.winner
    0
    """

    __slots__ = ("columns", "connect", "discs", "heights", "last", "moves", "rows", "winner")

    def __init__(self, rows: int = 6, columns: int = 7, connect: int = 4) -> None:
        self.rows = rows
        self.columns = columns
        self.connect = connect
        self.discs = [0, 0]
        """A bitboard for each player."""
        self.heights = [0] * columns
        self.moves = 0
        self.winner: int | None = None
        self.last: int | None = None
        """The column of the last move."""

    @property
    def mover(self) -> int:
        """The player whose turn it is: 0 or 1."""
        return self.moves & 1

    @property
    def over(self) -> bool:
        """Whether somebody has won or the board is full."""
        return self.winner is not None or self.moves == self.rows * self.columns

    def legal(self) -> list[int]:
        """Return the columns that are not full, in rising order; none once the game is over."""
        if self.winner is not None:
            return []
        rows = self.rows
        return [column for column, height in enumerate(self.heights) if height < rows]

    def drop(self, column: int) -> None:
        """Let the mover drop a disc.

        Raises:
            IllegalAction: the column is full or none, or the game is over; nothing has changed.
        """
        mover = self.moves & 1
        if self.over:
            raise IllegalAction("the game is over; no move is legal", mover)
        if type(column) is not int or not 0 <= column < self.columns:
            raise IllegalAction(
                f"{column!r} is no column; the columns are 0 to {self.columns - 1}", mover
            )
        height = self.heights[column]
        if height == self.rows:
            raise IllegalAction(f"column {column} is full; legal are {self.legal()}", mover)
        mine = self.discs[mover] | 1 << column * (self.rows + 1) + height
        self.discs[mover] = mine
        self.heights[column] = height + 1
        self.moves += 1
        self.last = column
        if self.wins(mine):
            self.winner = mover

    def wins(self, discs: int) -> bool:
        """Return whether a bitboard has ``connect`` in a row."""
        side = self.rows + 1
        for step in (1, side, side - 1, side + 1):
            line = discs
            done = 1
            # Doubling: after each turn a bit of `line` stands for `done` discs in a row.
            while line and done < self.connect:
                grow = min(done, self.connect - done)
                line &= line >> grow * step
                done += grow
            if line:
                return True
        return False
