"""Amazons' inner loops, compiled: moves of queens and arrows.

A board is an int8 array of squares, row by row: 0 free, 1 and 2 the seats' amazons, 3 an arrow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

FREE, ARROW = 0, 3

Array = NDArray[Any]


@njit(cache=True)
def reach(board: Array, rows: int, columns: int, square: int, found: Array) -> int:
    """Mark the squares that a queen on a square can move to; return how many there are."""
    found[:] = False
    count = 0
    for down in range(-1, 2):
        for right in range(-1, 2):
            if down == 0 and right == 0:
                continue
            row = square // columns + down
            column = square % columns + right
            while 0 <= row < rows and 0 <= column < columns:
                at = row * columns + column
                if board[at] != FREE:
                    break
                found[at] = True
                count += 1
                row += down
                column += right
    return count


@njit(cache=True)
def can_move(board: Array, rows: int, columns: int, seat: int) -> bool:
    """Return whether a seat has a move: one of its amazons has a free neighbour."""
    for square in range(rows * columns):
        if board[square] == seat + 1:
            row, column = square // columns, square % columns
            for to_row in range(max(0, row - 1), min(rows, row + 2)):
                for to_column in range(max(0, column - 1), min(columns, column + 2)):
                    if board[to_row * columns + to_column] == FREE:
                        return True
    return False


@njit(cache=True)
def count_moves(board: Array, rows: int, columns: int, seat: int) -> int:
    """Return how many moves, queen and arrow together, a seat has."""
    squares = rows * columns
    targets = np.empty(squares, np.bool_)
    arrows = np.empty(squares, np.bool_)
    count = 0
    for source in range(squares):
        if board[source] != seat + 1:
            continue
        reach(board, rows, columns, source, targets)
        board[source] = FREE
        for target in range(squares):
            if targets[target]:
                count += reach(board, rows, columns, target, arrows)
        board[source] = seat + 1
    return count


@njit(cache=True)
def moves(board: Array, rows: int, columns: int, seat: int) -> Array:
    """Return a seat's moves as ``(source * squares + target) * squares + arrow``, rising."""
    squares = rows * columns
    targets = np.empty(squares, np.bool_)
    arrows = np.empty(squares, np.bool_)
    found = np.empty(256, np.int64)
    count = 0
    for source in range(squares):
        if board[source] != seat + 1:
            continue
        reach(board, rows, columns, source, targets)
        board[source] = FREE
        for target in range(squares):
            if targets[target]:
                reach(board, rows, columns, target, arrows)
                if count + squares > found.shape[0]:
                    larger = np.empty(2 * found.shape[0] + squares, np.int64)
                    larger[:count] = found[:count]
                    found = larger
                for arrow in range(squares):
                    if arrows[arrow]:
                        found[count] = (source * squares + target) * squares + arrow
                        count += 1
        board[source] = seat + 1
    return found[:count]


@njit(cache=True)
def queen_moves(board: Array, rows: int, columns: int, seat: int) -> Array:
    """Return a seat's queen moves as ``source * squares + target``, rising."""
    squares = rows * columns
    targets = np.empty(squares, np.bool_)
    found = np.empty(squares * squares, np.int64)
    count = 0
    for source in range(squares):
        if board[source] == seat + 1:
            reach(board, rows, columns, source, targets)
            for target in range(squares):
                if targets[target]:
                    found[count] = source * squares + target
                    count += 1
    return found[:count].copy()


@njit(cache=True)
def clear(board: Array, columns: int, source: int, target: int) -> bool:
    """Return whether a queen could move from one square to another, were she on the first."""
    down = target // columns - source // columns
    right = target % columns - source % columns
    steps = max(abs(down), abs(right))
    if steps == 0 or (down != 0 and right != 0 and abs(down) != abs(right)):
        return False
    step = down // steps * columns + right // steps
    for number in range(1, steps + 1):
        if board[source + number * step] != FREE:
            return False
    return True


@njit(cache=True)
def play(board: Array, rows: int, columns: int, seat: int, move: int) -> int:
    """Make a whole move; return 0 if it is not legal, 1, or 2 if the other seat cannot move
    then."""
    squares = rows * columns
    source, target = move // (squares * squares), move // squares % squares
    if move < 0 or source >= squares or board[source] != seat + 1:
        return 0
    if not clear(board, columns, source, target):
        return 0
    board[source] = FREE
    if not clear(board, columns, target, move % squares):
        board[source] = seat + 1
        return 0
    board[target] = seat + 1
    board[move % squares] = ARROW
    return 1 if can_move(board, rows, columns, 1 - seat) else 2


@njit(cache=True)
def perft(board: Array, rows: int, columns: int, seat: int, depth: int) -> int:
    """Count the sequences of ``depth`` moves."""
    if depth == 1:
        return count_moves(board, rows, columns, seat)
    squares = rows * columns
    total = 0
    for move in moves(board, rows, columns, seat):
        source, target = move // (squares * squares), move // squares % squares
        board[source] = FREE
        board[target] = seat + 1
        board[move % squares] = ARROW
        total += perft(board, rows, columns, 1 - seat, depth - 1)
        board[move % squares] = FREE
        board[target] = FREE
        board[source] = seat + 1
    return total


@njit(cache=True)
def planes(board: Array, seat: int, out: Array) -> None:
    """Write three planes: a seat's own amazons, the opponent's, and arrows."""
    out[:] = 0
    for square in range(board.shape[0]):
        if board[square] == ARROW:
            out[2, square] = 1
        elif board[square] != FREE:
            out[int(board[square] != seat + 1), square] = 1


@njit(cache=True)
def after_moves(board: Array, found: Array, seat: int, out: Array) -> None:
    """Write the planes after each of a seat's moves."""
    squares = board.shape[0]
    planes(board, seat, out[0])
    for number in range(1, found.shape[0]):
        out[number] = out[0]
    for number in range(found.shape[0]):
        move = found[number]
        out[number, 0, move // (squares * squares)] = 0
        out[number, 0, move // squares % squares] = 1
        out[number, 2, move % squares] = 1
