"""Search and evaluation of Amazons, compiled.

A board is an int8 array with a border of one square: 0 free, 1 and 2 amazons of player 0 and 1, 3
an arrow, 4 the border. A move is ``source << 20 | target << 10 | arrow`` in squares of that array.
Player 0 is who searches; all values are that player's.

``geometry`` is what does not change: int32, rows: the eight directions (one row of 8), then per
square 1 for a corner, and its quadrant or -1. ``rule`` are the numbers of an evaluation: the twelve
weights, what divides mobility, the value of a won game, and 1 if mobility counts arrows too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

FREE, ARROW = 0, 3
FEATURES = 12
DIVISOR, WON, FULL = FEATURES, FEATURES + 1, FEATURES + 2
KILLERS = 8
"""Moves that refuted a sibling, tried first."""
LINE = 16
"""The longest line of play that is kept."""


@njit(cache=True)
def measure(board: Array, where: Array, mover: int, geometry: Array, full: bool, out: Array) -> int:
    """Write the twelve features (mobility not yet divided); return 1 if the mover cannot move."""
    directions = geometry[0]
    amazons = where.shape[1]
    stuck = 0
    for player in range(2):
        mobility = lone = unhindered = trapped = corners = 0
        quadrants = 0
        for number in range(amazons):
            square = where[player, number]
            if square < 0:
                continue
            free = 0
            blocked = 0
            if full:
                board[square] = FREE
            for each in range(8):
                step = directions[each]
                at = square + step
                if board[at] != FREE:
                    blocked += board[at] != 4
                    continue
                free += 1
                while board[at] == FREE:
                    if full:
                        for shot in range(8):
                            to = at + directions[shot]
                            while board[to] == FREE:
                                mobility += 1
                                to += directions[shot]
                    else:
                        mobility += 1
                    at += step
            if full:
                board[square] = player + 1
            trapped += free == 0
            lone += free == 1
            unhindered += blocked == 0
            corners += geometry[1, square]
            if geometry[2, square] >= 0:
                quadrants |= 1 << geometry[2, square]
        out[player] = mobility
        out[2 + player] = corners / 4.0
        out[4 + player] = lone / 4.0
        out[6 + player] = unhindered / 4.0
        out[8 + player] = trapped / 4.0
        out[10 + player] = 1.0 if quadrants == 15 else 0.0
        if player == mover and mobility == 0:
            stuck = 1
    return stuck


@njit(cache=True)
def evaluate(
    board: Array, where: Array, mover: int, geometry: Array, rule: Array, found: Array
) -> float:
    """Return the value of a position to player 0: of a game that is over, or by its features."""
    if measure(board, where, mover, geometry, rule[FULL] > 0, found):
        return float(-rule[WON] if mover == 0 else rule[WON])
    value = 0.0
    for number in range(2):
        found[number] = min(1.0, found[number] / rule[DIVISOR])
    for number in range(FEATURES):
        value += rule[number] * found[number]
    return float(value)


@njit(cache=True)
def generate(board: Array, where: Array, mover: int, geometry: Array, out: Array) -> int:
    """Write the mover's moves; return how many there are."""
    directions = geometry[0]
    count = 0
    for number in range(where.shape[1]):
        source = where[mover, number]
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


@njit(cache=True)
def _clear(board: Array, source: int, target: int, width: int) -> bool:
    """Whether nothing stands between two squares, nor on the second, along a queen's line."""
    down = target // width - source // width
    right = target % width - source % width
    steps = max(abs(down), abs(right))
    if steps == 0 or (down != 0 and right != 0 and abs(down) != abs(right)):
        return False
    step = down // steps * width + right // steps
    at = source
    for _ in range(steps):
        at += step
        if board[at] != FREE:
            return False
    return True


@njit(cache=True)
def legal(board: Array, mover: int, move: int, width: int) -> bool:
    """Return whether a move that was legal elsewhere is legal here."""
    source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
    if board[source] != mover + 1 or not _clear(board, source, target, width):
        return False
    board[source] = FREE
    found = _clear(board, target, arrow, width)
    board[source] = mover + 1
    return found


@njit(cache=True)
def make(board: Array, where: Array, mover: int, move: int) -> int:
    """Make a move; return which amazon it was."""
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
def unmake(board: Array, where: Array, mover: int, move: int, number: int) -> None:
    """Take a move back."""
    source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
    board[arrow] = FREE
    board[target] = FREE
    board[source] = mover + 1
    where[mover, number] = source


@njit(cache=True)
def _next_move(
    board: Array,
    where: Array,
    mover: int,
    ply: int,
    geometry: Array,
    width: int,
    prune: bool,
    killers: Array,
    moves: Array,
    places: Array,
) -> int:
    """Return the next move to try at a ply, killers first; 0 if there is none left.

    ``places[ply]`` is how many were tried and, once generated, how many there are.
    """
    move = 0
    while prune and places[ply, 0] < KILLERS:
        move = killers[ply, places[ply, 0]]
        places[ply, 0] += 1
        if move != 0 and legal(board, mover, move, width):
            return int(move)
    if places[ply, 1] < 0:
        places[ply, 1] = generate(board, where, mover, geometry, moves[ply])
        places[ply, 0] = KILLERS
    while places[ply, 0] - KILLERS < places[ply, 1]:
        move = moves[ply, places[ply, 0] - KILLERS]
        places[ply, 0] += 1
        known = False
        if prune:
            for each in range(KILLERS):
                known = known or killers[ply, each] == move
        if not known:
            return int(move)
    return 0


@njit(cache=True)
def _remember(killers: Array, ply: int, move: int) -> None:
    """Put a move that refuted its parent first among the killers of its ply."""
    place = KILLERS - 1
    for each in range(KILLERS):
        if killers[ply, each] == move:
            place = each
            break
    for each in range(place, 0, -1):
        killers[ply, each] = killers[ply, each - 1]
    killers[ply, 0] = move


