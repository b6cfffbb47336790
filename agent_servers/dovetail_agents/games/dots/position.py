"""Positions of dots and boxes, to be searched and evaluated by the compiled ``kernels``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Spec
from dovetail.protocol.spaces import Box, Discrete
from dovetail_agents.games.dots import kernels
from dovetail_agents.learning.checked import whole
from dovetail_games.dots.kernels import draw, neighbours
from dovetail_games.dots.rules import Grid, grid

Array = NDArray[Any]
FEATURES = kernels.FEATURES
TO_THE_END = kernels.LEAST
NO_LIMIT = 1 << 62
TABLE = 1 << 16
"""Number of positions that a search remembers."""


def grid_of(spec: Spec, rows: int, who: str, most: int) -> Grid:
    """Return the grid for a game of dots.

    Args:
        spec: the game's spec.
        rows: the rows of dots; 0 for a square board.
        who: the player's name, for errors.
        most: the maximum number of lines that it supports.

    Raises:
        DovetailError: the board has more lines or other rows, or this is another game.
    """
    seen, act = spec.observation_spaces[0], spec.action_spaces[0]
    if not isinstance(seen, Box) or len(seen.shape) != 1 or not isinstance(act, Discrete):
        raise DovetailError(f"{who}: these are not the spaces of dots")
    lines, boxes = act.n, (seen.shape[0] - act.n - 1) // 2
    if lines > most:
        raise DovetailError(f"{who} plays with at most {most} lines, not {lines}")
    high = rows - 1 if rows else math.isqrt(max(0, boxes))
    wide = boxes // high if rows > 1 else high
    if high < 1 or (high * wide, (high + 1) * wide + high * (wide + 1)) != (boxes, lines):
        raise DovetailError(
            f"agent {who}, option 'rows': a board of {boxes} boxes does not have {rows} rows of "
            "dots"
            if rows
            else f"{who}: set its option rows, for the board is not square"
        )
    return grid(high + 1, wide + 1)


class DotsPosition:
    """A position from the view of the player to draw, who is player 0.

    Args:
        observation: uint8, shape (lines + 2 boxes + 1,), from the environment ``dots``.
        grid: the grid for this size.

    Raises:
        DovetailError: the observation has another shape, or numbers other than 0 and 1.
    """

    def __init__(self, observation: Array, grid: Grid) -> None:
        self.grid = grid
        lines, boxes = grid.lines, grid.boxes
        seen = whole("boards", observation, (lines + 2 * boxes + 1,))
        self.drawn = sum(1 << int(line) for line in np.flatnonzero(seen[:lines]))
        self.boxes: Array = np.array(
            [seen[lines : lines + boxes].sum(), seen[lines + boxes : lines + 2 * boxes].sum()],
            np.int64,
        )
        self.beside = neighbours(grid)
        self.edges: Array = np.array(
            [sum(self.drawn >> line & 1 for line in sides) for sides in grid.sides], np.int64
        )
        self.counts: Array = np.bincount(self.edges, minlength=5)

    def features(self) -> Array:
        """Return the study's features: boxes with 0 to 3 lines, own, the opponent's, and 1."""
        return np.array([*self.counts[:4], *self.boxes, 1], np.float64)

    def draw(self, line: int, player: int = 0) -> int:
        """Draw a line for a player; return the next player."""
        made = draw(line, player, self.beside, self.edges, self.counts, self.boxes)
        self.drawn |= 1 << line
        return player if made else 1 - player

    @property
    def over(self) -> bool:
        """True once all lines are drawn."""
        return self.drawn == (1 << self.grid.lines) - 1

    def copy(self) -> DotsPosition:
        """Return an independent copy."""
        other = DotsPosition.__new__(DotsPosition)
        other.grid, other.drawn, other.beside = self.grid, self.drawn, self.beside
        other.boxes, other.edges = self.boxes.copy(), self.edges.copy()
        other.counts = self.counts.copy()
        return other


class DotsSearch:
    """Searches positions with one evaluation.

    Args:
        weights: the weights of the seven features; may be changed in place between searches.
        prune: False for plain minimax.
        table: the number of positions to remember within a search; 0 for none.
        most: the maximum positions per search, beyond which it looks less far ahead; 0 for no
            limit.
    """

    def __init__(
        self, weights: Array, *, prune: bool = True, table: int = TABLE, most: int = 0
    ) -> None:
        self.weights = weights
        self._most = most or NO_LIMIT
        self.prune = prune
        self.decisions = 0
        """Number of calls of ``root``."""
        self.limited = 0
        """Number of these calls in which a line used up its share of ``most``, which is divided
        evenly."""
        self._keys: Array = np.zeros((table, 3), np.int64)
        self._stored: Array = np.zeros((table, 2))
        self._line: Array = np.zeros(kernels.MOST_LINES + 2, np.int64)
        self._nodes: Array = np.zeros(1, np.int64)

    @property
    def nodes(self) -> int:
        """Number of positions evaluated so far."""
        return int(self._nodes[0])

    def value(self, position: DotsPosition) -> float:
        """Return the value of a position for player 0, without looking ahead."""
        if position.over:
            return float(position.boxes[0] - position.boxes[1])
        return float(kernels.worth(position.counts, position.boxes, self.weights))

    def line(
        self, position: DotsPosition, mover: int, turns: int, floor: float = -np.inf
    ) -> tuple[float, list[int]]:
        """Return the minimax value for player 0, exact above ``floor``, and the best line."""
        self._keys[:, 2] = -1
        return self._line_of(position, mover, turns, floor, self._most)

    def _line_of(
        self, position: DotsPosition, mover: int, turns: int, floor: float, most: int
    ) -> tuple[float, list[int]]:
        worth = kernels.value(
            position.drawn,
            mover,
            turns,
            floor,
            np.inf,
            position.grid.lines,
            position.beside,
            position.edges,
            position.counts,
            position.boxes,
            self.weights,
            self.prune,
            self._keys,
            self._stored,
            self._line,
            self._nodes,
            self.nodes + most,
        )
        return float(worth), self._line[1 : 1 + self._line[0]].tolist()

    def root(self, position: DotsPosition, turns: int) -> tuple[list[int], list[float]]:
        """Return player 0's lines and values; the best is exact, the others are upper bounds."""
        self._keys[:, 2] = -1
        lines = [line for line in range(position.grid.lines) if not position.drawn >> line & 1]
        values = []
        best = -np.inf
        each = max(1, self._most // max(1, len(lines)))
        limited = False
        for line in lines:
            after = position.copy()
            mover = after.draw(line)
            left = turns if mover == 0 else turns - 1
            floor = np.nextafter(best, -np.inf) if self.prune else -np.inf
            before = self.nodes
            values.append(self._line_of(after, mover, left, float(floor), each)[0])
            limited = limited or self.nodes - before >= each
            best = max(best, values[-1])
        self.decisions += 1
        self.limited += limited
        return lines, values
