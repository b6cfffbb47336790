"""Territory in Amazons: the squares that each side reaches first, by queen's and by king's moves.

The features are those of Lieberum (2005), after Müller and Tegos (2002): t1 and t2 count the
squares that a side reaches in fewer moves of a queen and of a king, c1 and c2 measure how much
nearer it is.
"""

from __future__ import annotations

import numpy as np

from dovetail.peer.kernels import njit
from dovetail_agents.games.amazons.kernels import (
    DIRECTIONS,
    FREE,
    KILLERS,
    OTHER,
    OWN,
    Array,
    Work,
    generate,
    move_amazon,
)

FAR = 60
"""Distance of a square that a side cannot reach."""
FIRST = 0.2
"""Value for the side to move of a square equally near to both; our own choice."""
WON = 1000.0
"""Larger than all values of positions that are not over."""
HALVES: Array = 0.5 ** np.arange(FAR + 1)


@njit(cache=True)
def distances(board: Array, amazons: Array, geometry: Array, king: bool, found: Array) -> None:
    """Write each square's distance from a side's nearest amazon, in moves of a queen or a king.

    Args:
        board: int8, shape (squares,), with a border.
        amazons: int32, the squares of the side's amazons; -1 for one off the board.
        geometry: see ``Work``.
        king: whether a move is one square long.
        found: int64, shape (squares,), written; FAR for unreachable squares.
    """
    found[:] = FAR
    queue = np.empty(found.shape[0], np.int64)
    filled = 0
    for amazon in amazons:
        if amazon >= 0:
            found[amazon] = 0
            queue[filled] = amazon
            filled += 1
    at = 0
    while at < filled:
        moves = found[queue[at]] + 1
        for each in range(8):
            square = queue[at] + geometry[DIRECTIONS, each]
            # Squares behind a nearer one are at least as near from there.
            while board[square] == FREE and found[square] >= moves:
                if found[square] > moves:
                    found[square] = moves
                    queue[filled] = square
                    filled += 1
                if king:
                    break
                square += geometry[DIRECTIONS, each]
        at += 1


@njit(cache=True)
def features(work: Work, mover: int, found: Array) -> None:
    """Write t1, t2, c1, c2 for player 0, and the share of free squares in dispute.

    A square is in dispute to the degree 2^-d, where d is the difference between both sides'
    distances in queen's moves (Lieberum's w, here divided by the number of free squares).

    Args:
        work: a position.
        mover: the side to move.
        found: float64, shape (5,), written.
    """
    board, where, geometry = work.board, work.where, work.geometry
    near = np.empty((2, 2, board.shape[0]), np.int64)
    for side in range(2):
        distances(board, where[side], geometry, False, near[0, side])
        distances(board, where[side], geometry, True, near[1, side])
    found[:] = 0.0
    first = FIRST if mover == 0 else -FIRST
    free = 0
    for square in range(board.shape[0]):
        if board[square] != FREE:
            continue
        free += 1
        for kind in range(2):
            own, other = near[kind, 0, square], near[kind, 1, square]
            if own == other:
                found[kind] += first if own < FAR else 0.0
            else:
                found[kind] += 1.0 if own < other else -1.0
        own, other = near[0, 0, square], near[0, 1, square]
        found[2] += 2.0 * (HALVES[own] - HALVES[other])
        if own < FAR and other < FAR:
            found[4] += HALVES[abs(own - other)]
        found[3] += min(1.0, max(-1.0, (near[1, 1, square] - near[1, 0, square]) / 6.0))
    found[4] /= max(1, free)


@njit(cache=True)
def _moves(work: Work, side: int) -> bool:
    """Return whether a side has a move."""
    for amazon in work.where[side]:
        if amazon >= 0:
            for each in range(8):
                if work.board[amazon + work.geometry[DIRECTIONS, each]] == FREE:
                    return True
    return False


@njit(cache=True)
def evaluate(work: Work, mover: int, found: Array) -> float:
    """Return the value for player 0: from t1 if nothing is in dispute to the mean of all terms."""
    if not _moves(work, mover):
        return float(WON if mover == OTHER else -WON)
    features(work, mover, found)
    t1, t2, c1, c2, dispute = found
    return float((1.0 - dispute) * t1 + dispute * (t1 + t2 + c1 + c2) / 4.0)


@njit(cache=True)
def _after(work: Work, mover: int, move: int, found: Array) -> float:
    """Return the value after a move."""
    number = move_amazon(work.board, work.where, mover, move)
    worth = evaluate(work, 1 - mover, found)
    _take_back(work, mover, move, number)
    return float(worth)


@njit(cache=True)
def _take_back(work: Work, mover: int, move: int, number: int) -> None:
    source, target, arrow = move >> 20, move >> 10 & 1023, move & 1023
    work.board[arrow] = FREE
    work.board[target] = FREE
    work.board[source] = mover + 1
    work.where[mover, number] = source


@njit(cache=True)
def _worst(work: Work, floor: float, found: Array) -> float:
    """Return the value after the opponent's best reply, or if that is at most ``floor``, an upper
    bound.

    Replies that refuted other moves are tried first.
    """
    count = generate(work, OTHER, 1)
    replies, killers = work.moves[1], work.killers[1]
    if count == 0:
        return float(WON)
    worst = np.inf
    for killer in range(KILLERS):
        for each in range(count) if killers[killer] else range(0):
            if replies[each] == killers[killer]:
                worst = min(worst, _after(work, OTHER, replies[each], found))
                break
        if worst <= floor:
            return float(worst)
    for each in range(count):
        worth = _after(work, OTHER, replies[each], found)
        worst = min(worst, worth)
        if worst <= floor:
            killers[1:] = killers[:-1].copy()
            killers[0] = replies[each]
            break
    return float(worst)


@njit(cache=True)
def search(work: Work, replies: bool) -> int:
    """Write the values of player 0's moves to ``work.values``, beside ``work.moves[0]``; return
    their number.

    Values are those after the move or, with ``replies``, after the opponent's best reply; then only
    the best value is exact, and the others are upper bounds.
    """
    moves, values = work.moves[0], work.values
    found = np.empty(5)
    count = int(generate(work, OWN, 0))
    for each in range(count):
        values[each] = _after(work, OWN, moves[each], found)
    if not replies or count == 0:
        return count
    moves[:count] = moves[:count][np.argsort(-values[:count])]
    best = -np.inf
    for each in range(count):
        number = move_amazon(work.board, work.where, OWN, moves[each])
        values[each] = _worst(work, best - 1e-9, found)
        _take_back(work, OWN, moves[each], number)
        best = max(best, values[each])
    return count
