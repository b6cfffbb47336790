"""Minimax with alpha-beta over RLGame's compiled rules.

Positions are those of ``dovetail_games.rlgame.kernels``. A search keeps a position for each ply in
``pawns`` (depth, 2, N) and ``cells`` (depth, squares).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.learning import sparse
from dovetail_games.rlgame.kernels import BASE, ENTER, HOME, alive, legal, play, quarter

Array = NDArray[Any]
NOTHING, PAWNS, NETWORK = 0, 1, 2
"""Evaluations at the horizon: none, the lead in pawns, or a network."""


class RLGameRules(NamedTuple):
    """The board and its rules, constant during a game."""

    steps: Array
    exits: Array
    slots: Array
    """Index of each square among the flags that White sees."""
    ordered: bool
    bases: bool


class Leaf(NamedTuple):
    """Evaluation of an unfinished position at the horizon."""

    kind: int
    first: Array
    """The network's weights, for ``NETWORK``."""
    second: Array
    blind: bool
    """True if the search does not see that the game ends when the enemy enters the base, an error
    of the study's version 1.3."""


@njit(cache=True, nogil=True)
def active(pawns: Array, cells: Array, slots: Array, found: Array) -> int:
    """Write the numbers of the study's inputs that are 1, White's first; return their number.

    The inputs are those of ``dovetail_games.rlgame.kernels.encode``, from White's view.
    """
    size = pawns.shape[1]
    outside = 0
    count = 0
    for square in range(cells.shape[0]):
        outside += slots[square] >= 0
        if cells[square] != 0:
            found[count] = 2 * slots[square] + (cells[square] - 1)
            count += 1
    for player in range(2):
        inside = 0
        for square in pawns[player]:
            if square == BASE:
                inside += 1
            elif square == HOME:
                found[count] = 2 * outside + 8 + player
                count += 1
        found[count] = 2 * outside + 4 * player + quarter(inside, size)
        count += 1
    return count


