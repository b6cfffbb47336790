"""n-tuple networks for Connect Four, compiled: values of moves, and learning from a position.

A square is seen by the side that has just moved: free but not playable (0), free and next in its
column (1), its own disc (2) or the opponent's (3).  Squares are numbered row by row from the
bottom.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.learning import splitmix
from dovetail_games.connect_four.kernels import wins

Array = NDArray[Any]
STATES = 4
"""Number of states of a square."""
COHERENCE = 2.7
"""Steepness of the fall of a weight's rate once its errors differ in sign (Bagheri et al. 2016)."""


@njit(cache=True, nogil=True)
def see(board: Array, squares: Array, heights: Array) -> int:
    """Write the squares and column heights of a board for the side of its first plane; return the
    number of discs."""
    _, rows, columns = board.shape
    discs = 0
    for column in range(columns):
        height = 0
        for row in range(rows):
            state = 2 * board[0, row, column] + 3 * board[1, row, column]
            squares[row * columns + column] = state
            height += state > 0
        heights[column] = height
        discs += height
        if height < rows:
            squares[height * columns + column] = 1
    return discs


@njit(cache=True, nogil=True)
def read(squares: Array, places: Array, found: Array) -> None:
    """Write the table entry that each look reads.

    Args:
        squares: int64.
        places: int64, shape (looks, length): the squares of each look.
        found: int64, shape (looks,), written.
    """
    for look in range(places.shape[0]):
        entry = 0
        for at in range(places.shape[1]):
            entry = entry * STATES + squares[places[look, at]]
        found[look] = entry


@njit(cache=True, nogil=True)
def value(found: Array, tables: Array, weights: Array) -> float:
    """Return the value of a position for the side that moved, given its entries.

    Args:
        found: int64, shape (looks,), the entries.
        tables: int64, shape (looks,), the table of each look.
        weights: float32, shape (tables, entries), of the side that moved.
    """
    total = 0.0
    for look in range(found.shape[0]):
        total += weights[tables[look], found[look]]
    return float(np.tanh(total))


@njit(cache=True, nogil=True)
def _learn(
    found: Array, tables: Array, weights: Array, errors: Array, sizes: Array, step: float
) -> None:
    """Add a step to the given entries, each at its own rate."""
    for look in range(found.shape[0]):
        table, entry = tables[look], found[look]
        size = sizes[table, entry]
        agreed = abs(errors[table, entry]) / size if size > 0 else 1.0
        weights[table, entry] += np.float32(step * np.exp(COHERENCE * (agreed - 1.0)))
        errors[table, entry] += np.float32(step)
        sizes[table, entry] += np.float32(abs(step))


