"""n-tuple networks for 2048: the squares of each table.

``lines`` is the set of 17 four-tuples of Szubert and Jaskowski (2014), each with its own table.
``fives`` and ``sixes`` use symmetric sampling (same paper): each table is read for every rotation
and reflection of the board. The squares of ``sixes`` are those of Yeh et al. (2016); ``fives`` are
parts of them and of blocks, small enough for a saved agent to fit in a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.game_2048.kernels import NTupleNetwork
from dovetail_agents.learning.memory import room

Name = Literal["lines", "fives", "sixes"]
Array = NDArray[Any]

FIVES = (
    (0, 1, 2, 3, 4),
    (4, 5, 6, 7, 8),
    (0, 1, 2, 4, 5),
    (4, 5, 6, 8, 9),
    (1, 2, 5, 6, 9),
    (0, 1, 2, 5, 6),
)
SIXES = (
    (0, 1, 2, 3, 4, 5),
    (4, 5, 6, 7, 8, 9),
    (0, 1, 2, 4, 5, 6),
    (4, 5, 6, 8, 9, 10),
)
EXPONENTS: dict[Name, int] = {"lines": 16, "fives": 14, "sixes": 15}
"""Default number of tile exponents distinguished, including the free square; larger tiles count as
the largest."""


def lines(rows: int, columns: int) -> list[list[int]]:
    """Return the squares of each tuple: all lines of up to four squares, and all 2 x 2 blocks.

    >>> len(lines(4, 4))
    17
    """
    across = min(4, columns)
    down = min(4, rows)
    found = [
        [row * columns + start + i for i in range(across)]
        for row in range(rows)
        for start in range(columns - across + 1)
    ]
    found += [
        [(start + i) * columns + column for i in range(down)]
        for column in range(columns)
        for start in range(rows - down + 1)
    ]
    found += [
        [row * columns + column + i + j * columns for j in (0, 1) for i in (0, 1)]
        for row in range(rows - 1)
        for column in range(columns - 1)
    ]
    return found


def images(rows: int, columns: int) -> list[Array]:
    """Return the board's squares under each of its symmetries: eight for a square, else four."""
    squares = np.arange(rows * columns).reshape(rows, columns)
    found = []
    for turns in range(4) if rows == columns else (0, 2):
        turned = np.rot90(squares, turns)
        found += [turned.ravel(), turned[:, ::-1].ravel()]
    return found


@dataclass(frozen=True, slots=True)
class Layout:
    """A network for one board size, as arrays for compiled code."""

    places: Array
    """int64, shape (looks, longest tuple): the squares of each look, padded with -1."""
    tables: Array
    """int64, shape (looks,): the table that each look reads."""
    exponents: int
    """Number of tile exponents distinguished."""
    shape: tuple[int, int]
    """Shape of the weights: tables of all stages, entries."""
    stages: int = 1
    """Number of stages; see ``kernels.NTupleNetwork``."""

    def zeros(self) -> Array:
        """Return zero weights: float32, of ``shape``.

        Raises:
            DovetailError: this machine has less memory.
        """
        tables, entries = self.shape
        room(4 * tables * entries, f"agent ntuple-2048: {tables} tables of {entries:,} weights")
        return np.zeros(self.shape, np.float32)

    def of(self, weights: Array) -> NTupleNetwork:
        """Return the network with these weights, which it shares."""
        tables, entries = self.shape
        size = tables // self.stages * entries
        rest = self.exponents, self.stages, size, weights.reshape(-1)
        return NTupleNetwork(self.places, self.tables * entries, *rest)


def layout(
    name: Name, rows: int, columns: int, exponents: int | None = None, stages: int = 1
) -> Layout:
    """Return a network for a board.

    Args:
        name: the name of its set of tuples.
        rows, columns: the size of the board.
        exponents: the number of tile exponents distinguished, including the free square; None for
            ``EXPONENTS``.
        stages: the number of stages.

    Raises:
        DovetailError: ``fives`` and ``sixes`` need a board of 4 x 4.
    """
    if name == "lines":
        found: list[Sequence[int]] = list(lines(rows, columns))
        tables = list(range(len(found)))
    elif (rows, columns) != (4, 4):
        raise DovetailError(
            f"the network {name!r} is for boards of 4 x 4, not {rows} x {columns}; 'lines' is for "
            "any"
        )
    else:
        shapes: Sequence[Sequence[int]] = FIVES if name == "fives" else SIXES
        found, tables = [], []
        for table, squares in enumerate(shapes):
            for image in images(rows, columns):
                found.append([int(image[square]) for square in squares])
                tables.append(table)
    longest = max(len(squares) for squares in found)
    places: Array = np.full((len(found), longest), -1, np.int64)
    for look, squares in enumerate(found):
        places[look, : len(squares)] = squares
    exponents = exponents or EXPONENTS[name]
    shape = stages * (max(tables) + 1), exponents**longest
    return Layout(places, np.array(tables, np.int64), exponents, shape, stages)
