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
def ray(board: Array, square: int, step: int, most: int) -> int:
    """Return how many squares, at most ``most``, are free from a square on in one direction."""
    number = 0
    while number < most and board[square + step] == FREE:
        square += step
        number += 1
    return number


@njit(cache=True)
def reach(
    board: Array, rows: int, columns: int, square: int, base: int, found: Array, count: int
) -> int:
    """Write the squares that a queen on a square can move to, rising.

    They rise without a search because the rays are gone through row by row. Each row is written
    without a branch, which would often be guessed wrong: what is not reached is overwritten.

    Args:
        board, rows, columns: of the position.
        square: the queen's; what stands there does not matter.
        base: what is added to each square.
        found: where they are written; needs room for a whole board from ``count`` on.
        count: how many entries it has.

    Returns:
        How many entries it has then.
    """
    row = square // columns
    column = square - row * columns
    up, down, left, right = row, rows - 1 - row, column, columns - 1 - column
    at = base + square
    west = ray(board, square, -columns - 1, min(up, left))
    middle = ray(board, square, -columns, up)
    east = ray(board, square, 1 - columns, min(up, right))
    for distance in range(max(west, middle, east), 0, -1):
        here = at - distance * columns
        found[count] = here - distance
        count += distance <= west
        found[count] = here
        count += distance <= middle
        found[count] = here + distance
        count += distance <= east
    for distance in range(ray(board, square, -1, left), 0, -1):
        found[count] = at - distance
        count += 1
    for distance in range(1, ray(board, square, 1, right) + 1):
        found[count] = at + distance
        count += 1
    west = ray(board, square, columns - 1, min(down, left))
    middle = ray(board, square, columns, down)
    east = ray(board, square, columns + 1, min(down, right))
    for distance in range(1, max(west, middle, east) + 1):
        here = at + distance * columns
        found[count] = here - distance
        count += distance <= west
        found[count] = here
        count += distance <= middle
        found[count] = here + distance
        count += distance <= east
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
    targets, arrows = np.empty(squares, np.int64), np.empty(squares, np.int64)
    count = 0
    for source in range(squares):
        if board[source] != seat + 1:
            continue
        number = reach(board, rows, columns, source, 0, targets, 0)
        board[source] = FREE
        for index in range(number):
            count += reach(board, rows, columns, targets[index], 0, arrows, 0)
        board[source] = seat + 1
    return count


@njit(cache=True)
def moves(board: Array, rows: int, columns: int, seat: int) -> Array:
    """Return a seat's moves as ``(source * squares + target) * squares + arrow``, rising."""
    squares = rows * columns
    targets = np.empty(squares, np.int64)
    found = np.empty(1024, np.int64)
    count = 0
    for source in range(squares):
        if board[source] != seat + 1:
            continue
        number = reach(board, rows, columns, source, 0, targets, 0)
        board[source] = FREE
        for index in range(number):
            if count + squares > found.shape[0]:
                larger = np.empty(2 * found.shape[0] + squares, np.int64)
                for known in range(count):  # numba takes seconds to compile the copy of a slice
                    larger[known] = found[known]
                found = larger
            target = targets[index]
            base = (source * squares + target) * squares
            count = reach(board, rows, columns, target, base, found, count)
        board[source] = seat + 1
    return found[:count]


@njit(cache=True)
def queen_moves(board: Array, rows: int, columns: int, seat: int) -> Array:
    """Return a seat's queen moves as ``source * squares + target``, rising."""
    squares = rows * columns
    found = np.empty(squares * squares, np.int64)
    count = 0
    for source in range(squares):
        if board[source] == seat + 1:
            count = reach(board, rows, columns, source, source * squares, found, count)
    return found[:count].copy()


@njit(cache=True)
def actions(board: Array, rows: int, columns: int, seat: int, steps: bool, shooter: int) -> Array:
    """Return a seat's actions, rising.

    Args:
        board: of the position.
        rows, columns: of the board.
        seat: that acts.
        steps: whether queen move and arrow are two actions.
        shooter: the square of the amazon that has moved and must shoot, or -1.
    """
    if not steps:
        return moves(board, rows, columns, seat)
    if shooter < 0:
        return queen_moves(board, rows, columns, seat)
    squares = rows * columns
    found = np.empty(squares, np.int64)
    count = reach(board, rows, columns, shooter, squares * squares, found, 0)
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
def walk(board: Array, columns: int, seat: int, action: int) -> int:
    """Make a queen move; return the square it leads to, or -1 if it is not legal."""
    squares = board.shape[0]
    source, target = action // squares, action % squares
    if action < 0 or source >= squares or board[source] != seat + 1:
        return -1
    if not clear(board, columns, source, target):
        return -1
    board[source] = FREE
    board[target] = seat + 1
    return int(target)


