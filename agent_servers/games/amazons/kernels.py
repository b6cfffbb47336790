"""Positions of Amazons and their values, compiled; ``alpha_beta`` searches them.

A board is an int8 array with a border of one square: 0 free, 1 and 2 amazons of player 0 and 1, 3
an arrow, 4 the border. A move is ``source << 20 | target << 10 | arrow`` in squares of that array.
Player 0 is who searches; all values are that player's.

Of the positions that a search values, most differ from another by one arrow. So a position is
surveyed once, what each arrow would change is noted, and those after it are valued from the notes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit
from numpy.typing import NDArray

from dovetail.env_servers.amazons.kernels import ALL, ahead, behind

Array = NDArray[Any]

FREE, ARROW = 0, 3
FEATURES = 12
DIVISOR, WON, FULL = FEATURES, FEATURES + 1, FEATURES + 2
KILLERS = 8
"""Moves that refuted a sibling, tried first."""
LINE = 16
"""The longest line of play that is kept."""
DIRECTIONS, CORNER, QUADRANT, NEIGHBOURS, ROW, COLUMN, FALLING = range(7)
"""The rows of ``Work.geometry``."""
HALF = 32
"""The bits of a player's mobility in ``Work.mobility``."""
FIELD = 10
"""The bits of each number of amazons in ``Work.states``."""


class Work(NamedTuple):
    """A position and what its search writes.

    ``mobility`` holds two numbers in one, of player 0 and, above it, of player 1; ``states`` six: how
    many amazons have one direction, are unhindered and are trapped, of either player. At a square they
    are what an arrow there takes from the mobility and adds to the states; at square 0, which is of
    the border, those of the position itself.
    """

    board: Array
    """int8 [squares]."""
    where: Array
    """int32 [2, amazons]: the squares of each player's amazons; -1 where there is none."""
    lines: Array
    """int64 [4, rows + columns]: the board once more, as the environment's ``blocked`` returns it."""
    geometry: Array
    """int32 [7, squares]: the eight directions; then of each square: 1 for a corner, its quadrant or
    -1, how many neighbours it has, its row and column, and which falling diagonal it is on."""
    rule: Array
    """float64: the twelve weights, what divides mobility, the value of a won game, and 1 if mobility
    counts arrows too."""
    killers: Array
    """int64 [plies, KILLERS]."""
    moves: Array
    """int64 [plies, moves]."""
    values: Array
    """float64 [moves]: of the moves at ply 0."""
    found: Array
    """float64 [FEATURES]: the features of the position that was valued last."""
    free: Array
    """int64 [8]: how many squares are free in each direction."""
    mobility: Array
    """int64 [squares]."""
    states: Array
    """int64 [squares]."""
    best: Array
    """int64 [plies, 1 + LINE]: from each ply on the line of best play, its length first."""
    nodes: Array
    """int64 [1]: how many positions were valued."""


# -- the board and its lines ----------------------------------------------------------------------------


@njit(cache=True)
def switch(lines: Array, geometry: Array, square: int) -> None:
    """Make a free square of the lines one that is not, or the other way round."""
    row, column = geometry[ROW, square], geometry[COLUMN, square]
    upright = 2 << row
    lines[0, row] ^= 2 << column
    lines[1, column] ^= upright
    lines[2, geometry[FALLING, square]] ^= upright
    lines[3, row + column] ^= upright


@njit(cache=True)
def prepare(work: Work) -> None:
    """Derive the lines from the board."""
    lines, geometry = work.lines, work.geometry
    lines[:] = ALL
    for square in range(work.board.shape[0]):
        if work.board[square] == FREE:
            switch(lines, geometry, square)


@njit(cache=True)
def move_amazon(board: Array, where: Array, mover: int, move: int) -> int:
    """Make a move on the board alone; return which amazon it was."""
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
    """Make a move; return which amazon it was."""
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
    """Whether nothing stands between two squares, nor on the second, along a queen's line."""
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
    """Return whether a move that was legal elsewhere is legal here."""
    source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
    if board[source] != mover + 1 or not _clear(lines, geometry, source, target):
        return False
    switch(lines, geometry, source)
    found = _clear(lines, geometry, target, arrow)
    switch(lines, geometry, source)
    return bool(found)


@njit(cache=True)
def generate(work: Work, mover: int, ply: int) -> int:
    """Write the mover's moves at a ply; return how many there are."""
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


# -- evaluation -----------------------------------------------------------------------------------------


@njit(cache=True)
def _look(lines: Array, geometry: Array, square: int, free: Array) -> None:
    """Write how many squares are free in each direction."""
    row, column = geometry[ROW, square], geometry[COLUMN, square]
    along, down = lines[0, row], lines[1, column]
    falling, rising = lines[2, geometry[FALLING, square]], lines[3, row + column]
    free[0], free[7] = behind(falling, row), ahead(falling, row)
    free[1], free[6] = behind(down, row), ahead(down, row)
    free[2], free[5] = behind(rising, row), ahead(rising, row)
    free[3], free[4] = behind(along, column), ahead(along, column)


@njit(cache=True)
def whole_reach(board: Array, where: Array, geometry: Array) -> int:
    """Return the mobility of both players where whole moves count, queen and arrow together."""
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
    """Return what an amazon with so many free neighbours adds to the states."""
    lone, unhindered, trapped = int(ways == 1), int(ways == neighbours), int(ways == 0)
    return (lone | unhindered << 2 * FIELD | trapped << 4 * FIELD) << player * FIELD


@njit(cache=True)
def survey(
    board: Array,
    where: Array,
    lines: Array,
    geometry: Array,
    full: bool,
    arrows: bool,
    free: Array,
    found: Array,
    mobility: Array,
    states: Array,
) -> None:
    """Write the mobility and states of a position and, if ``arrows``, what each arrow would change.

    Also writes the features that no arrow changes.
    """
    if arrows:
        mobility[:] = 0
        states[:] = 0
    all_mobility = all_states = 0
    for player in range(2):
        corners = quadrants = 0
        for number in range(where.shape[1]):
            square = where[player, number]
            if square < 0:
                continue
            _look(lines, geometry, square, free)
            reach = ways = 0
            for each in range(8):
                reach += free[each]
                ways += free[each] > 0
            neighbours = geometry[NEIGHBOURS, square]
            state = _state(player, ways, neighbours)
            all_mobility += reach << HALF * player
            all_states += state
            corners += geometry[CORNER, square]
            if geometry[QUADRANT, square] >= 0:
                quadrants |= 1 << geometry[QUADRANT, square]
            if arrows:
                change = _state(player, ways - 1, neighbours) - state
                for each in range(8):
                    at = square
                    for rest in range(free[each], 0, -1):
                        at += geometry[DIRECTIONS, each]
                        mobility[at] += rest << HALF * player
                        if rest == free[each]:
                            states[at] += change
        found[2 + player] = corners / 4.0
        found[10 + player] = 1.0 if quadrants == 15 else 0.0
    mobility[0] = whole_reach(board, where, geometry) if full else all_mobility
    states[0] = all_states


@njit(cache=True)
def weigh(rule: Array, found: Array, mover: int, mobility: int, states: int) -> float:
    """Return the value of a position to player 0: of a game that is over, or by its features."""
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
def evaluate(work: Work, mover: int) -> float:
    """Return the value of a position to player 0, and write its features."""
    full, mobility, states = work.rule[FULL] > 0, work.mobility, work.states
    found, free = work.found, work.free
    survey(
        *(work.board, work.where, work.lines, work.geometry, full, False),
        *(free, found, mobility, states),
    )
    return float(weigh(work.rule, found, mover, mobility[0], states[0]))
