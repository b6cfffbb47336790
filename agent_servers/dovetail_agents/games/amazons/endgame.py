"""Exact solver for Amazons endgames, compiled.

Each move fills a square, so a position with few free squares can be searched completely.  Once no
free region is shared, the side with more moves of its own wins; those are counted, not searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_games.amazons.kernels import ARROW, FREE, moves

Array = NDArray[Any]
LOST, WON, UNKNOWN = 0, 1, -1
"""Values of a position for the side to move; ``UNKNOWN`` if the search would take too long."""
BITS = 18
"""Bits of an index into the table of positions."""
POSITIONS = 300_000
"""Default limit of positions per search."""
_MOVES = 2048
"""Maximum moves of a position; with more there are too many free squares to solve it."""


@njit(cache=True)
def _regions(board: Array, rows: int, columns: int, seen: Array, queue: Array) -> Array:
    """Return the free squares in regions next to no amazons, to those of seat 0, of seat 1 and of
    both."""
    seen[:] = 0
    free = np.zeros(4, np.int64)
    for start in range(rows * columns):
        if board[start] != FREE or seen[start]:
            continue
        queue[0], seen[start] = start, 1
        head, tail, beside = 0, 1, 0
        while head < tail:
            row, column = queue[head] // columns, queue[head] % columns
            head += 1
            for to_row in range(max(0, row - 1), min(rows, row + 2)):
                for to_column in range(max(0, column - 1), min(columns, column + 2)):
                    other = to_row * columns + to_column
                    if board[other] == FREE:
                        if not seen[other]:
                            queue[tail], seen[other] = other, 1
                            tail += 1
                    elif board[other] != ARROW:
                        beside |= board[other]
        free[beside] += tail
    return free


@njit(cache=True)
def _make(board: Array, seat: int, move: int) -> None:
    squares = board.shape[0]
    board[move // squares // squares] = FREE
    board[move // squares % squares] = seat + 1
    board[move % squares] = ARROW


@njit(cache=True)
def _unmake(board: Array, seat: int, move: int) -> None:
    squares = board.shape[0]
    board[move % squares] = FREE
    board[move // squares % squares] = FREE
    board[move // squares // squares] = seat + 1


@njit(cache=True)
def longest(board: Array, rows: int, columns: int, seat: int, nodes: Array) -> int:
    """Return the maximum number of consecutive moves of a seat, if the other makes none.

    Args:
        board: int8 [squares], as in the rules; unchanged if there is an answer.
        rows, columns: the size of the board.
        seat: the seat that moves.
        nodes: int64 [1], the number of positions left to search; counted down.

    Returns:
        The number, or ``UNKNOWN``.
    """
    squares = rows * columns
    seen, queue = np.empty(squares, np.int8), np.empty(squares, np.int64)
    found = np.empty((squares + 1, _MOVES), np.int64)
    count, tried = np.zeros(squares + 1, np.int64), np.zeros(squares + 1, np.int64)
    best = ply = 0
    most = -1
    entering = True
    while True:
        if entering:
            nodes[0] -= 1
            free = _regions(board, rows, columns, seen, queue)
            left = free[1 + seat] + free[3]
            best = max(best, ply)
            most = left if most < 0 else most
            if nodes[0] < 0:
                return UNKNOWN
            tried[ply] = count[ply] = 0
            if ply + left > best:  # otherwise no improvement is possible
                count[ply] = moves(board, rows, columns, seat, found[ply])
                if count[ply] < 0:
                    return UNKNOWN
        if best < most and tried[ply] < count[ply]:
            _make(board, seat, found[ply, tried[ply]])
            ply += 1
            entering = True
            continue
        if ply == 0:
            return best
        ply -= 1
        _unmake(board, seat, found[ply, tried[ply]])
        tried[ply] += 1
        entering = False


@njit(cache=True)
def _sort(board: Array, rows: int, columns: int, seat: int, found: Array, other: Array) -> None:
    """Sort moves by the number of opposing amazons that their arrow restricts, descending."""
    squares, beside = rows * columns, np.zeros(rows * columns, np.int64)
    for square in range(squares):
        if board[square] == 2 - seat:
            row, column = square // columns, square % columns
            for to_row in range(max(0, row - 1), min(rows, row + 2)):
                for to_column in range(max(0, column - 1), min(columns, column + 2)):
                    beside[to_row * columns + to_column] += 1
    other[: found.shape[0]] = found
    at = 0
    for wanted in range(8, -1, -1):
        for number in range(found.shape[0]):
            if beside[other[number] % squares] == wanted:
                found[at] = other[number]
                at += 1


@njit(cache=True)
def solve(
    board: Array, rows: int, columns: int, seat: int, nodes: Array, keys: Array, table: Array
) -> int:
    """Return the value of a position for the seat to move: ``LOST``, ``WON`` or ``UNKNOWN``.

    Args:
        board: int8 [squares], as in the rules; modified.
        rows, columns: the size of the board.
        seat: the seat to move.
        nodes: int64 [1], the number of positions left to search; counted down.
        keys: uint64 [5, squares], random numbers for the contents of squares and the seat to move.
        table: uint64 [2 ** BITS], positions with their values; zeros, or from a search on the same
            board size.
    """
    squares, mask = rows * columns, np.uint64((1 << BITS) - 1)
    seen, queue = np.empty(squares, np.int8), np.empty(squares, np.int64)
    found, room = np.empty((squares + 1, _MOVES), np.int64), np.empty(_MOVES, np.int64)
    count, tried = np.zeros(squares + 1, np.int64), np.zeros(squares + 1, np.int64)
    ply, entering, result = 0, True, UNKNOWN
    while True:
        mover = (seat + ply) % 2
        done = False
        if entering:
            nodes[0] -= 1
            key = keys[4, mover]
            for square in range(squares):
                key ^= keys[board[square], square]
            # The lowest bit of an entry holds the value.
            entry = table[(key >> np.uint64(1)) & mask]
            if entry | np.uint64(1) == key | np.uint64(1):
                result, done = int(entry & np.uint64(1)), True
            else:
                if nodes[0] < 0:
                    return UNKNOWN
                if _regions(board, rows, columns, seen, queue)[3]:
                    count[ply] = moves(board, rows, columns, mover, found[ply])
                    if count[ply] < 0:
                        return UNKNOWN
                    tried[ply] = 0
                    _sort(board, rows, columns, mover, found[ply, : count[ply]], room)
                else:
                    own = longest(board, rows, columns, mover, nodes)
                    theirs = longest(board, rows, columns, 1 - mover, nodes)
                    if own < 0 or theirs < 0:
                        return UNKNOWN
                    result, done = int(own > theirs), True
        elif result == LOST:  # the reply cannot save the other seat
            result, done = WON, True
        if not done:
            if tried[ply] < count[ply]:
                _make(board, mover, found[ply, tried[ply]])
                ply += 1
                entering = True
                continue
            result = LOST
        if ply == 0 and not entering:
            return result
        key = keys[4, mover]
        for square in range(squares):
            key ^= keys[board[square], square]
        table[(key >> np.uint64(1)) & mask] = key & ~np.uint64(1) | np.uint64(result)
        if ply == 0:
            return result
        ply -= 1
        _unmake(board, 1 - mover, found[ply, tried[ply]])
        tried[ply] += 1
        entering = False


class Endgame:
    """Solves positions of one board size.

    Args:
        rows, columns: the size of the board.
        positions: the maximum number of positions per search.
    """

    def __init__(self, rows: int, columns: int, positions: int = POSITIONS) -> None:
        self.rows, self.columns = rows, columns
        self.positions = positions
        numbers = np.random.default_rng(rows * 1000 + columns)
        self._keys: Array = numbers.integers(0, 2**63, (5, rows * columns), np.uint64)
        self._table: Array = np.zeros(1 << BITS, np.uint64)

    def value(self, board: Array, seat: int, nodes: Array | None = None) -> int:
        """Return ``LOST``, ``WON`` or ``UNKNOWN`` for the seat to move.

        Args:
            board: int8 [squares], as in ``dovetail_games.amazons.kernels``.
            seat: the seat to move.
            nodes: int64 [1], the number of positions left to search, counted down; None for the
                default.
        """
        left = np.array([self.positions]) if nodes is None else nodes
        arguments = board.copy(), self.rows, self.columns, seat, left, self._keys, self._table
        return int(solve(*arguments))

    def values(
        self, board: Array, seat: int, actions: Sequence[int], enough: int | None = None
    ) -> list[int]:
        """Return the values of a seat's moves for that seat, in order; see ``value``.

        All of them together search at most ``positions`` positions. The list ends at the first move
        worth ``enough``.
        """
        left = np.array([self.positions])
        values: list[int] = []
        for move in actions:
            after = board.copy()
            _make(after, seat, move)
            reply = self.value(after, 1 - seat, left)
            values.append(reply if reply == UNKNOWN else WON - reply)
            if values[-1] == enough:
                break
        return values
