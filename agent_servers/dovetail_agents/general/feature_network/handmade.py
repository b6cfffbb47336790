"""Hand-made units based on Dellacherie's features (the study, 4.4 and 4.6).

Each reads one of Tetris' three boards: 0 the piece's cells, 1 the board with it, 2 the board after
full rows are cleared. On boards without a cell above the top:

- landing height, row transitions and cumulative wells are exactly Dellacherie's;
- the study's column transitions are his, plus the columns whose top cell is free, minus those whose
  top cell is full;
- the study's holes are only free cells directly under a full one.  With the downward loop they are
  his;
- with that filter alone, twice its sum plus the width is exactly his column transitions;
- no sum of units can give eroded cells (rows cleared times the piece's cells cleared), as each unit
  sees one board: let piece A have four cells in a row, piece B one cell, and let both lead to the
  same full board. If the row is full the features differ by 3, if a cell of the row is free by 0,
  but the piece's board, the only one on which A and B differ, is the same both times. Completed
  rows stand in for them, as in the study.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from dovetail.protocol.errors import DovetailError
from dovetail_agents.general.feature_network.genome import Unit, UnitNetwork

Preset = Literal["study", "exact", "learned"]
PIECE, PLACED, AFTER = 0, 1, 2
PLANES = 3
LEARNED = (-1.446, 0.793, -0.544, -0.474, -3.87, -0.755)
"""Weights of the study's six units, found by CMA-ES on 14 rows (docs/agents/tetris.md)."""


def landing_height(columns: int, weight: float = -1.0) -> Unit:
    """Return a unit for the middle row of the piece."""
    return Unit(PIECE, "row", (1,) * columns, -0.5, weight, middle=True)


def completed_rows(columns: int, weight: float = 1.0) -> Unit:
    """Return a unit for the number of full rows."""
    return Unit(PLACED, "row", (1,) * columns, 0.5 - columns, weight)


def row_transitions(weight: float = -1.0) -> Unit:
    """Return a unit for the changes along each row; walls count as full."""
    return Unit(
        AFTER, "square", (0, 0, 0, 1, -1, 0, 0, 0, 0), -0.5, weight, sides=1, flip="vertical"
    )


UNDER = (0, 1, 0, 0, -1, 0, 0, 0, 0)
"""Filter that fires at a free cell directly under a full one."""


def column_transitions(weight: float = -1.0) -> Unit:
    """Return a unit for the changes along each column, plus the columns whose top cell is free."""
    return Unit(AFTER, "square", UNDER, -0.5, weight, ends=1, flip="horizontal")


def direct_holes(weight: float = -4.0) -> Unit:
    """Return a unit for the free cells directly under a full one."""
    return Unit(AFTER, "square", UNDER, -0.5, weight)


def holes(weight: float = -4.0) -> Unit:
    """Return a unit for the free cells below a full one, as runs down from each roof."""
    return Unit(AFTER, "square", UNDER, -0.5, weight, loop="down", count=0)


def wells(weight: float = -1.0) -> Unit:
    """Return a unit for cumulative wells: from each free cell between full ones, the free cells
    below."""
    shaft = (0, 0, 0, 1, -1, 1, 0, 0, 0)
    return Unit(AFTER, "square", shaft, -1.5, weight, sides=1, loop="down", count=0)


def columns_in_all(rows: int, weight: float = -1.0) -> Unit:
    """Return a unit for the number of columns, a constant."""
    return Unit(AFTER, "column", (0,) * rows, 0.5, weight)


def network(preset: Preset, planes: int, rows: int, columns: int) -> UnitNetwork:
    """Return a network of hand-made units, with Dellacherie's weights or learned ones.

    ``study`` has the study's six units; ``exact`` has five of the six features exactly, and
    completed rows; ``learned`` has the study's units with the weights ``LEARNED``.

    Raises:
        DovetailError: the game does not offer three boards for each action.
    """
    if planes != PLANES:
        raise DovetailError(
            f"the hand-made units look at {PLANES} boards for each action, this game offers "
            f"{planes}; Tetris offers them with afterstates = 'boards'"
        )
    units = [landing_height(columns), completed_rows(columns), row_transitions()]
    if preset != "exact":
        units += [column_transitions(), direct_holes(), wells()]
    else:
        # Column transitions are twice the direct holes plus the width.
        units += [direct_holes(-2.0), columns_in_all(rows), holes(), wells()]
    if preset == "learned":
        units = [replace(unit, weight=w) for unit, w in zip(units, LEARNED, strict=True)]
    return UnitNetwork(tuple(units), planes, rows, columns)
