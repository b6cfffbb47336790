"""Exact search for Connect Four, compiled.

Squares are bits as in ``dovetail_games.connect_four.rules``: square (column c, row r) is bit ``c *
(rows + 1) + r``.  ``own`` holds the discs of the side to move, ``all_`` those of both sides.

A score is 1 if the side to move wins with its last disc, 2 with the one before, and so on; negative
if the opponent wins, 0 for a draw.  So earlier wins and later losses score higher (the convention
of Pons' test sets, http://blog.gamesolver.org/solving-connect-four/02-test-protocol/).

The search is alpha-beta with null windows over a table of bounds (Knuth and Moore 1975; Allis 1988
and Tromp's Fhourstones for the game).  It skips moves that let the opponent win at once, tries
first the moves that create the most squares completing four, and looks up successors before it
searches them (enhanced transposition cutoffs, Schaeffer and Plaat 1996).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_games.bits import popcount

Array = NDArray[Any]
LEAST = -64
"""Lower than every score; bounds are stored relative to it, as a table entry of 0 is free."""
REMEMBERED = 12
"""Minimum free squares of a position in the table; closer to the end, searching is cheaper."""
LOOKED_UP = REMEMBERED + 2
"""Minimum free squares of a position whose successors are looked up before the search."""


@njit(cache=True, nogil=True)
def completing(discs: int, all_: int, side: int, whole: int) -> int:
    """Return the free squares, reachable or not, that would give ``discs`` four in a row."""
    found = discs << 1 & discs << 2 & discs << 3
    for step in (side, side - 1, side + 1):
        pair = discs << step & discs << 2 * step
        found |= pair & discs << 3 * step
        found |= pair & discs >> step
        pair = discs >> step & discs >> 2 * step
        found |= pair & discs << step
        found |= pair & discs >> 3 * step
    return found & (whole ^ all_)


@njit(cache=True, nogil=True)
def _place(key: int, shift: int, table: Array) -> int:
    """Return a position's index in the table, by multiplicative hashing (Knuth, volume 3, 6.4)."""
    return (key * 0x1E3779B97F4A7C15) >> shift & (table.size - 1)  # masks the sign that >> copies


@njit(
    f"int64({'int64, ' * 9}int64[::1], int64[::1], int64[:, :, ::1])",
    cache=True,
    nogil=True,
)
def _search(
    own: int,
    all_: int,
    left: int,
    alpha: int,
    beta: int,
    side: int,
    bottom: int,
    whole: int,
    shift: int,
    table: Array,
    order: Array,
    stack: Array,
) -> int:
    """Return a position's score, exact within ``alpha`` and ``beta``; the mover must not be able to
    win at once.

    ``left`` is the number of free squares.  ``order`` lists the squares of each column in the order
    to try them; ``stack`` has room for the moves at each ``left``.  A word of ``table`` holds its
    whole key, so threads may share the table.
    """
    other = own ^ all_
    reach = (all_ + bottom) & whole
    threats = completing(other, all_, side, whole)
    forced = reach & threats
    if forced:
        if forced & (forced - 1):
            return -(left // 2)  # two threats cannot both be stopped
        reach = forced
    reach &= ~(threats >> 1)  # the square below a threat gives it away
    if reach == 0:
        return -(left // 2)
    if left <= 2:
        return 0
    # The opponent cannot win before its second move from now, nor we before ours.
    low, high = -((left - 2) // 2), (left - 1) // 2
    if alpha < low:
        alpha = low
        if alpha >= beta:
            return alpha
    key = own + all_
    kept = left >= REMEMBERED
    place = 0
    if kept:
        place = _place(key, shift, table)
        entry = table[place]
        if entry >> 8 == key and entry != 0:
            bound = (entry & 127) + LEAST
            if entry & 128:  # a lower bound
                if bound > alpha:
                    alpha = bound
                    if alpha >= beta:
                        return alpha
            elif bound < high:
                high = bound
    if beta > high:
        beta = high
        if alpha >= beta:
            return beta
    if left >= LOOKED_UP:
        rest = reach
        while rest:
            move = rest & -rest
            rest ^= move
            after = other + (all_ | move)
            entry = table[_place(after, shift, table)]
            if entry >> 8 == after and entry != 0 and not entry & 128:
                bound = -(int(entry & 127) + LEAST)
                if bound >= beta:
                    return bound
    count = 0
    moves, worth = stack[left, 0], stack[left, 1]
    for number in range(order.size):
        move = reach & order[number]
        if move == 0:
            continue
        value = popcount(completing(own | move, all_ | move, side, whole))
        slot = count
        while slot > 0 and worth[slot - 1] < value:
            moves[slot] = moves[slot - 1]
            worth[slot] = worth[slot - 1]
            slot -= 1
        moves[slot] = move
        worth[slot] = value
        count += 1
    for number in range(count):
        move = moves[number]
        value = -_search(
            other,
            all_ | move,
            left - 1,
            -beta,
            -alpha,
            side,
            bottom,
            whole,
            shift,
            table,
            order,
            stack,
        )
        if value >= beta:
            if kept:
                table[place] = key << 8 | 128 | (value - LEAST)
            return value
        if value > alpha:
            alpha = value
    if kept:
        table[place] = key << 8 | (alpha - LEAST)
    return alpha


@njit(cache=True, nogil=True)
def score(
    own: int,
    all_: int,
    left: int,
    low: int,
    high: int,
    side: int,
    bottom: int,
    whole: int,
    shift: int,
    table: Array,
    order: Array,
) -> int:
    """Return the score of an unfinished position, exact within ``low`` and ``high``.

    Null windows narrow it down from both sides, starting near 0, where they are cheapest.
    """
    if left == 0:
        return 0
    if completing(own, all_, side, whole) & (all_ + bottom):
        return (left + 1) // 2
    low = max(low, -(left // 2))
    high = min(high, (left - 1) // 2)
    stack = np.empty((left + 1, 2, order.size), np.int64)
    while low < high:
        middle = low + (high - low) // 2
        if middle <= 0 and low // 2 < middle:
            middle = low // 2
        elif middle >= 0 and high // 2 > middle:
            middle = high // 2
        found = _search(
            own,
            all_,
            left,
            middle,
            middle + 1,
            side,
            bottom,
            whole,
            shift,
            table,
            order,
            stack,
        )
        if found <= middle:
            high = found
        else:
            low = found
    return low
