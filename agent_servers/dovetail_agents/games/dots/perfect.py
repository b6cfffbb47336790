"""Perfect play of dots and boxes, from a table of all sets of lines built by backward induction."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Agent, Decision, Needs, Seat
from dovetail.peer.agents.sampling import pick
from dovetail.peer.kernels import njit
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedNatural
from dovetail_agents.games.dots.position import DotsPosition, grid_of
from dovetail_games.dots.rules import Grid, grid

Array = NDArray[Any]
MOST_LINES = 24
"""Maximum lines, which gives 2^24 positions in 16 MiB: 3 x 3 boxes."""


@njit(cache=True, nogil=True)
def _fill(lines: int, masks: Array, table: Array) -> None:
    """Write the future lead in boxes of the player to draw into ``table``, for each set of lines.

    ``masks[line]`` holds the sets of lines around the one or two boxes beside a line, 0 for none.
    """
    whole = (1 << lines) - 1
    for drawn in range(whole - 1, -1, -1):
        best = -128
        for line in range(lines):
            if drawn >> line & 1:
                continue
            after = drawn | 1 << line
            won = 0
            for side in range(2):
                mask = masks[line, side]
                won += mask != 0 and after & mask == mask
            value = won + table[after] if won else -table[after]
            best = max(best, value)
        table[drawn] = best


@lru_cache(maxsize=4)
def values(rows: int, columns: int) -> Array:
    """Return the value of each set of lines on a grid of dots: int8, shape (2^lines,).

    The value is the number of boxes that the player to draw still wins, minus those of the other,
    under perfect play.

    >>> int(values(3, 3)[0])  # 2 x 2 boxes: the first player wins 3 to 1
    2

    Raises:
        DovetailError: the board has too many lines.
    """
    shape = grid(rows, columns)
    if shape.lines > MOST_LINES:
        raise DovetailError(
            f"{rows} x {columns} dots have {shape.lines} lines; a table of perfect play has at "
            f"most {MOST_LINES}"
        )
    masks: Array = np.zeros((shape.lines, 2), np.int64)
    for line, beside in enumerate(shape.beside):
        for side, (_, mask) in enumerate(beside):
            masks[line, side] = mask
    table: Array = np.zeros(1 << shape.lines, np.int8)
    _fill(shape.lines, masks, table)
    return table


def after(shape: Grid, drawn: int, line: int) -> int:
    """Return the value of drawing a line, for the player that draws it."""
    table = values(shape.rows, shape.columns)
    there = drawn | 1 << line
    won = sum(there & mask == mask for _, mask in shape.beside[line])
    return won + int(table[there]) if won else -int(table[there])


def ending(shape: Grid, drawn: int) -> dict[int, int]:
    """Return the value of each free line for the player that draws it, on a board of any size.

    The table covers only the sets of free lines: 2^n for n of them, which should be at most
    ``MOST_LINES``.
    """
    free = [line for line in range(shape.lines) if not drawn >> line & 1]
    masks: Array = np.zeros((len(free), 2), np.int64)
    for place, line in enumerate(free):
        for side, (_, mask) in enumerate(shape.beside[line]):
            masks[place, side] = sum(1 << n for n, each in enumerate(free) if mask >> each & 1)
    table: Array = np.zeros(1 << len(free), np.int8)
    _fill(len(free), masks, table)
    found = {}
    for place, line in enumerate(free):
        won = sum(int(mask) == 1 << place for mask in masks[place])
        left = int(table[1 << place])
        found[line] = won + left if won else -left
    return found


def keeping(shape: Grid, drawn: int) -> list[int]:
    """Return the lines that keep the value of a position."""
    free = [line for line in range(shape.lines) if not drawn >> line & 1]
    found = [after(shape, drawn, line) for line in free]
    return [line for line, value in zip(free, found, strict=True) if value == max(found)]


class DotsPerfectParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``DotsPerfect``."""

    rows: Annotated[
        LimitedNatural,
        Meta(
            description="Rows of dots, where a board is not square; 0 for a square one.",
        ),
    ] = 0


class DotsPerfect(Agent[DotsPerfectParameters]):
    """Dots and boxes: plays perfectly on boards of up to 24 lines, with ties broken at random.

    It maximises the difference of boxes, which is not always the best way to win against a player
    that errs.
    """

    name = "dots-perfect"
    needs = Needs(game="dots", seats=2, legal="list")
    capacity = 0

    def init(self, seat: Seat) -> None:
        shape = self._grid(seat)
        values(shape.rows, shape.columns)

    def _grid(self, seat: Seat) -> Grid:
        return grid_of(seat.spec, self.parameters.rows, self.name, MOST_LINES)

    def step(self, decision: Decision) -> int:
        shape = self._grid(decision.seat)
        drawn = DotsPosition(decision.observation, shape).drawn
        lines = decision.legal or []
        return pick(list(lines), [float(after(shape, drawn, line)) for line in lines], decision.rng)
