"""n-tuple networks for Connect Four, compiled: values of moves, and learning from a position.

A square is seen by the side that has just moved: free but not playable (0), free and next in its
column (1), its own disc (2) or the opponent's (3).  Squares are numbered row by row from the
bottom.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    number of discs, or -1 if two share a square or one has none below it."""
    _, rows, columns = board.shape
    discs = 0
    for column in range(columns):
        height = 0
        for row in range(rows):
            state = 2 * board[0, row, column] + 3 * board[1, row, column]
            squares[row * columns + column] = state
            if state not in (0, 2, 3) or (state and height < row):
                return -1
            height += state > 0
        heights[column] = height
        discs += height
        if height < rows:
            squares[height * columns + column] = 1
    return discs


class LookTables(NamedTuple):
    """The tables of a network, and where each look reads them."""

    digits: Array
    """int32, shape (squares + 1, looks), the weight of a square's state in a look's entry; zeros
    for a square above the board."""
    tables: Array
    """uint32, shape (looks,), the first entry of each look's table."""
    weights: Array
    """float32, shape (2, entries of all tables), by the side that moved."""
    errors: Array
    """Like ``weights``, the sums of their errors."""
    sizes: Array
    """Like ``weights``, the sums of the absolute values of their errors."""
    swap: int
    """The bits of an entry that differ between states 2 and 3 of its squares."""


class LatestMoves(NamedTuple):
    """The latest moves of some games."""

    decay: float
    """Lambda, the share of an error that reaches the previous move."""
    entries: Array
    """uint32, shape (games, steps, looks), the entries of a game's latest moves, as a ring."""
    slopes: Array
    """float64, shape (games, steps), the slope of the tanh at these moves."""
    lengths: Array
    """int64, shape (games,), the number of moves in a trace."""
    last: Array
    """int64, shape (games,), the number of discs at the latest update."""


@njit(cache=True, nogil=True)
def _learn(found: Array, side: int, network: LookTables, step: float) -> None:
    """Add a step to the given entries of a side, each at its own rate."""
    weights, errors, sizes = network.weights[side], network.errors[side], network.sizes[side]
    for look in range(found.shape[0]):
        entry = found[look]
        size = sizes[entry]
        agreed = abs(errors[entry]) / size if size > 0 else 1.0
        weights[entry] += np.float32(step * np.exp(COHERENCE * (agreed - 1.0)))
        errors[entry] += np.float32(step)
        sizes[entry] += np.float32(abs(step))


@njit(cache=True, nogil=True)
def decide(
    boards: Array,
    legal: Array,
    connect: int,
    rate: float,
    network: LookTables,
    values: Array,
    games: Array,
    history: LatestMoves,
) -> bool:
    """Compute the values of moves on some boards, one board after the other, and learn from each;
    return False at a board that no game has.

    A winning move has value 1 and one that fills the board 0; the network evaluates the others.
    The value of the opponent's last move moves towards minus the best of these values. The values
    of earlier moves follow, with a share that shrinks and changes sign at each ply.

    Args:
        boards: uint8, shape (boards, 2, rows, columns), the discs of the side to move first.
        legal: bool, shape (boards, columns).
        connect: the number of discs in a row that win.
        rate: the learning rate; 0 for no learning.
        network: changed if ``rate`` is not 0.
        values: float64, shape (boards, columns), written; -inf for illegal moves.
        games: int64, shape (boards,), each board's row in ``history``.
        history: changed if ``rate`` is not 0.
    """
    count, _, rows, columns = boards.shape
    digits, tables, weights = network.digits, network.tables, network.weights
    entries, slopes, lengths, last = history.entries, history.slopes, history.lengths, history.last
    looks = tables.shape[0]
    squares = np.empty(rows * columns, np.int32)
    heights = np.empty(columns, np.int64)
    own = np.empty((rows, columns), np.uint8)
    before = np.empty(looks, np.uint32)
    found = np.empty(looks, np.uint32)
    reached = np.empty((columns, looks), np.uint32)
    tried = np.empty(columns, np.int64)
    totals = np.empty(columns)
    for k in range(count):
        discs = see(boards[k], squares, heights)
        if discs < 0:
            return False
        for look in range(looks):
            before[look] = tables[look]
        for square in range(squares.shape[0]):
            state = squares[square]
            if state:
                for look in range(looks):
                    before[look] += np.uint32(state * digits[square, look])
        own[:] = boards[k, 0]
        mover = discs & 1
        best = -np.inf
        valued = 0
        for column in range(columns):
            values[k, column] = -np.inf
            row = heights[column]
            if not legal[k, column] or row >= rows:
                continue
            own[row, column] = 1
            if wins(own, row, column, connect):
                values[k, column] = 1.0
            elif discs + 1 == rows * columns:
                values[k, column] = 0.0
            else:  # the square changes from 1 to 2 and the one above it from 0 to 1
                at = row * columns + column
                above = min(at + columns, rows * columns)
                for look in range(looks):
                    gained = digits[at, look] + digits[above, look]
                    reached[valued, look] = before[look] + np.uint32(gained)
                tried[valued] = column
                totals[valued] = 0.0
                valued += 1
            own[row, column] = 0
            best = max(best, values[k, column])
        side = weights[mover]
        for look in range(looks):
            for at in range(valued):
                totals[at] += side[reached[at, look]]
        for at in range(valued):
            worth = np.tanh(totals[at])
            values[k, tried[at]] = worth
            best = max(best, worth)
        if rate == 0 or best == -np.inf:
            continue
        game = games[k]
        if discs != last[game] + 1:
            lengths[game] = 0  # a ply was skipped, or this is a new game
        last[game] = discs
        if discs == 0:
            continue
        other = 1 - mover
        side = weights[other]
        total = 0.0
        for look in range(looks):
            entry = before[look]
            entry ^= (entry >> np.uint32(1)) & np.uint32(network.swap)
            found[look] = entry
            total += side[entry]
        was = float(np.tanh(total))
        steps = entries.shape[1]
        newest = lengths[game] % steps
        entries[game, newest] = found
        slopes[game, newest] = 1.0 - was * was
        lengths[game] += 1
        error = rate * (-best - was)
        for back in range(min(lengths[game], steps)):
            at = (lengths[game] - 1 - back) % steps
            _learn(entries[game, at], other, network, error * slopes[game, at])
            error *= -history.decay
            other = 1 - other
    return True


@njit(cache=True, nogil=True)
def play(
    chance: Array,
    games: int,
    epsilon: float,
    connect: int,
    rate: float,
    network: LookTables,
    history: LatestMoves,
    shape: tuple[int, int],
) -> int:
    """Play games of a network against itself, and learn from them; return the number of decisions.

    Args:
        chance: uint64, shape (1,), of ``splitmix``; changed.
        games: the number of games.
        epsilon: the share of random moves.
        connect, rate, network: as in ``decide``.
        history: the history of one game.
        shape: rows and columns.
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
        history.last[0] = -2
        for _ in range(rows * columns):
            decide(board, legal, connect, rate, network, values, only, history)
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
                history.lengths[0] = 0
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
