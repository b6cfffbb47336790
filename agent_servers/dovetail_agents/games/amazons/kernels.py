"""Positions of Amazons and their evaluation, compiled; ``alpha_beta`` searches them.

A board is an int8 array with a border of one square: 0 free, 1 and 2 amazons of players 0 and 1, 3
an arrow, 4 the border. A move is ``source << 20 | target << 10 | arrow`` in squares of that array.
Player 0 is the searching player; all values are that player's.

Most positions in a search differ from another one only in one amazon and one arrow. So the other
amazons are surveyed once, and the effect of the amazon and the arrow on them is found by looking
out from their squares.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_games.amazons.kernels import ALL, ahead, behind

Array = NDArray[Any]
Free = tuple[int, int, int, int, int, int, int, int]
"""Number of free squares in each direction."""

OWN: Any = np.int64(0)
OTHER: Any = np.int64(1)
"""Players.  Numba compiles a function again for each plain integer that it is called with."""
FREE, ARROW = 0, 3
FEATURES = 12
DIVISOR, WON, FULL = FEATURES, FEATURES + 1, FEATURES + 2
KILLERS = 8
"""Moves that refuted a sibling, to be tried first."""
LINE = 16
"""Maximum length of the line of best play."""
DIRECTIONS, CORNER, QUADRANT, NEIGHBOURS, ROW, COLUMN, FALLING = range(7)
"""Rows of ``Work.geometry``."""
HALF = 32
"""Bits per player of a mobility."""
FIELD = 10
"""Bits per count of amazons in states."""


class Work(NamedTuple):
    """A position and the scratch arrays of its search.

    A mobility packs two numbers, of player 0 in the low bits and of player 1 above. States pack
    six: the numbers of amazons with one free direction, unhindered and trapped, for either player.
    ``survey`` fills ``units`` and ``changes`` on squares with amazons: the packed unit of mobility
    of the amazon's player, and the changes to the states when a neighbour is taken, and then
    another one.
    """

    board: Array
    """int8 [squares]."""
    where: Array
    """int32 [2, amazons]: the squares of each player's amazons; -1 for an amazon off the board."""
    lines: Array
    """int64 [4, rows + columns]: the board as lines, as from the environment's ``blocked``."""
    geometry: Array
    """int32 [7, squares]: the eight directions; then for each square: 1 for a corner, its quadrant
    or -1, its number of neighbours, its row and column, and its falling diagonal."""
    rule: Array
    """float64: the twelve weights, the divisor of mobility, the value of a won game, and 1 if
    mobility includes arrows."""
    killers: Array
    """int64 [plies, KILLERS]."""
    moves: Array
    """int64 [plies, moves]."""
    values: Array
    """float64 [moves]: values of the moves at ply 0."""
    found: Array
    """float64 [FEATURES]: features of the latest position evaluated."""
    units: Array
    """int64 [squares]."""
    changes: Array
    """int64 [2, squares]."""
    best: Array
    """int64 [plies, 1 + LINE]: the line of best play from each ply, preceded by its length."""
    nodes: Array
    """int64 [1]: number of positions evaluated."""


# -- the board and its lines -----------------------------------------------------------------------


@njit(cache=True)
def switch(lines: Array, geometry: Array, square: int) -> None:
    """Toggle a square of the lines between free and occupied."""
    row, column = geometry[ROW, square], geometry[COLUMN, square]
    upright = 2 << row
    lines[0, row] ^= 2 << column
    lines[1, column] ^= upright
    lines[2, geometry[FALLING, square]] ^= upright
    lines[3, row + column] ^= upright


@njit(cache=True)
def prepare(work: Work) -> None:
    """Compute the lines from the board."""
    lines, geometry = work.lines, work.geometry
    lines[:] = ALL
    for square in range(work.board.shape[0]):
        if work.board[square] == FREE:
            switch(lines, geometry, square)


@njit(cache=True)
def move_amazon(board: Array, where: Array, mover: int, move: int) -> int:
    """Make a move on the board only; return the index of the amazon."""
    source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
    number = 0
    while where[mover, number] != source:
        number += 1
    where[mover, number] = target
    board[source] = FREE
    board[target] = mover + 1
    board[arrow] = ARROW
    return number


