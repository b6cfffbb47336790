"""n-tuple networks, compiled: values, updates, and learning from whole games of 2048.

Boards hold the tiles' exponents, int64, square by square from the top left; 0 is a free square.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.learning.splitmix import draw
from dovetail_games.game_2048.kernels import put, slide

Array = NDArray[Any]


FIRST_STAGE = 13
"""The exponent of the tile that begins the second stage: 8192."""


class NTupleNetwork(NamedTuple):
    """A network of one board size and its weights."""

    places: Array
    """int64, shape (looks, longest tuple), as in ``networks.Layout``."""
    tables: Array
    """int64, shape (looks,), the first weight of each look's table in the first stage."""
    exponents: int
    """Number of tile exponents distinguished."""
    stages: int
    """Number of stages; boards of one stage have weights of their own."""
    size: int
    """Number of weights of a stage."""
    weights: Array
    """float32, of all stages."""


@njit(cache=True, nogil=True)
def _stage(tiles: Array, network: NTupleNetwork) -> int:
    """Return the first weight of a board's stage, which is that of its largest tile."""
    if network.stages == 1:
        return 0
    stage = min(max(tiles.max() - FIRST_STAGE + 1, 0), network.stages - 1)
    return int(stage * network.size)


@njit(cache=True, nogil=True)
def _entry(tiles: Array, places: Array, look: int, exponents: int) -> int:
    """Return the entry of its table that a look reads."""
    entry = 0
    for at in range(places.shape[1]):
        square = places[look, at]
        if square >= 0:
            entry = entry * exponents + min(tiles[square], exponents - 1)
    return entry


@njit(cache=True, nogil=True)
def entries(tiles: Array, network: NTupleNetwork, out: Array) -> None:
    """Write the weight that each look reads: int64, shape (looks,)."""
    places, tables, exponents = network.places, network.tables, network.exponents
    stage = _stage(tiles, network)
    for look in range(out.shape[0]):
        out[look] = stage + tables[look] + _entry(tiles, places, look, exponents)


@njit(cache=True, nogil=True)
def _weight(weights: Array, size: int, entry: int) -> float:
    """Return a weight; before it learns, it is that of the stage before."""
    while weights[entry] == 0 and entry >= size:
        entry -= size
    return float(weights[entry])


@njit(cache=True, nogil=True)
def read(found: Array, network: NTupleNetwork) -> float:
    """Return the sum of the weights at these entries."""
    weights, size = network.weights, network.size
    total = 0.0
    for look in range(found.shape[0]):
        total += _weight(weights, size, found[look])
    return total


@njit(cache=True, nogil=True)
def value(tiles: Array, network: NTupleNetwork) -> float:
    """Return the network's value of a board."""
    places, tables, exponents = network.places, network.tables, network.exponents
    weights, size = network.weights, network.size
    stage = _stage(tiles, network)
    total = 0.0
    for look in range(places.shape[0]):
        entry = stage + tables[look] + _entry(tiles, places, look, exponents)
        total += _weight(weights, size, entry) if stage else weights[entry]
    return total


@njit(cache=True, nogil=True)
def expected(tiles: Array, plies: int, rows: int, columns: int, network: NTupleNetwork) -> float:
    """Return the expectimax value of a board after a slide.

    Each possible new tile (2 with probability 0.9, otherwise 4) is answered by the best slide;
    boards after the last slide are evaluated by the network.

    Args:
        tiles: the board, with a free square.
        plies: the number of slides, including the one before the board; with 1, ``value``.
        rows, columns, network: see ``best_move``.
    """
    if plies <= 1:
        return value(tiles, network)
    board = tiles.copy()
    after = np.empty_like(tiles)
    total = 0.0
    free = 0
    for square in range(tiles.shape[0]):
        if tiles[square]:
            continue
        free += 1
        for tile in (1, 2):
            board[square] = tile
            best, stuck = 0.0, True
            for move in range(4):
                reward = slide(board, rows, columns, move, after)
                if reward < 0:
                    continue
                worth = reward + expected(after, plies - 1, rows, columns, network)
                if stuck or worth > best:
                    best, stuck = worth, False
            total += best * (0.9 if tile == 1 else 0.1)
        board[square] = 0
    return total / free


@njit(cache=True, nogil=True)
def update(tiles: Array, network: NTupleNetwork, step: float) -> None:
    """Add a step to the weight that each look at a board reads."""
    found = np.empty(network.places.shape[0], np.int64)
    entries(tiles, network, found)
    _add(found, network, step)


@njit(cache=True, nogil=True)
def _add(found: Array, network: NTupleNetwork, step: float) -> None:
    weights, size = network.weights, network.size
    for look in range(found.shape[0]):
        entry = found[look]
        weights[entry] = np.float32(_weight(weights, size, entry)) + np.float32(step)


@njit(cache=True, nogil=True)
def best_move(
    tiles: Array,
    legal: int,
    rows: int,
    columns: int,
    network: NTupleNetwork,
    plies: int,
    best: Array,
    values: Array,
) -> int:
    """Return the legal move with the largest reward plus value; -1 if none changes the board.

    Ties go to the first move.

    Args:
        tiles: the board.
        legal: the legal moves as bits.
        rows, columns: the size of the board.
        network: see ``NTupleNetwork``.
        plies: see ``expected``.
        best: written, the board after that move.
        values: float64, shape (4,): written, reward plus value of each move, NaN for illegal ones.
    """
    candidate = np.empty_like(tiles)
    chosen = -1
    for move in range(4):
        values[move] = np.nan
        if not legal >> move & 1:
            continue
        reward = slide(tiles, rows, columns, move, candidate)
        if reward < 0:
            continue
        values[move] = reward + expected(candidate, plies, rows, columns, network)
        if chosen < 0 or values[move] > values[chosen]:
            chosen = move
            for square in range(best.shape[0]):
                best[square] = candidate[square]
    return chosen


