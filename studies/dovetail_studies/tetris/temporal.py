"""Learning of a linear value of Tetris afterstates by TD(lambda) or least squares, compiled.

V(s) is the discounted number of rows cleared from the board s after a placement. The player takes
the placement with the largest rows cleared + discount * V. The reward between two afterstates is
the number of rows that the placement between them cleared; after the last afterstate the value is
0. A truncated game has no last afterstate.

LSTD(lambda) is Boyan's (2002): A = sum z_t (phi_t - discount * phi_t+1)', b = sum z_t r_t+1, the
weights A^-1 b, z_t = lambda * discount * z_t-1 + phi_t. Repeated with games played by the new
weights, this is policy iteration as in Bertsekas and Ioffe (1996) and Lagoudakis et al. (2002), who
estimate values slightly differently.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.tetris.columns import room, take
from dovetail_agents.games.tetris.kernels import ALL, best, described, size
from dovetail_agents.learning.splitmix import draw

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def game(
    height: int,
    width: int,
    pieces: Array,
    most: int,
    seed: int | np.uint64,
    kind: int,
    weights: Array,
    avoid: bool,
    trace: float,
    discount: float,
    rates: Array,
    matrix: Array,
    vector: Array,
) -> tuple[int, int, bool]:
    """Play one game and learn from it.

    TD(lambda) with accumulating traces learns after each placement; least squares accumulate A and
    b.

    Args:
        height, width, pieces, most, seed, kind, avoid: see ``kernels.play``.
        weights: the weights of the value that selects the moves; float64, modified by TD.
        trace: lambda.
        discount: the discount of future rows.
        rates: the step size of each weight; empty for least squares.
        matrix: A; float64, shape (features, features), modified by least squares.
        vector: b; float64, shape (features,), modified by least squares.

    Returns:
        see ``kernels.play``.
    """
    features = weights.shape[0]
    columns = np.zeros(width, np.int64)
    words = room(width)
    state = np.zeros(1, np.uint64)
    state[0] = np.uint64(seed)
    out = np.empty((4 * width, size(ALL, width)), np.float64)
    ends = np.empty((4 * width, 2), np.int64)
    last = np.zeros(features)
    eligible = np.zeros(features)
    change = np.zeros(features)
    lines = 0
    placed = 0
    over = False
    while not over and (most == 0 or placed < most):
        piece = pieces[draw(state, pieces.shape[0])]
        count = described(columns, piece, height, kind, words, out, ends)
        chosen = best(count, out, ends, weights, 1 / discount, avoid)
        take(words, count, chosen, columns)
        cleared = ends[chosen, 0]
        over = ends[chosen, 1] != 0
        if placed and rates.shape[0]:
            error = float(cleared)
            for i in range(features):
                after = 0.0 if over else discount * out[chosen, i]
                error += weights[i] * (after - last[i])
            for i in range(features):
                weights[i] += rates[i] * error * eligible[i]
        elif placed:
            for i in range(features):
                change[i] = last[i] - (0.0 if over else discount * out[chosen, i])
            for i in range(features):
                vector[i] += eligible[i] * cleared
                for j in range(features):
                    matrix[i, j] += eligible[i] * change[j]
        for i in range(features):
            last[i] = out[chosen, i]
            eligible[i] = trace * discount * eligible[i] + last[i]
        lines += cleared
        placed += 1
    return lines, placed, over


def solve(matrix: Array, vector: Array, ridge: float) -> Array:
    """Return the least-squares weights (A + ridge * I)^-1 b.

    If the matrix is singular, the solution is the shortest one.

    Raises:
        DovetailError: the weights are not finite.
    """
    found: Array = np.linalg.lstsq(matrix + ridge * np.eye(len(vector)), vector, rcond=None)[0]
    if not np.isfinite(found).all():
        raise DovetailError("least squares found no finite weights; play more games or raise ridge")
    return found
