"""The rules of dots and boxes on a grid of any size.

Players draw lines between neighbouring dots in turn; the player that draws the fourth line of a box
owns it and draws again. When all lines are drawn, the most boxes win (study *TD learning for dots
and boxes*).

Lines are numbered: first the horizontal ones, row by row from the top, then the vertical ones, row
by row.  Boxes are numbered row by row.
"""

from __future__ import annotations

from functools import lru_cache

from dovetail.peer.environments.environment import IllegalAction


class Grid:
    """The lines and boxes of a grid of dots.

    >>> grid = Grid(2, 3)  # two rows of three dots: two boxes side by side
    >>> grid.lines, grid.boxes
    (7, 2)
    >>> grid.sides[1]  # top, bottom, left and right line of the right box
    (1, 3, 5, 6)
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.rows = rows
        """Rows of dots."""
        self.columns = columns
        """Columns of dots."""
        across = rows * (columns - 1)
        self.lines = across + (rows - 1) * columns
        self.boxes = (rows - 1) * (columns - 1)
        self.sides = [
            (
                row * (columns - 1) + column,
                (row + 1) * (columns - 1) + column,
                across + row * columns + column,
                across + row * columns + column + 1,
            )
            for row in range(rows - 1)
            for column in range(columns - 1)
        ]
        """Top, bottom, left and right line of each box."""
        self.beside: list[list[tuple[int, int]]] = [[] for _ in range(self.lines)]
        """The one or two boxes beside each line, each with the bit mask of its four lines."""
        for box, sides in enumerate(self.sides):
            mask = sum(1 << line for line in sides)
            for line in sides:
                self.beside[line].append((box, mask))

    def __deepcopy__(self, memo: object) -> Grid:
        return self

    def ends(self, line: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return row and column of the two dots that a line joins."""
        across = self.rows * (self.columns - 1)
        if line < across:
            row, column = divmod(line, self.columns - 1)
            return (row, column), (row, column + 1)
        row, column = divmod(line - across, self.columns)
        return (row, column), (row + 1, column)


@lru_cache(maxsize=32)
def grid(rows: int, columns: int) -> Grid:
    """Return the grid of a size; boards share it, as it never changes."""
    return Grid(rows, columns)


class DotsBoard:
    """A position.

    >>> board = DotsBoard(2, 2)
    >>> for line in range(4):
    ...     board.draw(line)
    >>> board.scores
    [0, 1]
    """

    __slots__ = ("drawn", "free", "grid", "last", "mover", "owners", "scores")

    def __init__(self, rows: int = 4, columns: int = 4) -> None:
        self.grid = grid(rows, columns)
        self.drawn = 0
        """A bit for each line."""
        self.free = list(range(self.grid.lines))
        """Free lines in ascending order."""
        self.owners = [-1] * self.grid.boxes
        """Owner of each box, or -1."""
        self.scores = [0, 0]
        self.mover = 0
        self.last: int | None = None

    @property
    def over(self) -> bool:
        """True once all lines are drawn."""
        return not self.free

    def copy(self) -> DotsBoard:
        """Return an independent copy."""
        other = DotsBoard.__new__(DotsBoard)
        other.grid = self.grid
        other.drawn = self.drawn
        other.free = self.free.copy()
        other.owners = self.owners.copy()
        other.scores = self.scores.copy()
        other.mover = self.mover
        other.last = self.last
        return other

    def legal(self) -> list[int]:
        """Return the free lines in ascending order."""
        return self.free.copy()

    def completes(self, line: int) -> int:
        """Return the number of boxes that a line would complete."""
        drawn = self.drawn | 1 << line
        return sum(drawn & mask == mask for _, mask in self.grid.beside[line])

    def draw(self, line: int) -> None:
        """Draw a line of the mover.

        Raises:
            IllegalAction: the line is already drawn or does not exist; nothing has changed.
        """
        if type(line) is not int or not 0 <= line < self.grid.lines:
            raise IllegalAction(
                f"{line!r} is not a line; the lines are 0 to {self.grid.lines - 1}", self.mover
            )
        drawn = self.drawn | 1 << line
        if drawn == self.drawn:
            raise IllegalAction(f"line {line} is drawn already", self.mover)
        self.drawn = drawn
        self.free.remove(line)
        self.last = line
        mover = self.mover
        again = False
        for box, mask in self.grid.beside[line]:
            if drawn & mask == mask:
                self.owners[box] = mover
                self.scores[mover] += 1
                again = True
        if not again:
            self.mover = 1 - mover
