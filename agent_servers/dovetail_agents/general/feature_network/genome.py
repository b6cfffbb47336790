"""Units of the feature network and the real numbers that choose them (the study, 4.2 and 4.3).

Where the study is silent: the Heaviside step of 0 is 0; a number on a threshold belongs to the
upper bin; a gene outside [0, 1] counts as the nearer end; if both flip and loop are chosen, the
loop is off (it is "without flip"). Boards of another shape have filters 1 x width, height x 1 and 3
x 3, and games with ``p`` planes divide the first gene evenly among them, so that 3 planes of 20 x
10 give the study's 32 genes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError

Shape = Literal["row", "column", "square"]
Direction = Literal["left", "up", "right", "down"]
Flip = Literal["vertical", "horizontal"]

SHAPES: tuple[Shape, ...] = ("row", "column", "square")
DIRECTIONS: tuple[Direction, ...] = ("left", "up", "right", "down")
FLIPS: tuple[Flip, ...] = ("vertical", "horizontal")
SPAN = 20.0
"""Bound of biases and weights, which lie between -SPAN and SPAN."""
OTHERS = 12
"""Genes of a unit in addition to its filter's."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: a small program that maps a board to a number."""

    plane: int
    """Index of the board it reads."""
    shape: Shape
    filter: tuple[int, ...]
    """Entries -1, 0 or 1, row by row from the top."""
    bias: float
    weight: float
    sides: int = 0
    """0 or 1: the value beyond the left and right edges (square only)."""
    ends: int = 0
    """0 or 1: the value beyond the top and bottom edges, including corners (square only)."""
    flip: Flip | None = None
    """Add the mirrored filter's output: vertical is left-right, horizontal top-bottom (square
    only)."""
    loop: Direction | None = None
    """Direction in which to count from each firing cell (square without flip only)."""
    count: int = 0
    """Value of the cells that the loop counts."""
    middle: bool = False
    """True to return the middle of the firing coordinates (row and column only)."""


@dataclass(frozen=True, slots=True)
class UnitNetwork:
    """Units for one kind of board."""

    units: tuple[Unit, ...]
    planes: int
    rows: int
    columns: int

    def tables(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the units as arrays for compiled code.

        Returns:
            int64 (units, 13): plane, shape, sides, ends, flip (0 none), loop (0 none), count,
                middle,
            the bias as the least whole sum that fires, and four of a filter's sums as bits
            (``dovetail_studies.tetris.bits``); int64 (units, filter): filters, 0 where a shape has
            fewer entries; float64 (units, 2): biases and weights.
        """
        numbers = np.zeros((len(self.units), 13), np.int64)
        filters = np.zeros((len(self.units), _entries(self.rows, self.columns)), np.int64)
        reals = np.zeros((len(self.units), 2))
        for at, unit in enumerate(self.units):
            flip = 0 if unit.flip is None else 1 + FLIPS.index(unit.flip)
            loop = 0 if unit.loop is None else 1 + DIRECTIONS.index(unit.loop)
            least = int(np.floor(-unit.bias)) + 1
            plus = sum(1 << i for i, entry in enumerate(unit.filter) if entry > 0)
            minus = sum(1 << i for i, entry in enumerate(unit.filter) if entry < 0)
            negative = sum(entry < 0 for entry in unit.filter)
            used = sum(entry != 0 for entry in unit.filter)
            numbers[at] = (
                unit.plane,
                SHAPES.index(unit.shape),
                unit.sides,
                unit.ends,
                flip,
                loop,
                unit.count,
                unit.middle,
                least,
                plus,
                minus,
                negative,
                used,
            )
            filters[at, : len(unit.filter)] = unit.filter
            reals[at] = unit.bias, unit.weight
        return numbers, filters, reals


def _entries(rows: int, columns: int) -> int:
    return max(rows, columns, 9)


def genes(rows: int, columns: int) -> int:
    """Return the number of genes of a unit.

    >>> genes(20, 10), genes(4, 4)
    (32, 21)
    """
    return OTHERS + _entries(rows, columns)


def length(shape: Shape, rows: int, columns: int) -> int:
    """Return the number of entries in a filter."""
    return {"row": columns, "column": rows, "square": 9}[shape]


def _bin(gene: float, bins: int) -> int:
    return sum(gene >= step / bins for step in range(1, bins))


def _stretch(gene: float) -> float:
    return (2 * gene - 1) * SPAN


def decode(
    genome: Sequence[float] | NDArray[Any], planes: int, rows: int, columns: int
) -> UnitNetwork:
    """Return the network that a genome encodes.

    Args:
        genome: ``genes(rows, columns)`` numbers from 0 to 1 for each unit, in the study's order.
        planes: the number of boards that the game offers for each action.
        rows: the rows of a board.
        columns: the columns of a board.

    Raises:
        DovetailError: the genome has another length, or a gene is not a number.
    """
    each = genes(rows, columns)
    values = np.asarray(genome, np.float64).ravel()
    if len(values) == 0 or len(values) % each:
        raise DovetailError(
            f"a genome has {each} genes for each unit on {rows} x {columns}; "
            f"{len(values)} is not a multiple of that"
        )
    if not np.isfinite(values).all():
        raise DovetailError("a genome's genes are numbers from 0 to 1; one is not finite")
    table = values.clip(0, 1).reshape(-1, each).tolist()
    units = tuple(_unit(row, planes, rows, columns) for row in table)
    return UnitNetwork(units, planes, rows, columns)


def _unit(row: list[float], planes: int, rows: int, columns: int) -> Unit:
    shape = SHAPES[_bin(row[1], 3)]
    after = 2 + _entries(rows, columns)
    bias, sides, ends, middle, loop, direction, count, flip, mirror, weight = row[after:]
    square = shape == "square"
    flipped = square and flip >= 0.5
    return Unit(
        plane=_bin(row[0], planes),
        shape=shape,
        filter=tuple(_bin(v, 3) - 1 for v in row[2 : 2 + length(shape, rows, columns)]),
        bias=_stretch(bias),
        weight=_stretch(weight),
        sides=int(square and sides >= 0.5),
        ends=int(square and ends >= 0.5),
        flip=FLIPS[_bin(mirror, 2)] if flipped else None,
        loop=DIRECTIONS[_bin(direction, 4)] if square and not flipped and loop >= 0.5 else None,
        count=_bin(count, 2),
        middle=not square and middle >= 0.5,
    )


def encode(network: UnitNetwork) -> NDArray[np.float64]:
    """Return a genome that decodes to a network, with choices in the middle of their bins and 0.5
    for unused genes."""
    each, entries = genes(network.rows, network.columns), _entries(network.rows, network.columns)
    out = np.full((len(network.units), each), 0.5)
    for row, unit in zip(out, network.units, strict=True):
        row[0] = (unit.plane + 0.5) / network.planes
        row[1] = (SHAPES.index(unit.shape) + 0.5) / 3
        row[2 : 2 + len(unit.filter)] = [(entry + 1.5) / 3 for entry in unit.filter]
        row[2 + entries :] = [
            (unit.bias / SPAN + 1) / 2,
            (unit.sides + 0.5) / 2,
            (unit.ends + 0.5) / 2,
            (unit.middle + 0.5) / 2,
            ((unit.loop is not None) + 0.5) / 2,
            (DIRECTIONS.index(unit.loop or "left") + 0.5) / 4,
            (unit.count + 0.5) / 2,
            ((unit.flip is not None) + 0.5) / 2,
            (FLIPS.index(unit.flip or "vertical") + 0.5) / 2,
            (unit.weight / SPAN + 1) / 2,
        ]
    return out.ravel()
