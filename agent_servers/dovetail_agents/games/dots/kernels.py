"""Search for dots and boxes, compiled.

Player 0 is the searching player; all values are that player's. ``drawn`` has a bit for each line;
the other arrays are those of ``dovetail_games.dots.kernels``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_games.bits import popcount
from dovetail_games.dots.kernels import draw

Array = NDArray[Any]
FEATURES = 7
MOST_LINES = 62
LEAST = 1 << 30
"""More turns than any game has, to search to the end."""


@njit(cache=True)
def worth(counts: Array, boxes: Array, weights: Array) -> float:
    """Return the value of an unfinished position, from its features."""
    value = weights[6] + weights[4] * boxes[0] + weights[5] * boxes[1]
    for number in range(4):
        value += weights[number] * counts[number]
    return float(value)


@njit(cache=True)
def erase(
    line: int, player: int, completed: int, beside: Array, edges: Array, counts: Array, boxes: Array
) -> None:
    """Take back a line."""
    boxes[player] -= completed
    for side in range(2):
        box = beside[line, side]
        if box >= 0:
            counts[edges[box]] -= 1
            edges[box] -= 1
            counts[edges[box]] += 1


@njit(cache=True)
def _sort(free: int, around: Array, edges: Array, untried: Array) -> None:
    """Write the free lines, as bits, that complete a box, that give none away, and that do.

    ``around`` holds the lines of each box.
    """
    completing, giving = 0, 0
    for box in range(edges.shape[0]):
        if edges[box] == 3:
            completing |= around[box]
        elif edges[box] == 2:
            giving |= around[box]
    untried[0] = free & completing
    untried[1] = free & ~completing & ~giving
    untried[2] = free & ~completing & giving


@njit(cache=True)
def value(
    drawn: int,
    mover: int,
    turns: int,
    alpha: float,
    beta: float,
    lines: int,
    beside: Array,
    edges: Array,
    counts: Array,
    boxes: Array,
    weights: Array,
    prune: bool,
    keys: Array,
    stored: Array,
    best_line: Array,
    nodes: Array,
    limit: int,
) -> float:
    """Return the minimax value for player 0, exact within (alpha, beta); fail-soft alpha-beta.

    Depth counts turns: a player that completes a box draws again within the same turn, so that no
    position is evaluated in the middle of a chain. A position is maximised or minimised by its
    player to move, not by its depth.

    ``best_line`` receives the line of best play: its length, then its lines. ``keys`` and
    ``stored`` are the table of positions: drawn, mover + 2 * own boxes, turns left; value and bound
    (-1, 0 exact, 1). Once ``nodes`` has counted ``limit`` positions, including those found in the
    table, all others are evaluated as if at the horizon.
    """
    most = lines + 2
    low, high, best = np.empty(most), np.empty(most), np.empty(most)
    first = np.empty((most, 2))
    untried = np.empty((most, 3), np.int64)
    made = np.empty((most, 3), np.int64)  # line, boxes completed, turns left before it
    movers = np.empty(most, np.int64)
    left = np.empty(most, np.int64)
    path = np.zeros((most + 1, most + 1), np.int64)
    whole = (1 << lines) - 1
    size = keys.shape[0]
    around = np.zeros(edges.shape[0], np.int64)
    for line in range(lines):
        for side in range(2):
            if beside[line, side] >= 0:
                around[beside[line, side]] |= 1 << line
    ply = 0
    low[0], high[0], movers[0], left[0] = alpha, beta, mover, turns
    entering = True
    result = 0.0
    while True:
        player = movers[ply]
        maximise = player == 0
        leave = False
        store = False
        if entering:
            path[ply, 0] = 0
            if drawn == whole:
                nodes[0] += 1
                result = float(boxes[0] - boxes[1])
                leave = True
            elif left[ply] == 0 or nodes[0] >= limit:
                nodes[0] += 1
                result = worth(counts, boxes, weights)
                leave = True
            else:
                best[ply] = -np.inf if maximise else np.inf
                first[ply, 0], first[ply, 1] = low[ply], high[ply]
                if size and ply:
                    at = (drawn * 0x9E3779B1 + player * 7919 + boxes[0] * 104729) % size
                    if (
                        keys[at, 0] == drawn
                        and keys[at, 1] == player + 2 * boxes[0]
                        and keys[at, 2] == left[ply]
                    ):
                        known = stored[at, 0]
                        bound = stored[at, 1]
                        if (
                            bound == 0
                            or (bound > 0 and known >= high[ply])
                            or (bound < 0 and known <= low[ply])
                        ):
                            nodes[0] += 1
                            result = known
                            leave = True
                if not leave:
                    _sort(whole & ~drawn, around, edges, untried[ply])
        else:
            line = made[ply, 0]
            erase(line, player, made[ply, 1], beside, edges, counts, boxes)
            drawn &= ~(1 << line)
            if (result > best[ply]) if maximise else (result < best[ply]):
                best[ply] = result
                length = path[ply + 1, 0]
                path[ply, 0] = length + 1
                path[ply, 1] = line
                for each in range(length):
                    path[ply, 2 + each] = path[ply + 1, 1 + each]
                if prune:
                    if maximise:
                        low[ply] = max(low[ply], result)
                    else:
                        high[ply] = min(high[ply], result)
                    if low[ply] >= high[ply]:
                        result = best[ply]
                        leave = store = True
        if not leave:
            move = -1
            for kind in range(3):
                lot = untried[ply, kind]
                if lot:
                    move = popcount((lot & -lot) - 1)
                    untried[ply, kind] = lot & (lot - 1)
                    break
            if move >= 0:
                completed = draw(move, player, beside, edges, counts, boxes)
                made[ply, 0], made[ply, 1] = move, completed
                drawn |= 1 << move
                movers[ply + 1] = player if completed else 1 - player
                left[ply + 1] = left[ply] if completed else left[ply] - 1
                low[ply + 1], high[ply + 1] = low[ply], high[ply]
                ply += 1
                entering = True
                continue
            result = best[ply]
            store = True
        if store and size and ply:
            at = (drawn * 0x9E3779B1 + player * 7919 + boxes[0] * 104729) % size
            keys[at, 0], keys[at, 1], keys[at, 2] = drawn, player + 2 * boxes[0], left[ply]
            stored[at, 0] = result
            stored[at, 1] = (
                1.0 if result >= first[ply, 1] else -1.0 if result <= first[ply, 0] else 0.0
            )
        if ply == 0:
            best_line[: path[0, 0] + 1] = path[0, : path[0, 0] + 1]
            return result
        ply -= 1
        entering = False