@njit(cache=True)
def make(board: Array, where: Array, lines: Array, geometry: Array, mover: int, move: int) -> int:
    """Make a move; return the index of the amazon."""
    switch(lines, geometry, move >> 20)
    switch(lines, geometry, move >> 10 & 1023)
    switch(lines, geometry, move & 1023)
    return int(move_amazon(board, where, mover, move))


@njit(cache=True)
def unmake(
    board: Array, where: Array, lines: Array, geometry: Array, mover: int, move: int, number: int
) -> None:
    """Take a move back."""
    source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
    board[arrow] = FREE
    board[target] = FREE
    board[source] = mover + 1
    where[mover, number] = source
    switch(lines, geometry, source)
    switch(lines, geometry, target)
    switch(lines, geometry, arrow)


@njit(cache=True)
def _clear(lines: Array, geometry: Array, source: int, target: int) -> bool:
    """Return whether a queen's line from one square to another is free, including its end."""
    row, column = geometry[ROW, source], geometry[COLUMN, source]
    down, right = geometry[ROW, target] - row, geometry[COLUMN, target] - column
    if down == 0:
        if right > 0:
            return bool(right <= ahead(lines[0, row], column))
        return bool(0 < -right <= behind(lines[0, row], column))
    if right == 0:
        line = lines[1, column]
    elif right == down:
        line = lines[2, geometry[FALLING, source]]
    elif right == -down:
        line = lines[3, row + column]
    else:
        return False
    return bool(down <= ahead(line, row) if down > 0 else -down <= behind(line, row))


@njit(cache=True)
def legal(board: Array, lines: Array, geometry: Array, mover: int, move: int) -> bool:
    """Return whether a move that was legal in another position is legal here."""
    source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
    if board[source] != mover + 1 or not _clear(lines, geometry, source, target):
        return False
    switch(lines, geometry, source)
    found = _clear(lines, geometry, target, arrow)
    switch(lines, geometry, source)
    return bool(found)


@njit(cache=True)
def generate(work: Work, mover: int, ply: int) -> int:
    """Write the mover's moves at a ply; return their number."""
    board, directions, out = work.board, work.geometry[DIRECTIONS], work.moves[ply]
    count = 0
    for number in range(work.where.shape[1]):
        source = work.where[mover, number]
        if source < 0:
            continue
        board[source] = FREE
        for first in range(8):
            target = source + directions[first]
            while board[target] == FREE:
                for second in range(8):
                    arrow = target + directions[second]
                    while board[arrow] == FREE:
                        out[count] = source << 20 | target << 10 | arrow
                        count += 1
                        arrow += directions[second]
                target += directions[first]
        board[source] = mover + 1
    return count


# -- evaluation ------------------------------------------------------------------------------------


@njit(inline="always")
def _look(lines: Array, geometry: Array, square: int) -> Free:
    """Return the number of free squares in each direction."""
    at = np.uintp(square)  # unsigned, so that no access checks for negative indices
    row, column = geometry[ROW, at], geometry[COLUMN, at]
    along, down = lines[0, np.uintp(row)], lines[1, np.uintp(column)]
    falling, rising = lines[2, np.uintp(geometry[FALLING, at])], lines[3, np.uintp(row + column)]
    return (
        *(behind(falling, row), behind(down, row), behind(rising, row), behind(along, column)),
        *(ahead(along, column), ahead(rising, row), ahead(down, row), ahead(falling, row)),
    )


@njit(inline="always")
def _count(free: Free) -> tuple[int, int]:
    """Return the number of free squares in all directions, and of directions with any."""
    reach = ways = 0
    for each in free:
        reach += each
        ways += int(each > 0)
    return reach, ways