@njit(cache=True, nogil=True)
def learn(tiles: Array, target: float, rate: float, network: NTupleNetwork) -> None:
    """Move a board's value towards a target, by the share ``rate``."""
    error = target - value(tiles, network)
    update(tiles, network, rate * error / network.places.shape[0])


@njit(cache=True, nogil=True)
def decide(
    slots: Array,
    boards: Array,
    legal: Array,
    rows: int,
    columns: int,
    network: NTupleNetwork,
    plies: int,
    rate: float,
    learning: bool,
    last: Array,
    waiting: Array,
    actions: Array,
) -> None:
    """Choose a move on each of some boards, one after the other, and update the previous board's
    value.

    Args:
        slots: int32, the slot of each board.
        boards: int64, shape (boards, squares).
        legal: uint8, shape (boards,), the legal moves as bits.
        rows, columns, network, plies: see ``best_move``.
        rate: see ``learn``.
        learning: whether to learn, and to record the choice.
        last: int64, by slot: the board after its last move.
        waiting: bool, by slot: whether there is such a board.
        actions: int64, written.
    """
    values = np.empty(4)
    best = np.empty(boards.shape[1], np.int64)
    for k in range(slots.shape[0]):
        slot = slots[k]
        chosen = best_move(boards[k], legal[k], rows, columns, network, plies, best, values)
        actions[k] = chosen
        if learning and chosen >= 0:
            if waiting[slot]:
                learn(last[slot], values[chosen], rate, network)
            for square in range(best.shape[0]):
                last[slot, square] = best[square]
            waiting[slot] = True


@njit(cache=True, nogil=True)
def appear(tiles: Array, state: Array) -> None:
    """Add a tile on a random free square: a 2, or with probability 1 / 10 a 4."""
    free = 0
    for square in range(tiles.shape[0]):
        free += tiles[square] == 0
    place = draw(state, free)
    put(tiles, place, 2 if draw(state, 10) == 0 else 1)


@njit(cache=True, nogil=True)
def _coherent(found: Array, network: NTupleNetwork, sums: Array, sizes: Array, step: float) -> None:
    weights = network.weights
    for look in range(found.shape[0]):
        entry = found[look]
        size = sizes[entry]
        rate = abs(sums[entry]) / size if size > 0 else 1.0
        old = _weight(weights, network.size, entry)
        weights[entry] = np.float32(old) + np.float32(rate * step)
        sums[entry] += np.float32(step)
        sizes[entry] += np.float32(abs(step))


@njit(cache=True, nogil=True)
def play(
    seeds: Array,
    rows: int,
    columns: int,
    network: NTupleNetwork,
    plies: int,
    rate: float,
    coherent: bool,
    sums: Array,
    sizes: Array,
    out: Array,
) -> None:
    """Play games by the largest reward plus value, and learn from them.

    The value of a board after a slide moves towards the next move's reward plus value, and towards
    0 at the end: TD(0) over afterstates (Szubert and Jaskowski 2014). If ``coherent``, each
    weight's step is scaled by the absolute sum of its errors over the sum of their absolute values
    (Beal and Smith 1999; Jaskowski 2018).

    Args:
        seeds: uint64, one for each game.
        rows, columns: the size of the board.
        network: its weights are unchanged if ``rate`` is 0.
        plies: see ``expected``.
        rate: the learning rate of the whole network, divided evenly among the looks.
        coherent: whether each weight has its own rate.
        sums, sizes: float32, shaped like the weights, or empty if not coherent: the sums of errors
            and of their absolute values.
        out: int64, shape (games, 3): score, largest exponent, moves.
    """
    looks = network.places.shape[0]
    squares = rows * columns
    tiles = np.zeros(squares, np.int64)
    candidate = np.zeros(squares, np.int64)
    best = np.zeros(squares, np.int64)
    found = np.empty(looks, np.int64)
    chosen = np.empty(looks, np.int64)
    last = np.empty(looks, np.int64)
    state = np.zeros(1, np.uint64)
    for game in range(seeds.shape[0]):
        state[0] = seeds[game]
        tiles[:] = 0
        appear(tiles, state)
        appear(tiles, state)
        score = 0
        moves = 0
        while True:
            gain = -1
            worth = 0.0
            for move in range(4):
                reward = slide(tiles, rows, columns, move, candidate)
                if reward < 0:
                    continue
                entries(candidate, network, found)
                if plies > 1:
                    promised = reward + expected(candidate, plies, rows, columns, network)
                else:
                    promised = reward + read(found, network)
                if gain < 0 or promised > worth:
                    gain, worth = reward, promised
                    best[:] = candidate
                    chosen[:] = found
            if gain < 0:
                worth = 0.0
            if moves and rate > 0:
                step = rate * (worth - read(last, network)) / looks
                if coherent:
                    _coherent(last, network, sums, sizes, step)
                else:
                    _add(last, network, step)
            if gain < 0:
                break
            last[:] = chosen
            tiles[:] = best
            score += gain
            moves += 1
            appear(tiles, state)
        out[game, 0] = score
        out[game, 1] = tiles.max()
        out[game, 2] = moves
