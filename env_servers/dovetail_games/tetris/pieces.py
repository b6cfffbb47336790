"""The seven one-sided tetrominoes and their distinct rotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PIECES = "ZSLJTOI"
"""Pieces by number, in the study's order."""

_SHAPES = {
    "Z": ["XX.", ".XX"],
    "S": [".XX", "XX."],
    "L": ["..X", "XXX"],
    "J": ["X..", "XXX"],
    "T": [".X.", "XXX"],
    "O": ["XX", "XX"],
    "I": ["XXXX"],
}
"""Rotation 0, from the top; each following one is a quarter turn to the right."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A piece in one rotation."""

    width: int
    height: int
    rows: tuple[int, ...]
    """Rows from the bottom; bit c is column c from its left edge."""


def _rotations(lines: list[str]) -> list[Shape]:
    found: list[Shape] = []
    for _ in range(4):
        rows = tuple(
            sum(1 << column for column, mark in enumerate(line) if mark == "X")
            for line in reversed(lines)
        )
        shape = Shape(len(lines[0]), len(lines), rows)
        if shape not in found:
            found.append(shape)
        lines = ["".join(column) for column in zip(*reversed(lines), strict=True)]
    return found


SHAPES: dict[str, list[Shape]] = {name: _rotations(lines) for name, lines in _SHAPES.items()}
"""Distinct rotations of each piece: two of I, S and Z, one of O, four of the others."""


def tables() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the shapes as arrays for compiled code.

    Returns:
        rotations (7,), widths (7, 4), heights (7, 4), rows (7, 4, 4); int64.
    """
    rotations = np.zeros(7, np.int64)
    widths = np.zeros((7, 4), np.int64)
    heights = np.zeros((7, 4), np.int64)
    rows = np.zeros((7, 4, 4), np.int64)
    for piece, name in enumerate(PIECES):
        rotations[piece] = len(SHAPES[name])
        for rotation, shape in enumerate(SHAPES[name]):
            widths[piece, rotation] = shape.width
            heights[piece, rotation] = shape.height
            rows[piece, rotation, : shape.height] = shape.rows
    return rotations, widths, heights, rows
