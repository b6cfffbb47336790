"""The rules of 2048 (G. Cirulli, 2014) on a board of any size.

A move slides all tiles to the edge or the next tile. Two equal tiles merge into one of twice the
value, which does not merge again in that move; the reward is the sum of the merged tiles. Then a
tile appears on a random free square: a 2, or with a small probability a 4. The game is over when no
move changes the board.

Tiles are stored as exponents of two; 0 is a free square.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import lru_cache

from dovetail.peer.environments.environment import IllegalAction

Row = tuple[int, ...]
Rows = tuple[Row, ...]

MOVES = ("up", "right", "down", "left")


def slide(row: Row) -> tuple[Row, int]:
    """Return a row slid to the left, and the sum of the merged tiles.

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


def origins(row: Row) -> list[int]:
    """Return the original index of each tile in a row slid to the left; for merged tiles, the
    farther one.

    >>> origins((1, 1, 0, 2))
    [1, 3]
    """
    slid, _ = slide(row)
    places = [place for place, tile in enumerate(row) if tile]
    found = []
    for tile in slid:
        if not tile:
            break
        place = places.pop(0)
        found.append(place if row[place] == tile else places.pop(0))
    return found


Line = tuple[Row, int, Row, int, int, tuple[int, ...]]
"""A row slid left with its gain, slid right with its gain, a code for the changes, and the free
places.

The code is 1 if sliding left changes the row, plus 2 if sliding right does.
"""


@lru_cache(maxsize=1 << 20)
def line(row: Row) -> Line:
    """Return the slides of a row or column."""
    left, gain = slide(row)
    right, other = slide(row[::-1])
    right = right[::-1]
    free = tuple(place for place, tile in enumerate(row) if not tile)
    return left, gain, right, other, (left != row) + 2 * (right != row), free


def _lines(rows: Iterable[Row]) -> list[Line]:
    return list(map(line, rows))


LEGAL = [[move for move, bit in enumerate((1, 8, 2, 4)) if bits & bit] for bits in range(16)]
"""Moves that change a board, by the sum of the changes: a column slid up 1, down 2, a row slid left
4, right 8."""


def _slid(across: list[Line], down: list[Line], move: int) -> tuple[Rows, int]:
    """Return the board after a move, before a tile appears, and the reward."""
    if move == 0:
        return tuple(zip(*[each[0] for each in down], strict=True)), sum([e[1] for e in down])
    if move == 1:
        return tuple([each[2] for each in across]), sum([each[3] for each in across])
    if move == 2:
        return tuple(zip(*[each[2] for each in down], strict=True)), sum([e[3] for e in down])
    return tuple([each[0] for each in across]), sum([each[1] for each in across])


class Board2048:
    """A position and its source of chance.

    Args:
        rows: squares from top to bottom.
        columns: squares from left to right.
        rng: the source of new tiles.
        four: the probability that a tile is a 4.
        tiles: the number of tiles at the start.

    >>> board = Board2048(2, 2, random.Random(1))
    >>> sum(tile > 0 for row in board.rows for tile in row)
    2
    """

    __slots__ = ("_across", "_down", "_legal", "four", "rng", "rows", "score")

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
        self.score = 0
        self.go(((0,) * columns,) * rows)
        for _ in range(tiles):
            self.appear()

    def go(self, rows: Rows) -> None:
        """Set up another position."""
        self.rows = rows
        self._across = _lines(rows)
        self._down: list[Line] = []
        """Lines of the columns, computed on demand."""
        self._legal: list[int] | None = None

    def _moves(self) -> list[int]:
        if self._legal is None:
            self._down = _lines(zip(*self.rows, strict=True))
            upright = across = 0
            for each in self._down:
                upright |= each[4]
            for each in self._across:
                across |= each[4]
            self._legal = LEGAL[upright | across << 2]
        return self._legal

    def after(self) -> dict[int, tuple[Rows, int]]:
        """Return the board and the reward after each move that changes the board."""
        return {move: _slid(self._across, self._down, move) for move in self._moves()}

    def legal(self) -> list[int]:
        """Return the moves that change the board, in ascending order."""
        return self._moves().copy()

    @property
    def over(self) -> bool:
        """True once no move changes the board."""
        return not self._moves()

    def play(self, move: int) -> int:
        """Slide the tiles without adding a new one; return the reward.

        Raises:
            IllegalAction: the move changes nothing or does not exist.
        """
        if type(move) is not int or not 0 <= move < 4:
            raise IllegalAction(f"{move!r} is not a move; 0 is up, 1 right, 2 down, 3 left", 0)
        if move not in self._moves():
            raise IllegalAction(f"moving {MOVES[move]} changes nothing", 0)
        rows, gain = _slid(self._across, self._down, move)
        self.go(rows)
        self.score += gain
        return gain

    def appear(self) -> None:
        """Add a random tile."""
        across = self._across
        place = int(self.rng.random() * sum([len(each[5]) for each in across]))
        tile = 2 if self.rng.random() < self.four else 1
        row = 0
        while place >= (free := len(across[row][5])):
            place -= free
            row += 1
        tiles = list(self.rows[row])
        tiles[across[row][5][place]] = tile
        self.rows = (*self.rows[:row], tuple(tiles), *self.rows[row + 1 :])
        across[row] = line(self.rows[row])
        self._legal = None