@njit(cache=True)
def whole_reach(board: Array, where: Array, geometry: Array) -> int:
    """Return the mobility of both players in whole moves, queen move and arrow together."""
    directions = geometry[DIRECTIONS]
    count = 0
    for player in range(2):
        for number in range(where.shape[1]):
            source = where[player, number]
            if source < 0:
                continue
            board[source] = FREE
            for first in range(8):
                target = source + directions[first]
                while board[target] == FREE:
                    for second in range(8):
                        arrow = target + directions[second]
                        while board[arrow] == FREE:
                            count += 1 << HALF * player
                            arrow += directions[second]
                    target += directions[first]
            board[source] = player + 1
    return count


@njit(cache=True)
def _state(player: int, ways: int, neighbours: int) -> int:
    """Return the states of an amazon with ``ways`` free neighbours."""
    lone, unhindered, trapped = int(ways == 1), int(ways == neighbours), int(ways == 0)
    return (lone | unhindered << 2 * FIELD | trapped << 4 * FIELD) << player * FIELD


@njit(inline="always")
def _post(geometry: Array, posts: int, square: int) -> int:
    """Add an amazon to a player's posts: one bit per occupied quadrant, with the count of corners
    above."""
    return int(posts + (geometry[CORNER, square] << 8) | 1 << (geometry[QUADRANT, square] + 1))


@njit(inline="always")
def _write_posts(found: Array, player: int, posts: int) -> None:
    """Write the features for the squares of a player's amazons."""
    found[2 + player] = (posts >> 8) / 4.0
    found[10 + player] = 1.0 if posts >> 1 & 15 == 15 else 0.0


@njit(cache=True)
def stations(where: Array, geometry: Array, player: int, found: Array) -> int:
    """Write the features for the squares of a player's amazons; return its posts."""
    posts = 0
    for number in range(where.shape[1]):
        square = where[player, number]
        if square >= 0:
            posts = _post(geometry, posts, square)
    _write_posts(found, player, posts)
    return posts


@njit(inline="always")
def stand(
    lines: Array, geometry: Array, units: Array, changes: Array, player: int, square: int
) -> tuple[int, int]:
    """Return the mobility and state of an amazon on a square; record data for ``shadow``."""
    reach, ways = _count(_look(lines, geometry, square))
    neighbours = geometry[NEIGHBOURS, square]
    state, less = _state(player, ways, neighbours), _state(player, ways - 1, neighbours)
    units[square] = 1 << HALF * player
    changes[0, square] = less - state
    changes[1, square] = _state(player, ways - 2, neighbours) - less
    return reach << HALF * player, state


@njit(cache=True)
def survey(
    where: Array, lines: Array, geometry: Array, units: Array, changes: Array
) -> tuple[int, int]:
    """Return the queen mobility and the states of a position; record data for ``shadow``."""
    units[:] = 0
    changes[:] = 0
    mobility = states = 0
    for player in range(2):
        for number in range(where.shape[1]):
            square = where[player, number]
            if square >= 0:
                reach, state = stand(lines, geometry, units, changes, player, square)
                mobility += reach
                states += state
    return mobility, states


@njit(inline="always")
def shadow(
    lines: Array, geometry: Array, units: Array, changes: Array, square: int
) -> tuple[int, int]:
    """Return the loss of mobility and the change of states if a free square is taken.

    An amazon that sees the square loses it and the free squares behind it.
    """
    width = geometry[DIRECTIONS, 6]
    a, b, c, d, e, f, g, h = _look(lines, geometry, square)
    loss = units[np.uintp(square - (width + 1) * (a + 1))] * (h + 1)
    loss += units[np.uintp(square - width * (b + 1))] * (g + 1)
    loss += units[np.uintp(square - (width - 1) * (c + 1))] * (f + 1)
    loss += units[np.uintp(square - (d + 1))] * (e + 1)
    loss += units[np.uintp(square + (e + 1))] * (d + 1)
    loss += units[np.uintp(square + (width - 1) * (f + 1))] * (c + 1)
    loss += units[np.uintp(square + width * (g + 1))] * (b + 1)
    loss += units[np.uintp(square + (width + 1) * (h + 1))] * (a + 1)
    change = changes[0, np.uintp(square - 1)] + changes[0, np.uintp(square + 1)]
    for each in range(-1, 2):
        change += changes[0, np.uintp(square - width + each)]
        change += changes[0, np.uintp(square + width + each)]
    return loss, change


