"""Amazons' inner loops, compiled: moves of queens and arrows.

A board is an int8 array of squares, row by row: 0 free, 1 and 2 the seats' amazons, 3 an arrow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.cpython.unsafe.numbers import leading_zeros, trailing_zeros
from numpy.typing import NDArray

from dovetail.peer.kernels import njit

FREE, ARROW = 0, 3
ROOM = 1024
"""Initial capacity for actions."""
TOO_MANY, ILLEGAL = -1, -2
"""Returned instead of a number of actions: there is no room for them, or the action was illegal."""
ALL = 2**63 - 1
"""A line without a free square."""

Array = NDArray[Any]


@njit(cache=True)
def blocked(board: Array, rows: int, columns: int) -> Array:
    """Return the squares of each line that are not free, as bits: int64 [4, lines].

    Lines are rows, columns, diagonals and antidiagonals. A square's bit is its column in a row, and
    its row in the other lines, starting at bit 1; squares outside the board count as not free.
    """
    lines = np.empty((4, rows + columns), np.int64)
    for line in range(rows + columns):
        for kind in range(4):
            lines[kind, line] = ALL
    for row in range(rows):
        for column in range(columns):
            free = int(board[row * columns + column] == FREE)
            switch(lines, columns, row, column, free)
    return lines


@njit(cache=True)
def switch(lines: Array, columns: int, row: int, column: int, whether: int = 1) -> None:
    """Toggle a square between free and not free; do nothing if ``whether`` is 0."""
    upright, across = 2 * whether << row, 2 * whether << column
    lines[0, row] ^= across
    lines[1, column] ^= upright
    lines[2, row - column + columns] ^= upright
    lines[3, row + column] ^= upright


@njit(cache=True)
def ahead(line: int, place: int) -> int:
    """Return the number of free squares after ``place`` on a line, up to the first that is not
    free."""
    free: int = trailing_zeros(line >> (place + 2))  # type: ignore[call-arg]  # numba's decorator
    return free


@njit(cache=True)
def behind(line: int, place: int) -> int:
    """Return the number of free squares before ``place`` on a line, up to the first that is not
    free."""
    high: int = leading_zeros(line & ((2 << place) - 1))  # type: ignore[call-arg]  # as above
    return high + place - 63


@njit(cache=True)
def reach(
    lines: Array, rows: int, columns: int, square: int, base: int, found: Array, count: int
) -> int:
    """Write the squares that a queen can reach from a square, in ascending order.

    The order needs no sorting because the rays are followed row by row. No branch depends on which
    squares are free, as those would be predicted badly: unreachable squares are overwritten.

    Args:
        lines: see ``blocked``.
        rows, columns: the size of the board.
        square: the queen's square; its contents do not matter.
        base: a number added to each square.
        found: the array to write to; needs room for a whole board from ``count`` on.
        count: the number of its entries so far.

    Returns:
        The new number of entries.
    """
    row = square // columns
    column = square - row * columns
    along, down = lines[0, row], lines[1, column]
    falling, rising = lines[2, row - column + columns], lines[3, row + column]
    at = base + square
    west, middle, east = behind(falling, row), behind(down, row), behind(rising, row)
    for distance in range(row, 0, -1):
        here = at - distance * columns
        found[count] = here - distance
        count += distance <= west
        found[count] = here
        count += distance <= middle
        found[count] = here + distance
        count += distance <= east
    west, east = behind(along, column), ahead(along, column)
    for distance in range(column, 0, -1):
        found[count] = at - distance
        count += distance <= west
    for distance in range(1, columns - column):
        found[count] = at + distance
        count += distance <= east
    west, middle, east = ahead(rising, row), ahead(down, row), ahead(falling, row)
    for distance in range(1, rows - row):
        here = at + distance * columns
        found[count] = here - distance
        count += distance <= west
        found[count] = here
        count += distance <= middle
        found[count] = here + distance
        count += distance <= east
    return count


@njit(cache=True)
def reached(lines: Array, columns: int, square: int) -> int:
    """Return the number of squares that a queen can reach from a square."""
    row = square // columns
    column = square - row * columns
    along, down = lines[0, row], lines[1, column]
    falling, rising = lines[2, row - column + columns], lines[3, row + column]
    count = behind(along, column) + ahead(along, column)
    for line in (down, falling, rising):
        count += behind(line, row) + ahead(line, row)
    return count


@njit(cache=True)
def can_move(board: Array, rows: int, columns: int, seat: int) -> bool:
    """Return whether a seat has a move, that is an amazon with a free neighbour."""
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
    """Return the number of a seat's moves, counting queen move and arrow together."""
    squares = rows * columns
    targets = np.empty(squares, np.int64)
    lines = blocked(board, rows, columns)
    count = 0
    for source in range(squares):
        if board[source] != seat + 1:
            continue
        number = reach(lines, rows, columns, source, 0, targets, 0)
        switch(lines, columns, source // columns, source % columns)
        for index in range(number):
            count += reached(lines, columns, targets[index])
        switch(lines, columns, source // columns, source % columns)
    return count


@njit(cache=True)
def moves(board: Array, rows: int, columns: int, seat: int, found: Array) -> int:
    """Write a seat's moves as ``(source * squares + target) * squares + arrow``, in ascending
    order.

    Returns:
        Their number, or ``TOO_MANY`` if ``found`` has no room for all.
    """
    squares = rows * columns
    targets = np.empty(squares, np.int64)
    lines = blocked(board, rows, columns)
    count = 0
    for source in range(squares):
        if board[source] != seat + 1:
            continue
        number = reach(lines, rows, columns, source, 0, targets, 0)
        switch(lines, columns, source // columns, source % columns)
        for index in range(number):
            if count + squares > found.shape[0]:
                return TOO_MANY
            base = (source * squares + targets[index]) * squares
            count = reach(lines, rows, columns, targets[index], base, found, count)
        switch(lines, columns, source // columns, source % columns)
    return count


@njit(cache=True)
def queen_moves(board: Array, rows: int, columns: int, seat: int, found: Array) -> int:
    """Write a seat's queen moves as ``source * squares + target``, ascending; otherwise like
    ``moves``."""
    squares = rows * columns
    if squares > found.shape[0]:
        return TOO_MANY if can_move(board, rows, columns, seat) else 0
    lines = blocked(board, rows, columns)
    count = 0
    for source in range(squares):
        if board[source] == seat + 1:
            if count + squares > found.shape[0]:
                return TOO_MANY
            count = reach(lines, rows, columns, source, source * squares, found, count)
    return count


@njit(cache=True)
def actions(
    board: Array, rows: int, columns: int, seat: int, steps: bool, shooter: int, found: Array
) -> int:
    """Write a seat's actions in ascending order.

    Args:
        board: the position's board.
        rows, columns: the size of the board.
        seat: the seat that acts.
        steps: whether queen move and arrow are two actions.
        shooter: the square of the amazon that has moved and must shoot, or -1.
        found: the array to write to.

    Returns:
        As for ``moves``.
    """
    if not steps:
        return moves(board, rows, columns, seat, found)
    if shooter < 0:
        return queen_moves(board, rows, columns, seat, found)
    squares = rows * columns
    if squares > found.shape[0]:
        return TOO_MANY
    lines = blocked(board, rows, columns)
    return reach(lines, rows, columns, shooter, squares * squares, found, 0)


@njit(cache=True)
def listed(board: Array, rows: int, columns: int, seat: int, steps: bool, shooter: int) -> Array:
    """Return a seat's actions in ascending order; see ``actions``."""
    found = np.empty(ROOM, np.int64)
    count = actions(board, rows, columns, seat, steps, shooter, found)
    while count < 0:
        found = np.empty(2 * found.shape[0], np.int64)
        count = actions(board, rows, columns, seat, steps, shooter, found)
    return found[:count]


@njit(cache=True)
def clear(board: Array, columns: int, source: int, target: int) -> bool:
    """Return whether a queen on ``source`` could move to ``target``."""
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
def act(
    board: Array, rows: int, columns: int, seat: int, steps: bool, shooter: int, action: int
) -> bool:
    """Make an action if it is legal; return whether it was. An illegal action changes nothing."""
    squares = rows * columns
    if shooter >= 0:
        arrow = action - squares * squares
        if not 0 <= arrow < squares or not clear(board, columns, shooter, arrow):
            return False
        board[arrow] = ARROW
        return True
    move = action if steps else action // squares
    source, target = move // squares, move % squares
    if action < 0 or source >= squares or board[source] != seat + 1:
        return False
    if not clear(board, columns, source, target):
        return False
    board[source] = FREE
    if not steps:
        arrow = action % squares
        if not clear(board, columns, target, arrow):
            board[source] = seat + 1
            return False
        board[arrow] = ARROW
    board[target] = seat + 1
    return True


@njit(cache=True)
def play(
    board: Array,
    rows: int,
    columns: int,
    seat: int,
    steps: bool,
    shooter: int,
    action: int,
    found: Array,
) -> int:
    """Make an action and list the next ones, in a single call, as calls dominate the cost.

    Returns:
        As for ``actions`` of the next seat; ``ILLEGAL`` if the action was, without any change.
    """
    if not act(board, rows, columns, seat, steps, shooter, action):
        return ILLEGAL
    if steps and shooter < 0:
        return actions(board, rows, columns, seat, steps, action % (rows * columns), found)
    return actions(board, rows, columns, 1 - seat, steps, -1, found)


@njit(cache=True)
def perft(board: Array, rows: int, columns: int, seat: int, depth: int) -> int:
    """Count the sequences of ``depth`` moves."""
    if depth == 1:
        return count_moves(board, rows, columns, seat)
    squares = rows * columns
    total = 0
    for move in listed(board, rows, columns, seat, False, -1):
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
    """Write a seat's observation: three planes and, if there is a fourth, the amazon that must
    shoot."""
    planes(board, seat, out[:3])
    out[3:] = 0
    if shooter >= 0:
        out[3, shooter] = 1


@njit(cache=True)
def after_actions(board: Array, found: Array, seat: int, steps: bool, out: Array) -> None:
    """Write a seat's observation after each of its actions."""
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


# -- many games at once: arrays by slot ------------------------------------------------------------


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

    ``movers`` becomes the next seat to act, ``shooters`` the square of the amazon that must shoot
    or
    -1, and ``stuck`` whether the next seat cannot act.
    """
    for k in range(len(slots)):
        slot, action = slots[k], chosen[k]
        mover, board = movers[slot], boards[slot]
        act(board, rows, columns, mover, steps, shooters[slot], action)
        if steps and shooters[slot] < 0:
            shooters[slot] = action % (rows * columns)
            continue
        shooters[slot] = -1
        movers[slot] = 1 - mover
        stuck[slot] = not can_move(board, rows, columns, 1 - mover)


@njit(cache=True)
def look_slots(slots: Array, seats: Array, boards: Array, shooters: Array, out: Array) -> None:
    """Write a seat's observation in each of some slots."""
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
        for action in listed(boards[slot], rows, columns, movers[slot], steps, shooters[slot]):
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
    """Write each mover's observation after each of its actions, slot by slot."""
    at = 0
    for slot in slots:
        mover = movers[slot]
        found = listed(boards[slot], rows, columns, mover, steps, shooters[slot])
        end = at + len(found)
        after_actions(boards[slot], found, mover, steps, out[at:end])
        at = end