@njit(cache=True)
def value(
    board: Array,
    where: Array,
    mover: int,
    depth: int,
    alpha: float,
    beta: float,
    geometry: Array,
    rule: Array,
    width: int,
    prune: bool,
    killers: Array,
    moves: Array,
    found: Array,
    lines: Array,
    nodes: Array,
) -> float:
    """Return the minimax value to player 0, exact within (alpha, beta); fail-soft alpha-beta.

    ``lines[1]`` gets the line of best play: its length, then its moves. The search keeps its own
    stack: numba cannot keep compiled functions that call themselves.
    """
    low, high, best = np.empty(LINE), np.empty(LINE), np.empty(LINE)
    places = np.empty((LINE, 2), np.int64)
    made = np.empty((LINE, 2), np.int64)
    ply = 1
    low[1], high[1] = alpha, beta
    entering = True
    result = 0.0
    while True:
        player = mover if ply % 2 == 1 else 1 - mover
        maximise = player == 0
        leave = False
        if entering:
            lines[ply, 0] = 0
            if depth - ply + 1 == 0:
                nodes[0] += 1
                result = evaluate(board, where, player, geometry, rule, found)
                leave = True
            else:
                best[ply] = -np.inf if maximise else np.inf
                places[ply, 0], places[ply, 1] = 0, -1
        else:  # a child has its value
            move = made[ply, 0]
            unmake(board, where, player, move, made[ply, 1])
            if (result > best[ply]) if maximise else (result < best[ply]):
                best[ply] = result
                length = lines[ply + 1, 0]
                lines[ply, 0] = length + 1
                lines[ply, 1] = move
                for each in range(length):
                    lines[ply, 2 + each] = lines[ply + 1, 1 + each]
                if prune:
                    if maximise:
                        low[ply] = max(low[ply], result)
                    else:
                        high[ply] = min(high[ply], result)
                    if low[ply] >= high[ply]:
                        _remember(killers, ply, move)
                        leave = True
                        result = best[ply]
        if not leave:
            move = _next_move(
                board, where, player, ply, geometry, width, prune, killers, moves, places
            )
            if move != 0:
                made[ply, 0] = move
                made[ply, 1] = make(board, where, player, move)
                low[ply + 1], high[ply + 1] = low[ply], high[ply]
                ply += 1
                entering = True
                continue
            result = best[ply]
            if np.isinf(result):  # there was no move at all
                nodes[0] += 1
                result = -rule[WON] if maximise else rule[WON]
        if ply == 1:
            return result
        ply -= 1
        entering = False


@njit(cache=True)
def root(
    board: Array,
    where: Array,
    depth: int,
    top: int,
    geometry: Array,
    rule: Array,
    width: int,
    prune: bool,
    killers: Array,
    moves: Array,
    found: Array,
    lines: Array,
    nodes: Array,
    values: Array,
) -> int:
    """Value each move of player 0 into ``values``, beside ``moves[0]``; return how many there are.

    The ``top`` best values are exact, as is every value equal to one of them; the others are
    upper bounds below them.
    """
    count = generate(board, where, 0, geometry, moves[0])
    best = np.empty(top, np.float64)
    # First passes at lower depths put the moves into an order in which few have to be looked at.
    first = 1 if prune else depth
    for pass_depth in range(first, depth + 1):
        best[:] = -np.inf
        for number in range(count):
            move = moves[0, number]
            floor = best[top - 1] - 1e-9 if prune else -np.inf
            which = make(board, where, 0, move)
            found_value = value(
                board,
                where,
                1,
                pass_depth - 1,
                floor,
                np.inf,
                geometry,
                rule,
                width,
                prune,
                killers,
                moves,
                found,
                lines,
                nodes,
            )
            unmake(board, where, 0, move, which)
            values[number] = found_value
            if found_value > best[top - 1]:
                place = top - 1
                while place > 0 and best[place - 1] < found_value:
                    best[place] = best[place - 1]
                    place -= 1
                best[place] = found_value
        if pass_depth < depth:
            order = np.argsort(-values[:count])
            moves[0, :count] = moves[0, :count][order]
    return count


@njit(cache=True)
def swap(board: Array, where: Array) -> None:
    """Let the players change places: who was 0 is 1."""
    for square in range(board.shape[0]):
        if board[square] == 1 or board[square] == 2:
            board[square] = 3 - board[square]
    for number in range(where.shape[1]):
        where[0, number], where[1, number] = where[1, number], where[0, number]


@njit(cache=True)
def rollout(
    board: Array,
    where: Array,
    depth: int,
    seed: int,
    geometry: Array,
    rule: Array,
    width: int,
    killers: Array,
    moves: Array,
    found: Array,
    lines: Array,
    nodes: Array,
    values: Array,
) -> bool:
    """Play on with player 1 to move, each by its own search of ``depth``; return whether 0 wins.

    Equal moves are drawn at random from ``seed``.  The board is changed.
    """
    np.random.seed(seed)
    player = 0
    while True:
        swap(board, where)
        player = 1 - player
        killers[:] = 0
        count = root(
            board,
            where,
            depth,
            1,
            geometry,
            rule,
            width,
            True,
            killers,
            moves,
            found,
            lines,
            nodes,
            values,
        )
        if count == 0:
            return player == 1
        best = values[:count].max()
        ties = 0
        for number in range(count):
            ties += values[number] == best
        choice = np.random.randint(0, ties)
        for number in range(count):
            if values[number] == best:
                if choice == 0:
                    make(board, where, 0, moves[0, number])
                    break
                choice -= 1