@njit(cache=True)
def shoot(board: Array, rows: int, columns: int, seat: int, shooter: int, action: int) -> int:
    """Shoot an arrow; return 0 if it is not legal, 1, or 2 if the other seat cannot move then."""
    squares = rows * columns
    arrow = action - squares * squares
    if not 0 <= arrow < squares or not clear(board, columns, shooter, arrow):
        return 0
    board[arrow] = ARROW
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
def look(board: Array, seat: int, shooter: int, out: Array) -> None:
    """Write what a seat sees: three planes, and where there is a fourth, the amazon that must shoot."""
    planes(board, seat, out[:3])
    out[3:] = 0
    if shooter >= 0:
        out[3, shooter] = 1


@njit(cache=True)
def after_actions(board: Array, found: Array, seat: int, steps: bool, out: Array) -> None:
    """Write what a seat sees after each of its actions."""
    squares = board.shape[0]
    for number in range(found.shape[0]):
        if number == 0:
            look(board, seat, -1, out[0])
            continue
        for plane in range(out.shape[1]):  # numba takes seconds to compile the copy of a slice
            for square in range(squares):
                out[number, plane, square] = out[0, plane, square]
    for number in range(found.shape[0]):
        move = found[number]
        if not steps:
            out[number, 0, move // (squares * squares)] = 0
            out[number, 0, move // squares % squares] = 1
            out[number, 2, move % squares] = 1
        elif move < squares * squares:
            out[number, 0, move // squares] = 0
            out[number, 0, move % squares] = 1
            out[number, 3, move % squares] = 1
        else:
            out[number, 2, move - squares * squares] = 1


# -- many games at once: arrays by slot -----------------------------------------------------------------


@njit(cache=True)
def play_slots(
    slots: Array,
    chosen: Array,
    movers: Array,
    boards: Array,
    rows: int,
    columns: int,
    steps: bool,
    shooters: Array,
    stuck: Array,
) -> None:
    """Apply a legal action in each of some slots.

    ``movers`` becomes who acts next, ``shooters`` the square of the amazon that must shoot or -1, and
    ``stuck`` whether who acts next cannot.
    """
    for k in range(len(slots)):
        slot, action = slots[k], chosen[k]
        mover, board = movers[slot], boards[slot]
        if not steps:
            found = play(board, rows, columns, mover, action)
        elif shooters[slot] < 0:
            shooters[slot] = walk(board, columns, mover, action)
            continue
        else:
            found = shoot(board, rows, columns, mover, shooters[slot], action)
            shooters[slot] = -1
        movers[slot] = 1 - mover
        stuck[slot] = found == 2


@njit(cache=True)
def look_slots(slots: Array, seats: Array, boards: Array, shooters: Array, out: Array) -> None:
    """Write what a seat sees in each of some slots."""
    for k in range(len(slots)):
        look(boards[slots[k]], seats[k], shooters[slots[k]], out[k])


@njit(cache=True)
def legal_slots(
    slots: Array,
    movers: Array,
    boards: Array,
    rows: int,
    columns: int,
    steps: bool,
    shooters: Array,
    out: Array,
) -> None:
    """Set the bits of the movers' actions in rows of zeros: uint8 [slots, bytes]."""
    for k in range(len(slots)):
        slot = slots[k]
        for action in actions(boards[slot], rows, columns, movers[slot], steps, shooters[slot]):
            out[k, action >> 3] |= 1 << (action & 7)


@njit(cache=True)
def after_slots(
    slots: Array,
    movers: Array,
    boards: Array,
    rows: int,
    columns: int,
    steps: bool,
    shooters: Array,
    out: Array,
) -> None:
    """Write what each mover would see after each of its actions, slot by slot."""
    at = 0
    for slot in slots:
        mover = movers[slot]
        found = actions(boards[slot], rows, columns, mover, steps, shooters[slot])
        end = at + len(found)
        after_actions(boards[slot], found, mover, steps, out[at:end])
        at = end