@njit(cache=True, nogil=True)
def _enters(action: int, player: int, cells: Array, steps: Array) -> bool:
    squares = cells.shape[0]
    return bool(action < 4 * squares and steps[player, action // 4, action % 4] == ENTER)


@njit(cache=True, nogil=True)
def _worth(
    pawns: Array, cells: Array, board: RLGameRules, leaf: Leaf, me: int, mover: int
) -> float:
    """Return the value of a position at the horizon for ``me``."""
    if leaf.kind == PAWNS:
        return float((alive(pawns, me) - alive(pawns, 1 - me)) / pawns.shape[1])
    if leaf.kind == NETWORK and mover != me:
        # The network values positions after its owner's move; after the other's, the study has 0.
        found = np.empty(2 * pawns.shape[1] + 4, np.int64)
        count = active(pawns, cells, board.slots, found)
        hidden = np.empty(leaf.first.shape[1])
        return sparse.value(leaf.first, leaf.second, found, count, hidden)
    return 0.0


@njit(cache=True, nogil=True)
def _order(moves: Array, count: int, likely: int) -> None:
    """Move the refutation of this ply's previous position to the front."""
    for place in range(1, count):
        if moves[place] == likely:
            moves[place] = moves[0]
            moves[0] = likely
            return


@njit(cache=True, nogil=True)
def _value(
    depth: int,
    first: int,
    me: int,
    alpha: float,
    prune: bool,
    win: float,
    pawns: Array,
    cells: Array,
    nodes: Array,
    board: RLGameRules,
    leaf: Leaf,
) -> float:
    """Return the value for ``me`` of the position at ply 0, with ``first`` to move; fail-soft.

    The search has an explicit stack, as numba cannot load recursive functions from its cache (numba
    issue 6061).
    """
    moves = np.empty((depth + 1, 4 * pawns.shape[2] + board.exits.shape[1]), np.int64)
    count = np.zeros(depth + 1, np.int64)
    tried = np.zeros(depth + 1, np.int64)
    likely = np.full(depth + 1, -1, np.int64)
    best = np.zeros(depth + 1)
    low = np.full(depth + 1, alpha)
    high = np.full(depth + 1, math.inf)
    ply, arrived, result = 0, True, 0.0
    while True:
        mover = first if ply % 2 == 0 else 1 - first
        blind = leaf.blind and mover != me
        back = False
        if arrived:
            if ply == depth:
                result = _worth(pawns[ply], cells[ply], board, leaf, me, mover)
                back = True
            else:
                found = legal(mover, pawns[ply], cells[ply], board.steps, board.exits)
                count[ply] = found.shape[0]
                moves[ply, : count[ply]] = found
                tried[ply] = 0
                best[ply] = -math.inf if mover == me else math.inf
                if count[ply] == 0:  # only beyond an end that a blind search did not see
                    result, back = 0.0, True
                elif prune:
                    for action in found:
                        if not blind and _enters(action, mover, cells[ply], board.steps):
                            result, back = win if mover == me else -win, True
                            break
                    _order(moves[ply], count[ply], likely[ply])
        else:
            if mover == me and result > best[ply]:
                best[ply] = result
                likely[ply] = moves[ply, tried[ply] - 1]
                low[ply] = max(low[ply], result)
            elif mover != me and result < best[ply]:
                best[ply] = result
                likely[ply] = moves[ply, tried[ply] - 1]
                high[ply] = min(high[ply], result)
            if tried[ply] == count[ply] or (prune and low[ply] >= high[ply]):
                result, back = best[ply], True
        if back:
            if ply == 0:
                return result
            ply -= 1
            arrived = False
            continue
        action = moves[ply, tried[ply]]
        tried[ply] += 1
        nodes[0] += 1
        pawns[ply + 1] = pawns[ply]
        cells[ply + 1] = cells[ply]
        winner = play(
            action,
            mover,
            pawns[ply + 1],
            cells[ply + 1],
            board.steps,
            board.exits,
            board.ordered,
            board.bases,
        )
        if blind and winner == mover and _enters(action, mover, cells[ply], board.steps):
            winner = -1
        if winner >= 0:
            result, arrived = win if winner == me else -win, False
        else:
            low[ply + 1], high[ply + 1] = low[ply], high[ply]
            ply += 1
            arrived = True


@njit(cache=True, nogil=True)
def search(
    me: int,
    there: Array,
    squares: Array,
    depth: int,
    prune: bool,
    win: float,
    board: RLGameRules,
    leaf: Leaf,
    nodes: Array,
) -> tuple[Array, Array]:
    """Return the legal moves and their values for the mover.

    With pruning only the best values are exact; the others are upper bounds below them.

    Args:
        me: the mover.
        there: the mover's pawns and the other's, shape (2, N).
        squares: the cells.
        depth: the number of plies, at least 1.
        prune: False for plain minimax.
        win: the value of a won game; a lost one has its negative.
        board: geometry and rules.
        leaf: the evaluation at the horizon.
        nodes: int64, shape (1,); the number of positions reached is added.
    """
    moves = legal(me, there, squares, board.steps, board.exits)
    values = np.empty(moves.shape[0])
    pawns = np.empty((depth, *there.shape), there.dtype)
    cells = np.empty((depth, *squares.shape), squares.dtype)
    best = -math.inf
    for number in range(moves.shape[0]):
        nodes[0] += 1
        pawns[0] = there
        cells[0] = squares
        winner = play(
            moves[number],
            me,
            pawns[0],
            cells[0],
            board.steps,
            board.exits,
            board.ordered,
            board.bases,
        )
        if winner >= 0:
            values[number] = win if winner == me else -win
        else:
            # One below the best, so that ties are recognised.
            floor = np.nextafter(best, -math.inf) if prune else -math.inf
            values[number] = _value(
                depth - 1, 1 - me, me, floor, prune, win, pawns, cells, nodes, board, leaf
            )
        best = max(best, values[number])
    return moves, values
