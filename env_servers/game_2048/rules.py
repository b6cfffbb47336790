"""The rules of 2048 (G. Cirulli, 2014) on a board of any size.

A move slides all tiles as far as they go; two equal ones that meet become one of twice the value,
which does not merge again in that move, and the sum of what was made so is the reward. Then a tile
appears on a free square drawn evenly: a 2, or with a small probability a 4. The game is over when
no move changes the board.

Tiles are held as exponents of two; 0 is a free square.
"""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import chain

from dovetail.env_servers.environment import IllegalAction

Row = tuple[int, ...]
Rows = tuple[Row, ...]

MOVES = ("up", "right", "down", "left")


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


def origins(row: Row) -> list[int]:
    """Return, for each tile of a row slid to the left, where it was; of two that merge, the farther.

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


@lru_cache(maxsize=1 << 20)
def both_ways(row: Row) -> tuple[Row, int, Row, int]:
    """Return a row slid to the left and its gain, and to the right and its gain."""
    left, gain = slide(row)
    right, other = slide(row[::-1])
    return left, gain, right[::-1], other


def after_moves(rows: Rows) -> list[tuple[Rows, int]]:
    """Return the board after each of ``MOVES``, before a tile appears, and the reward."""
    columns = tuple(zip(*rows, strict=True))
    across = [both_ways(row) for row in rows]
    down = [both_ways(column) for column in columns]
    return [
        (tuple(zip(*[each[0] for each in down], strict=True)), sum([each[1] for each in down])),
        (tuple([each[2] for each in across]), sum([each[3] for each in across])),
        (tuple(zip(*[each[2] for each in down], strict=True)), sum([each[3] for each in down])),
        (tuple([each[0] for each in across]), sum([each[1] for each in across])),
    ]


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

    __slots__ = ("_after", "four", "rng", "rows", "score")

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
        self._after: dict[int, tuple[Rows, int]] | None = None
        for _ in range(tiles):
            self.appear()

    def after(self) -> dict[int, tuple[Rows, int]]:
        """Return, for each move that changes the board, what it leads to and the reward."""
        if self._after is None:
            rows = self.rows
            found = after_moves(rows)
            self._after = {move: each for move, each in enumerate(found) if each[0] != rows}
        return self._after

    def legal(self) -> list[int]:
        """Return the moves that change the board, in rising order."""
        return list(self.after())

    @property
    def over(self) -> bool:
        """Whether no move changes the board."""
        return not self.after()

    def play(self, move: int) -> int:
        """Slide, without a new tile; return the reward.

        Raises:
            IllegalAction: the move changes nothing, or is none; nothing has changed.
        """
        if type(move) is not int or not 0 <= move < 4:
            raise IllegalAction(f"{move!r} is not a move; 0 is up, 1 right, 2 down, 3 left", 0)
        found = self.after().get(move)
        if found is None:
            raise IllegalAction(f"moving {MOVES[move]} changes nothing", 0)
        self.rows, gain = found
        self.score += gain
        self._after = None
        return gain

    def appear(self) -> None:
        """Let a tile appear."""
        columns = len(self.rows[0])
        free = [place for place, tile in enumerate(chain.from_iterable(self.rows)) if not tile]
        row, column = divmod(free[int(self.rng.random() * len(free))], columns)
        tile = 2 if self.rng.random() < self.four else 1
        line = list(self.rows[row])
        line[column] = tile
        rows = list(self.rows)
        rows[row] = tuple(line)
        self.rows = tuple(rows)
        self._after = None