@njit(cache=True, nogil=True)
def decide(
    boards: Array,
    legal: Array,
    connect: int,
    rate: float,
    places: Array,
    digits: Array,
    tables: Array,
    weights: Array,
    errors: Array,
    sizes: Array,
    values: Array,
    games: Array,
    decay: float,
    entries: Array,
    slopes: Array,
    lengths: Array,
    last: Array,
) -> None:
    """Compute the values of moves on some boards, one board after the other, and learn from each.

    A winning move has value 1 and one that fills the board 0; the network evaluates the others.
    The value of the opponent's last move moves towards minus the best of these values. The values
    of earlier moves follow, with a share that shrinks and changes sign at each ply.

    Args:
        boards: uint8, shape (boards, 2, rows, columns), the discs of the side to move first.
        legal: bool, shape (boards, columns).
        connect: the number of discs in a row that win.
        rate: the learning rate; 0 for no learning.
        places, tables: see ``read`` and ``value``.
        digits: int64, shape (squares + 1, looks), the weight of a square's state in a look's entry;
            zeros for a square above the board.
        weights, errors, sizes: float32, shape (2, tables, entries), by the side that moved:
            weights, and the sums of their errors and of the errors' absolute values.
        values: float64, shape (boards, columns), written; -inf for illegal moves.
        games: int64, shape (boards,), each board's row in the following arrays.
        decay: lambda, the share of an error that reaches the previous move.
        entries: int32, shape (games, steps, looks), the entries of a game's latest moves, as a
            ring.
        slopes: float64, shape (games, steps), the slope of the tanh at these moves.
        lengths: int64, shape (games,), the number of moves in a trace.
        last: int64, shape (games,), the number of discs at the latest update.
    """
    count, _, rows, columns = boards.shape
    squares = np.empty(rows * columns, np.int64)
    heights = np.empty(columns, np.int64)
    own = np.empty((rows, columns), np.uint8)
    before = np.empty(places.shape[0], np.int64)
    common = np.empty(places.shape[0], np.float32)
    found = np.empty(places.shape[0], np.int64)
    for k in range(count):
        discs = see(boards[k], squares, heights)
        read(squares, places, before)
        own[:] = boards[k, 0]
        mover = discs & 1
        for look in range(before.shape[0]):
            common[look] = weights[mover, tables[look], before[look]]
        best = -np.inf
        for column in range(columns):
            values[k, column] = -np.inf
            row = heights[column]
            if not legal[k, column] or row >= rows:
                continue
            own[row, column] = 1
            if wins(own, row, column, connect):
                worth = 1.0
            elif discs + 1 == rows * columns:
                worth = 0.0
            else:  # the square changes from 1 to 2 and the one above it from 0 to 1
                at = row * columns + column
                above = min(at + columns, rows * columns)
                total = 0.0
                for look in range(before.shape[0]):
                    gained = digits[at, look] + digits[above, look]
                    if gained:
                        total += weights[mover, tables[look], before[look] + gained]
                    else:
                        total += common[look]
                worth = np.tanh(total)
            own[row, column] = 0
            values[k, column] = worth
            best = max(best, worth)
        if rate == 0 or best == -np.inf:
            continue
        game = games[k]
        if discs != last[game] + 1:
            lengths[game] = 0  # a ply was skipped, or this is a new game
        last[game] = discs
        if discs == 0:
            continue
        for square in range(squares.shape[0]):
            if squares[square] >= 2:
                squares[square] = 5 - squares[square]
        other = 1 - mover
        read(squares, places, found)
        was = value(found, tables, weights[other])
        steps = entries.shape[1]
        newest = lengths[game] % steps
        entries[game, newest] = found
        slopes[game, newest] = 1.0 - was * was
        lengths[game] += 1
        error = rate * (-best - was)
        for back in range(min(lengths[game], steps)):
            at = (lengths[game] - 1 - back) % steps
            _learn(
                entries[game, at],
                tables,
                weights[other],
                errors[other],
                sizes[other],
                error * slopes[game, at],
            )
            error *= -decay
            other = 1 - other


@njit(cache=True, nogil=True)
def play(
    chance: Array,
    games: int,
    epsilon: float,
    connect: int,
    rate: float,
    places: Array,
    digits: Array,
    tables: Array,
    weights: Array,
    errors: Array,
    sizes: Array,
    decay: float,
    entries: Array,
    slopes: Array,
    lengths: Array,
    last: Array,
    shape: tuple[int, int],
) -> int:
    """Play games of a network against itself, and learn from them; return the number of decisions.

    Args:
        chance: uint64, shape (1,), of ``splitmix``; changed.
        games: the number of games.
        epsilon: the share of random moves.
        entries, slopes, lengths, last: as in ``decide``, for one game.
        shape: rows and columns.

    The rest is as in ``decide``.
    """
    rows, columns = shape
    board = np.zeros((1, 2, rows, columns), np.uint8)
    legal = np.ones((1, columns), np.bool_)
    values = np.empty((1, columns))
    only = np.zeros(1, np.int64)
    count = 0
    for _ in range(games):
        board[:] = 0
        legal[:] = True
        last[0] = -2
        for _ in range(rows * columns):
            looks = places, digits, tables
            decide(
                board,
                legal,
                connect,
                rate,
                *looks,
                weights,
                errors,
                sizes,
                values,
                only,
                decay,
                entries,
                slopes,
                lengths,
                last,
            )
            count += 1
            best, equal = -np.inf, 0
            for column in range(columns):
                if values[0, column] > best:
                    best, equal = values[0, column], 0
                equal += values[0, column] == best
            explores = splitmix.fraction(chance) < epsilon
            left = splitmix.draw(chance, legal[0].sum() if explores else equal)
            chosen = -1
            while left >= 0:
                chosen += 1
                if legal[0, chosen] if explores else values[0, chosen] == best:
                    left -= 1
            worth = values[0, chosen]
            if worth < best:
                lengths[0] = 0
            row = 0
            while board[0, 0, row, chosen] or board[0, 1, row, chosen]:
                row += 1
            board[0, 0, row, chosen] = 1
            legal[0, chosen] = row + 1 < rows
            if wins(board[0, 0], row, chosen, connect):
                break
            for row in range(rows):
                for column in range(columns):
                    own = board[0, 0, row, column]
                    board[0, 0, row, column] = board[0, 1, row, column]
                    board[0, 1, row, column] = own
    return count
