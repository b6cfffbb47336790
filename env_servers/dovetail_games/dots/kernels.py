"""Dots and boxes, compiled: lines drawn on a position of arrays, and on many at once.

``beside[line]`` holds the one or two boxes beside a line, -1 for none; ``edges[box]`` counts the
lines around a box, ``counts[n]`` the boxes with ``n`` of them, and ``boxes[player]`` the player's
boxes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_games.dots.rules import Grid

Array = NDArray[Any]


def neighbours(grid: Grid) -> Array:
    """Return ``beside`` for a grid: int64, shape (lines, 2)."""
    beside: Array = np.full((grid.lines, 2), -1, np.int64)
    for line, found in enumerate(grid.beside):
        for side, (box, _) in enumerate(found):
            beside[line, side] = box
    return beside


@njit(cache=True)
def draw(line: int, player: int, beside: Array, edges: Array, counts: Array, boxes: Array) -> int:
    """Draw a line; return the number of boxes it completes."""
    completed = 0
    for side in range(2):
        box = beside[line, side]
        if box >= 0:
            counts[edges[box]] -= 1
            edges[box] += 1
            counts[edges[box]] += 1
            completed += edges[box] == 4
    boxes[player] += completed
    return completed


@njit(cache=True)
def draw_all(
    slots: Array,
    lines: Array,
    beside: Array,
    drawn: Array,
    edges: Array,
    counts: Array,
    boxes: Array,
    owners: Array,
    movers: Array,
    gained: Array,
) -> None:
    """Draw a free line in each of some slots.

    Args:
        slots: the slots.
        lines: a line for each slot.
        beside: as for the module.
        drawn: uint8, by slot and line: 1 if it is drawn.
        edges, counts, boxes: by slot.
        owners: int8, by slot and box: the player, or -1.
        movers: by slot: the next player to draw.
        gained: int64, by slot and player: written, the boxes that the line completes.
    """
    for k in range(len(slots)):
        slot, line = slots[k], lines[k]
        mover = movers[slot]
        drawn[slot, line] = 1
        gained[slot, 0] = gained[slot, 1] = 0
        made = draw(line, mover, beside, edges[slot], counts[slot], boxes[slot])
        if made == 0:
            movers[slot] = 1 - mover
            continue
        gained[slot, mover] = made
        for side in range(2):
            box = beside[line, side]
            if box >= 0 and edges[slot, box] == 4:
                owners[slot, box] = mover
