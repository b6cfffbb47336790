"""The rules of RLGame on a board of any size (the study *Redesign of RLGame*, chapter 3).

White's base is the a x a corner at (0, 0), Black's the opposite one. A base counts as one square:
its pawns leave it for any free square orthogonally next to it. On the board a pawn steps to a free
orthogonal neighbour, without reducing its distance from its own corner, ``max(x, y)`` for White.
Pawns that cannot move are lost. A player wins by moving a pawn into the enemy's base, or by taking
the enemy's last pawn.

Square (x, y) has the number ``x * n + y``. Moves are numbered ``4 * square + direction`` with the
directions (1, 0), (-1, 0), (0, 1), (0, -1), and ``4 * n * n + e`` for the exit ``e`` of the base.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from dovetail.peer.environments.environment import DovetailError, IllegalAction
from dovetail_games.rlgame import kernels
from dovetail_games.rlgame.kernels import BASE, DEAD, ENTER, HOME, NEVER, Array

DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1))
Loss = Literal["ordered", "simultaneous"]


class RLGameGeometry:
    """The steps, exits and squares for one size of board and bases."""

    def __init__(self, size: int, base: int) -> None:
        if 2 * base >= size:
            raise DovetailError(
                f"environment rlgame, option 'base': two bases of {base} x {base} leave no way "
                f"between them on a board of {size}; at most {(size - 1) // 2} is allowed"
            )
        self.size = size
        self.base = base
        squares = size * size
        self.steps: Array = np.full((2, squares, 4), NEVER, np.int64)
        for x in range(size):
            for y in range(size):
                if self.owner(x, y) is not None:
                    continue
                for player in (0, 1):
                    for number, (dx, dy) in enumerate(DIRECTIONS):
                        self.steps[player, x * size + y, number] = self._step(
                            player, x, y, x + dx, y + dy
                        )
        beside = [(base, j) for j in range(base)] + [(j, base) for j in range(base)]
        last = size - 1
        self.exits: Array = np.array(
            [
                [x * size + y for x, y in beside],
                [(last - x) * size + last - y for x, y in beside],
            ],
            np.int64,
        )
        outside = [s for s in range(squares) if self.owner(*divmod(s, size)) is None]
        self.outside = len(outside)
        """Number of squares outside the bases."""
        self.slots: Array = np.full((2, squares), -1, np.int64)
        """Index of each square among those, by viewpoint (unchanged, or rotated by 180 degrees)."""
        for place, square in enumerate(outside):
            self.slots[0, square] = place
            self.slots[1, squares - 1 - square] = place

    def __deepcopy__(self, memo: object) -> RLGameGeometry:
        return self

    def owner(self, x: int, y: int) -> int | None:
        """Return the owner of the base that a square is part of; None outside the bases."""
        if x < self.base and y < self.base:
            return 0
        if x >= self.size - self.base and y >= self.size - self.base:
            return 1
        return None

    def distance(self, player: int, x: int, y: int) -> int:
        """Return the distance of a square from a player's own corner."""
        return max(x, y) if player == 0 else self.size - 1 - min(x, y)

    def _step(self, player: int, x: int, y: int, to_x: int, to_y: int) -> int:
        if not (0 <= to_x < self.size and 0 <= to_y < self.size):
            return NEVER
        if self.distance(player, to_x, to_y) < self.distance(player, x, y):
            return NEVER
        if self.owner(to_x, to_y) == 1 - player:
            return ENTER
        return to_x * self.size + to_y


@lru_cache(maxsize=32)
def geometry(size: int, base: int) -> RLGameGeometry:
    """Return the geometry of a size; boards share it, as it never changes."""
    return RLGameGeometry(size, base)


class RLGameBoard:
    """A position.

    Args:
        size: squares along a side.
        base: squares along a side of a base.
        pawns: pawns of each player.
        first: the starting player; 0 is White.
        loss: ``ordered`` checks the pawns one after the other, each number's Black pawn before
            White's, and frees a lost pawn's square at once (the study's program); ``simultaneous``
            removes all blocked pawns together.
        base_pawns: whether pawns in a base are lost, too, when all its exits are occupied.

    >>> board = RLGameBoard()
    >>> board.legal()
    [256, 257, 258, 259]
    """

    __slots__ = (
        "bases",
        "cells",
        "geometry",
        "last",
        "mover",
        "moves",
        "ordered",
        "pawns",
        "winner",
    )

    def __init__(
        self,
        size: int = 8,
        base: int = 2,
        pawns: int = 10,
        first: int = 0,
        loss: Loss = "ordered",
        base_pawns: bool = True,
    ) -> None:
        self.geometry = geometry(size, base)
        self.pawns: Array = np.full((2, pawns), BASE, np.int64)
        self.cells: Array = np.zeros(size * size, np.int8)
        self.ordered = loss == "ordered"
        self.bases = base_pawns
        self.mover = first
        self.moves = 0
        self.winner: int | None = None
        self.last: int | None = None

    def copy(self) -> RLGameBoard:
        """Return an independent copy."""
        other = RLGameBoard.__new__(RLGameBoard)
        other.geometry = self.geometry
        other.pawns = self.pawns.copy()
        other.cells = self.cells.copy()
        other.ordered, other.bases = self.ordered, self.bases
        other.mover, other.moves = self.mover, self.moves
        other.winner, other.last = self.winner, self.last
        return other

    @property
    def over(self) -> bool:
        """True once a seat has won."""
        return self.winner is not None

    def moves_of(self, player: int) -> Array:
        """Return the numbers of a player's moves in ascending order; int64."""
        shape = self.geometry
        found: Array = kernels.legal(player, self.pawns, self.cells, shape.steps, shape.exits)
        return found

    def legal(self) -> list[int]:
        """Return the mover's moves in ascending order; empty once the game is over."""
        if self.over:
            return []
        found: list[int] = self.moves_of(self.mover).tolist()
        return found

    def play(self, action: int) -> None:
        """Make a move of the mover.

        Raises:
            IllegalAction: it is not legal; nothing has changed.
        """
        if self.over:
            raise IllegalAction("the game is over; no move is legal", self.mover)
        legal = self.legal()
        if type(action) is not int or action not in legal:
            raise IllegalAction(f"{action!r} is not a legal move; legal are {legal}", self.mover)
        shape = self.geometry
        winner = kernels.play(
            action,
            self.mover,
            self.pawns,
            self.cells,
            shape.steps,
            shape.exits,
            self.ordered,
            self.bases,
        )
        self.last = action
        self.moves += 1
        self.mover = 1 - self.mover
        if winner >= 0:
            self.winner = int(winner)

    def alive(self, player: int) -> int:
        """Return the number of pawns a player has left."""
        return int(np.count_nonzero(self.pawns[player] != DEAD))

    def inside(self, player: int) -> int:
        """Return the number of a player's pawns in its base."""
        return int(np.count_nonzero(self.pawns[player] == BASE))

    def home(self, player: int) -> bool:
        """Return whether a player has a pawn in the enemy's base."""
        return bool((self.pawns[player] == HOME).any())