@njit(inline="always")
def exchange(geometry: Array, changes: Array, square: int) -> None:
    """Swap the changes of amazons next to a square for those after one more taken square, or
    back."""
    for each in range(8):
        at = np.uintp(square + geometry[DIRECTIONS, each])
        changes[0, at], changes[1, at] = changes[1, at], changes[0, at]


@njit(inline="always")
def lift(work: Work, mover: int, number: int, square: int) -> None:
    """Take an amazon off the board."""
    work.board[square] = FREE
    work.where[mover, number] = -1
    switch(work.lines, work.geometry, square)


@njit(inline="always")
def put_back(work: Work, mover: int, number: int, square: int) -> None:
    """Put a lifted amazon back."""
    work.board[square] = mover + 1
    work.where[mover, number] = square
    switch(work.lines, work.geometry, square)


@njit(inline="always")
def place(work: Work, mover: int, number: int, target: int, posts: int) -> tuple[int, int]:
    """Place a lifted amazon on a free square; return the changes of mobility and states."""
    geometry, changes = work.geometry, work.changes
    loss, change = shadow(work.lines, geometry, work.units, changes, target)
    reach, state = stand(work.lines, geometry, work.units, changes, mover, target)
    work.board[target] = mover + 1
    work.where[mover, number] = target
    switch(work.lines, geometry, target)
    exchange(geometry, changes, target)
    _write_posts(work.found, mover, _post(geometry, posts, target))
    return reach - loss, state + change


@njit(inline="always")
def displace(work: Work, target: int) -> None:
    """Remove a placed amazon from its square."""
    changes = work.changes
    exchange(work.geometry, changes, target)
    changes[0, target] = changes[1, target] = work.units[target] = 0
    work.board[target] = FREE
    switch(work.lines, work.geometry, target)


@njit(cache=True)
def weigh(rule: Array, found: Array, mover: int, mobility: int, states: int) -> float:
    """Return the value of a position for player 0, from the game's result or from its features."""
    first, second = mobility & ((1 << HALF) - 1), mobility >> HALF
    found[0], found[1] = min(1.0, first / rule[DIVISOR]), min(1.0, second / rule[DIVISOR])
    for number in range(6):
        found[4 + number] = (states >> FIELD * number & ((1 << FIELD) - 1)) / 4.0
    if mover == 0 and first == 0:
        return float(-rule[WON])
    if mover == 1 and second == 0:
        return float(rule[WON])
    value = 0.0
    for number in range(FEATURES):
        value += rule[number] * found[number]
    return float(value)


@njit(cache=True)
def highest(work: Work, mover: int) -> float:
    """Return an upper bound, for the mover, of the values of all its moves.

    A move takes two squares, so an opponent with an amazon that has three free neighbours is not
    beaten by it. Short of a win, no feature exceeds one, or a quarter of the number of amazons if
    there are more than four. The terms are added in the order of ``weigh``, so rounding cannot lift
    a value above the bound.
    """
    where = work.where
    for number in range(where.shape[1]):
        square = where[1 - mover, number]
        if square >= 0 and _count(_look(work.lines, work.geometry, square))[1] > 2:
            most = max(1.0, where.shape[1] / 4.0)
            sign = 1 if mover == 0 else -1
            value = 0.0
            for feature in range(FEATURES):
                value += max(0.0, sign * work.rule[feature]) * most
            return float(value)
    return np.inf


@njit(cache=True)
def evaluate(work: Work, mover: int) -> float:
    """Return the value of a position for player 0, and write its features."""
    board, where, geometry = work.board, work.where, work.geometry
    mobility, states = survey(where, work.lines, geometry, work.units, work.changes)
    if work.rule[FULL] > 0:
        mobility = whole_reach(board, where, geometry)
    stations(where, geometry, OWN, work.found)
    stations(where, geometry, OTHER, work.found)
    return float(weigh(work.rule, work.found, mover, mobility, states))
