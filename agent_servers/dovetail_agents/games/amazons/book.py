"""The opening book of Amazons on 8 x 8: a move for each of some early positions, one a line of
text.

A line has the squares of a position row by row, 1 for the amazons of the side to move, 2 for the
other's and 3 for arrows, and the number of the move.  Of a position and its mirror images it has
one.  ``build`` makes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BOOK = Path(__file__).with_name("book.txt")
SIDE = 8
SQUARES = SIDE * SIDE


def _images() -> list[Array]:
    """Return for each of the eight images of a board the square that goes to each place."""
    squares: Array = np.arange(SQUARES).reshape(SIDE, SIDE)
    turned = [np.rot90(squares, turn) for turn in range(4)]
    return [each.ravel() for grid in turned for each in (grid, grid[:, ::-1])]


IMAGES = _images()


def seen(planes: Any) -> Array:
    """Return the squares of a board, shape (SQUARES,), as the side to move observes it."""
    marks: Array = np.array([1, 2, 3], np.int8)
    return marks @ np.asarray(planes, np.int8).reshape(3, -1)


def image(squares: Array) -> tuple[str, Array]:
    """Return what a position and its mirror images share, and which square goes to each place."""
    return min(
        (("".join(map(str, squares[places].tolist())), places) for places in IMAGES),
        key=lambda each: each[0],
    )


def moved(action: int, places: Array) -> int:
    """Return the number of a move with each of its squares replaced."""
    source, target, arrow = action // SQUARES**2, action // SQUARES % SQUARES, action % SQUARES
    return int((places[source] * SQUARES + places[target]) * SQUARES + places[arrow])


def read(path: Path = BOOK) -> dict[str, int]:
    """Return the moves in a book by position; none if there is no such file."""
    if not path.exists():
        return {}
    lines = (line.split() for line in path.read_text("ascii").splitlines())
    return {position: int(action) for position, action in lines}


def look_up(book: dict[str, int], planes: Any) -> int | None:
    """Return the book's move in a position, as its side to move observes it; None without one."""
    squares = seen(planes)
    if squares.size != SQUARES:
        return None
    position, places = image(squares)
    action = book.get(position)
    return None if action is None else moved(action, places)
