"""RLGame's inner loops, compiled: moves, the loss of pawns, and encodings.

A position is two arrays: ``pawns`` (2, N) with each pawn's square or ``BASE``, ``DEAD`` or
``HOME``, and ``cells`` (squares,) with 0 for free, 1 for White and 2 for Black.  Pawns in a base
occupy no cell.  ``steps`` (2, squares, 4) and ``exits`` (2, 2a) are the geometry of the board.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit

BASE = -1
DEAD = -2
HOME = -3
"""In the enemy's base: the game is won."""
ENTER = -4
"""In ``steps``: a step into the enemy's base."""
NEVER = -5
"""In ``steps``: a step off the board or backwards."""

Array = NDArray[Any]


@njit(cache=True)
def _stuck(player: int, square: int, cells: Array, steps: Array, exits: Array) -> bool:
    if square == BASE:
        free = 0
        for target in exits[player]:
            free += cells[target] == 0
        return free == 0
    for direction in range(4):
        target = steps[player, square, direction]
        if target == ENTER or (target >= 0 and cells[target] == 0):
            return False
    return True


@njit(cache=True)
def _sweep(
    pawns: Array, cells: Array, steps: Array, exits: Array, ordered: bool, bases: bool
) -> None:
    """Remove the pawns that cannot move."""
    size = pawns.shape[1]
    doomed = np.zeros((2, size), np.bool_)
    for pawn in range(size):
        for player in (1, 0):  # Black's first, as in the study's program
            square = pawns[player, pawn]
            if square < BASE or (square == BASE and not bases):
                continue
            if _stuck(player, square, cells, steps, exits):
                if ordered:
                    pawns[player, pawn] = DEAD
                    if square >= 0:
                        cells[square] = 0
                else:
                    doomed[player, pawn] = True
    if not ordered:
        for player in range(2):
            for pawn in range(size):
                if doomed[player, pawn]:
                    square = pawns[player, pawn]
                    pawns[player, pawn] = DEAD
                    if square >= 0:
                        cells[square] = 0


@njit(cache=True)
def alive(pawns: Array, player: int) -> int:
    """Return the number of pawns a player has left."""
    count = 0
    for square in pawns[player]:
        count += square != DEAD
    return count


@njit(cache=True)
def can_move(player: int, pawns: Array, cells: Array, steps: Array, exits: Array) -> bool:
    """Return whether a player has a move."""
    for square in pawns[player]:
        if square >= BASE and not _stuck(player, square, cells, steps, exits):
            return True
    return False


@njit(cache=True)
def legal(player: int, pawns: Array, cells: Array, steps: Array, exits: Array) -> Array:
    """Return the numbers of a player's moves, in ascending order."""
    squares = cells.shape[0]
    found = np.empty(4 * pawns.shape[1] + exits.shape[1], np.int64)
    count = 0
    for square in range(squares):
        if cells[square] == player + 1:
            for direction in range(4):
                target = steps[player, square, direction]
                if target == ENTER or (target >= 0 and cells[target] == 0):
                    found[count] = 4 * square + direction
                    count += 1
    for square in pawns[player]:
        if square == BASE:
            for number in range(exits.shape[1]):
                if cells[exits[player, number]] == 0:
                    found[count] = 4 * squares + number
                    count += 1
            break
    return found[:count]


@njit(cache=True)
def play(
    action: int,
    player: int,
    pawns: Array,
    cells: Array,
    steps: Array,
    exits: Array,
    ordered: bool,
    bases: bool,
) -> int:
    """Make a legal move; return the winner, or -1 while the game continues."""
    squares = cells.shape[0]
    if action >= 4 * squares:
        target = exits[player, action - 4 * squares]
        for pawn in range(pawns.shape[1]):
            if pawns[player, pawn] == BASE:
                pawns[player, pawn] = target
                break
        cells[target] = player + 1
    else:
        square = action // 4
        target = steps[player, square, action % 4]
        cells[square] = 0
        for pawn in range(pawns.shape[1]):
            if pawns[player, pawn] == square:
                pawns[player, pawn] = HOME if target == ENTER else target
                break
        if target == ENTER:
            return player
        cells[target] = player + 1
    _sweep(pawns, cells, steps, exits, ordered, bases)
    if alive(pawns, player) == 0:
        return 1 - player
    if alive(pawns, 1 - player) == 0:
        return player
    if not can_move(1 - player, pawns, cells, steps, exits):
        return player  # only where blocked pawns stay in their base
    return -1


@njit(cache=True)
def quarter(inside: int, size: int) -> int:
    """Return the quarter, from 0, in which the share of a player's ``size`` pawns in base lies."""
    if inside <= int(0.25 * size):
        return 0
    if inside <= int(0.5 * size):
        return 1
    if inside <= int(0.75 * size):
        return 2
    return 3


@njit(cache=True)
def encode(pawns: Array, cells: Array, slots: Array, first: int, row: Array) -> None:
    """Write the study's inputs: flags of squares, shares of pawns in base, and the winner.

    Args:
        pawns: the position's pawns.
        cells: the position's cells.
        slots: the index of each square among the flags, or -1 for a square of a base.
        first: the player whose flags come first.
        row: written; shape (2 (squares outside the bases + 5),).
    """
    row[:] = 0
    size = pawns.shape[1]
    outside = row.shape[0] // 2 - 5
    for square in range(cells.shape[0]):
        if cells[square] != 0:
            row[2 * slots[square] + (cells[square] - 1 != first)] = 1
    for order in range(2):
        player = first if order == 0 else 1 - first
        inside = 0
        for square in pawns[player]:
            if square == BASE:
                inside += 1
            elif square == HOME:
                row[2 * outside + 8 + order] = 1
        row[2 * outside + 4 * order + quarter(inside, size)] = 1


