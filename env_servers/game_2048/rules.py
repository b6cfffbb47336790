"""The rules of 2048 (G. Cirulli, 2014) on a board of any size.

A move slides all tiles as far as they go; two equal ones that meet become one of twice the value, which
does not merge again in that move, and the sum of what was made so is the reward.  Then a tile appears
on a free square drawn evenly: a 2, or with a small probability a 4.  The game is over when no move
changes the board.

Tiles are held as exponents of two; 0 is a free square.
"""

from __future__ import annotations

import random
from functools import lru_cache

from dovetail.env_servers.environment import IllegalAction

Row = tuple[int, ...]
Rows = tuple[Row, ...]

MOVES = ("up", "right", "down", "left")


@lru_cache(maxsize=1 << 20)
def slide(row: Row) -> tuple[Row, int]:
    """Return a row slid to the left, and the sum of the tiles that were made.

    >>> slide((1, 1, 2, 2))
    ((2, 3, 0, 0), 12)
    """
    tiles = [tile for tile in row if tile]
    out: list[int] = []
    gain = 0
    place = 0
    while place < len(tiles):
        tile = tiles[place]
        if place + 1 < len(tiles) and tiles[place + 1] == tile:
            tile += 1
            gain += 1 << tile
            place += 1
        out.append(tile)
        place += 1
    return (*out, *[0] * (len(row) - len(out))), gain


def moved(rows: Rows, move: int) -> tuple[Rows, int]:
    """Return the board after a move, before a tile appears, and the reward.

    Args:
        rows: the board from the top.
        move: a place in ``MOVES``.
    """
    if move in (0, 2):
        rows = tuple(zip(*rows, strict=True))
    if move in (1, 2):
        slid = [slide(row[::-1]) for row in rows]
        rows = tuple(row[::-1] for row, _ in slid)
    else:
        slid = [slide(row) for row in rows]
        rows = tuple(row for row, _ in slid)
    if move in (0, 2):
        rows = tuple(zip(*rows, strict=True))
    return rows, sum(gain for _, gain in slid)


class Board:
    """A position, with the chance that belongs to it.

    Args:
        rows: squares from top to bottom.
        columns: squares from left to right.
        rng: draws the tiles.
        four: the probability that a tile is a 4.
        tiles: how many there are at the start.

    >>> board = Board(2, 2, random.Random(1))
    >>> sum(tile > 0 for row in board.rows for tile in row)
    2
    """

    __slots__ = ("_legal", "four", "rng", "rows", "score")

    def __init__(
        self,
        rows: int = 4,
        columns: int = 4,
        rng: random.Random | None = None,
        four: float = 0.1,
        tiles: int = 2,
    ) -> None:
        self.rng = rng or random.Random(0)
        self.four = four
        self.rows: Rows = ((0,) * columns,) * rows
        self.score = 0
        self._legal: list[int] | None = None
        for _ in range(tiles):
            self.appear()

    def legal(self) -> list[int]:
        """Return the moves that change the board, in rising order."""
        if self._legal is None:
            rows = self.rows
            self._legal = [move for move in range(4) if moved(rows, move)[0] != rows]
        return self._legal.copy()

    @property
    def over(self) -> bool:
        """Whether no move changes the board."""
        return not self.legal()

    def play(self, move: int) -> int:
        """Slide, without a new tile; return the reward.

        Raises:
            IllegalAction: the move changes nothing, or is none; nothing has changed.
        """
        if type(move) is not int or not 0 <= move < 4:
            raise IllegalAction(f"{move!r} is no move; 0 is up, 1 right, 2 down, 3 left", 0)
        rows, gain = moved(self.rows, move)
        if rows == self.rows:
            raise IllegalAction(f"moving {MOVES[move]} changes nothing", 0)
        self.rows = rows
        self.score += gain
        self._legal = None
        return gain

    def appear(self) -> None:
        """Let a tile appear."""
        free = [(r, c) for r, row in enumerate(self.rows) for c, tile in enumerate(row) if not tile]
        row, column = self.rng.choice(free)
        tile = 2 if self.rng.random() < self.four else 1
        line = self.rows[row]
        line = (*line[:column], tile, *line[column + 1 :])
        self.rows = (*self.rows[:row], line, *self.rows[row + 1 :])
        self._legal = None
