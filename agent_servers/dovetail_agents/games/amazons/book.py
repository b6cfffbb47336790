"""The opening book of Amazons on 8 x 8: the move in each of some early positions, one per line.

A line contains the squares of a position row by row (1 for amazons of the side to move, 2 for the
other's, 3 for arrows) and the number of the move.  Mirror images share a line.  ``build`` creates
the book.
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
    """Return the source square of each square, for the eight images of a board."""
    squares: Array = np.arange(SQUARES).reshape(SIDE, SIDE)
    turned = [np.rot90(squares, turn) for turn in range(4)]
    return [each.ravel() for grid in turned for each in (grid, grid[:, ::-1])]


IMAGES = _images()


def seen(planes: Any) -> Array:
    """Return the squares of a board, shape (SQUARES,), from the view of the side to move."""
    marks: Array = np.array([1, 2, 3], np.int8)
    return marks @ np.asarray(planes, np.int8).reshape(3, -1)


def image(squares: Array) -> tuple[str, Array]:
    """Return the key of a position and its mirror images, and the source square of each square."""
    return min(
        (("".join(map(str, squares[places].tolist())), places) for places in IMAGES),
        key=lambda each: each[0],
    )


def moved(action: int, places: Array) -> int:
    """Return the number of a move after mapping its squares."""
    source, target, arrow = action // SQUARES**2, action // SQUARES % SQUARES, action % SQUARES
    return int((places[source] * SQUARES + places[target]) * SQUARES + places[arrow])


def read(path: Path = BOOK) -> dict[str, int]:
    """Return a book's moves by position; empty if the file does not exist."""
    if not path.exists():
        return {}
    lines = (line.split() for line in path.read_text("ascii").splitlines())
    return {position: int(action) for position, action in lines}


def look_up(book: dict[str, int], planes: Any) -> int | None:
    """Return the book's move in an observed position; None if there is none."""
    squares = seen(planes)
    if squares.size != SQUARES:
        return None
    position, places = image(squares)
    action = book.get(position)
    return None if action is None else moved(action, places)