@njit(cache=True)
def planes(pawns: Array, cells: Array, turn: bool, first: int, out: Array) -> None:
    """Write two planes of pawns by square, and two with the share of pawns in base everywhere."""
    squares = cells.shape[0]
    size = pawns.shape[1]
    out[:] = 0
    for square in range(squares):
        if cells[square] != 0:
            place = squares - 1 - square if turn else square
            out[int(cells[square] - 1 != first), place] = 1
    for order in range(2):
        player = first if order == 0 else 1 - first
        inside = 0
        for square in pawns[player]:
            if square == BASE:
                inside += 1
            elif square == HOME:
                # Only the other player can stand in this base.
                corner = squares - 1 if player == 0 else 0
                out[order, squares - 1 - corner if turn else corner] = 1
        out[2 + order, :] = inside / size


@njit(cache=True)
def after_each(
    actions: Array,
    player: int,
    pawns: Array,
    cells: Array,
    steps: Array,
    exits: Array,
    ordered: bool,
    bases: bool,
    there: Array,
    boards: Array,
) -> None:
    """Write pawns and cells after each of a player's moves, stacked."""
    for number in range(actions.shape[0]):
        for owner in range(2):  # numba takes seconds to compile the copy of a slice
            for pawn in range(pawns.shape[1]):
                there[number, owner, pawn] = pawns[owner, pawn]
        for square in range(cells.shape[0]):
            boards[number, square] = cells[square]
        play(actions[number], player, there[number], boards[number], steps, exits, ordered, bases)


@njit(cache=True)
def encode_all(pawns: Array, cells: Array, slots: Array, first: int, rows: Array) -> None:
    """Write the study's inputs of stacked positions."""
    for number in range(rows.shape[0]):
        encode(pawns[number], cells[number], slots, first, rows[number])


@njit(cache=True)
def planes_all(pawns: Array, cells: Array, turn: bool, first: int, rows: Array) -> None:
    """Write the planes of stacked positions."""
    for number in range(rows.shape[0]):
        planes(pawns[number], cells[number], turn, first, rows[number])


# -- many games at once: arrays by slot ------------------------------------------------------------


@njit(cache=True)
def play_slots(
    slots: Array,
    actions: Array,
    movers: Array,
    pawns: Array,
    cells: Array,
    steps: Array,
    exits: Array,
    ordered: bool,
    bases: bool,
    winners: Array,
) -> None:
    """Make a legal move in each of some slots; the arrays of positions are by slot.

    ``movers`` becomes the next player to move, ``winners`` the winner, or -1.
    """
    for k in range(len(slots)):
        slot = slots[k]
        mover = movers[slot]
        winners[slot] = play(
            actions[k], mover, pawns[slot], cells[slot], steps, exits, ordered, bases
        )
        movers[slot] = 1 - mover


@njit(cache=True)
def legal_slots(
    slots: Array, movers: Array, pawns: Array, cells: Array, steps: Array, exits: Array, out: Array
) -> None:
    """Set the bits of the movers' moves in rows of zeros: uint8 [slots, bytes]."""
    for k in range(len(slots)):
        slot = slots[k]
        for action in legal(movers[slot], pawns[slot], cells[slot], steps, exits):
            out[k, action >> 3] |= 1 << (action & 7)


@njit(cache=True)
def encode_slots(
    slots: Array, firsts: Array, pawns: Array, cells: Array, views: Array, rows: Array
) -> None:
    """Write the study's inputs of some slots, seen by the player ``firsts``; see ``encode``.

    ``views`` is ``slots`` of ``encode`` by viewpoint.
    """
    for k in range(len(slots)):
        slot, first = slots[k], firsts[k]
        encode(pawns[slot], cells[slot], views[first], first, rows[k])


@njit(cache=True)
def planes_slots(slots: Array, seats: Array, pawns: Array, cells: Array, rows: Array) -> None:
    """Write the planes of some slots, each from the view of a seat."""
    for k in range(len(slots)):
        slot, seat = slots[k], seats[k]
        planes(pawns[slot], cells[slot], seat == 1, seat, rows[k])


@njit(cache=True)
def after_slots(
    slots: Array,
    movers: Array,
    pawns: Array,
    cells: Array,
    steps: Array,
    exits: Array,
    ordered: bool,
    bases: bool,
    there: Array,
    boards: Array,
    seats: Array,
) -> None:
    """Write pawns, cells and mover after each of the movers' moves, slot by slot."""
    at = 0
    for slot in slots:
        mover = movers[slot]
        actions = legal(mover, pawns[slot], cells[slot], steps, exits)
        end = at + len(actions)
        after_each(
            *(actions, mover, pawns[slot], cells[slot], steps, exits, ordered, bases),
            *(there[at:end], boards[at:end]),
        )
        seats[at:end] = mover
        at = end
