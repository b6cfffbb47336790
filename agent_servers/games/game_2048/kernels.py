"""2048 and n-tuple networks, compiled: values, updates, slides, and learning from whole games.

Boards are tiles' exponents, int64, square by square from the top left; 0 is free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dovetail.agent_servers.learning.splitmix import draw

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def entries(tiles: Array, places: Array, exponents: int, out: Array) -> None:
    """Write the entry that each look of a network reads: int64, shape (looks,)."""
    for look in range(places.shape[0]):
        entry = 0
        for at in range(places.shape[1]):
            square = places[look, at]
            if square >= 0:
                entry = entry * exponents + min(tiles[square], exponents - 1)
        out[look] = entry


@njit(cache=True, nogil=True)
def read(found: Array, tables: Array, weights: Array) -> float:
    """Return the sum of the weights at these entries."""
    total = 0.0
    for look in range(found.shape[0]):
        total += weights[tables[look], found[look]]
    return total


@njit(cache=True, nogil=True)
def value(tiles: Array, places: Array, tables: Array, exponents: int, weights: Array) -> float:
    """Return the network's value of a board; arguments as in ``networks.Layout``."""
    found = np.empty(places.shape[0], np.int64)
    entries(tiles, places, exponents, found)
    return read(found, tables, weights)


@njit(cache=True, nogil=True)
def update(
    tiles: Array, places: Array, tables: Array, exponents: int, weights: Array, step: float
) -> None:
    """Add a step to the weight of each look at a board."""
    found = np.empty(places.shape[0], np.int64)
    entries(tiles, places, exponents, found)
    for look in range(found.shape[0]):
        weights[tables[look], found[look]] += np.float32(step)


@njit(cache=True, nogil=True)
def slide(tiles: Array, rows: int, columns: int, move: int, out: Array) -> int:
    """Write the board after a move, before a tile appears; return the reward, or -1 if nothing
    moves.

    Args:
        tiles: before it.
        rows, columns: of the board.
        move: 0 up, 1 right, 2 down, 3 left.
        out: after it, shape as ``tiles``.
    """
    upright = move == 0 or move == 2
    count = columns if upright else rows
    length = rows if upright else columns
    moved = False
    gain = 0
    for line in range(count):
        if move == 0:
            first, step = line, columns
        elif move == 1:
            first, step = line * columns + columns - 1, -1
        elif move == 2:
            first, step = (rows - 1) * columns + line, -columns
        else:
            first, step = line * columns, 1
        to = first
        last = 0
        for at in range(length):
            tile = tiles[first + at * step]
            if tile == 0:
                continue
            if tile == last:
                out[to - step] = tile + 1
                gain += 1 << (tile + 1)
                last = 0
                moved = True
            else:
                out[to] = tile
                moved |= to != first + at * step
                last = tile
                to += step
        while to != first + length * step:
            out[to] = 0
            to += step
    return gain if moved else -1


@njit(cache=True, nogil=True)
def appear(tiles: Array, state: Array) -> None:
    """Let a tile appear on a free square: a 2, or with probability 1 / 10 a 4."""
    free = 0
    for square in range(tiles.shape[0]):
        free += tiles[square] == 0
    chosen = draw(state, free)
    for square in range(tiles.shape[0]):
        if tiles[square] == 0:
            if chosen == 0:
                tiles[square] = 2 if draw(state, 10) == 0 else 1
                return
            chosen -= 1


@njit(cache=True, nogil=True)
def _coherent(
    found: Array, tables: Array, weights: Array, sums: Array, sizes: Array, step: float
) -> None:
    for look in range(found.shape[0]):
        table, entry = tables[look], found[look]
        size = sizes[table, entry]
        rate = abs(sums[table, entry]) / size if size > 0 else 1.0
        weights[table, entry] += np.float32(rate * step)
        sums[table, entry] += np.float32(step)
        sizes[table, entry] += np.float32(abs(step))


@njit(cache=True, nogil=True)
def play(
    seeds: Array,
    rows: int,
    columns: int,
    places: Array,
    tables: Array,
    exponents: int,
    weights: Array,
    rate: float,
    coherent: bool,
    sums: Array,
    sizes: Array,
    out: Array,
) -> None:
    """Play games, each move that of the largest reward plus value, and learn from them.

    The value of the board after a slide moves towards the next move's reward and value, and towards
    0 at the end: TD(0) over afterstates (Szubert and Jaskowski 2014). If ``coherent``, each
    weight's share of a step is the size of the sum of its errors over the sum of their sizes (Beal
    and Smith 1999; Jaskowski 2018).

    Args:
        seeds: uint64, one a game.
        rows, columns: of the board.
        places, tables, exponents: ``networks.Layout``.
        weights: float32, of its shape; changed unless ``rate`` is 0.
        rate: of the whole network; each look takes an equal part.
        coherent: whether weights have rates of their own.
        sums, sizes: float32, of the weights' shape, or (0, 0) if not coherent: errors and their
            sizes so far.
        out: int64, shape (games, 3): score, largest exponent, moves.
    """
    looks = places.shape[0]
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
                entries(candidate, places, exponents, found)
                promised = reward + read(found, tables, weights)
                if gain < 0 or promised > worth:
                    gain, worth = reward, promised
                    best[:] = candidate
                    chosen[:] = found
            if gain < 0:
                worth = 0.0
            if moves and rate > 0:
                step = rate * (worth - read(last, tables, weights)) / looks
                if coherent:
                    _coherent(last, tables, weights, sums, sizes, step)
                else:
                    for look in range(looks):
                        weights[tables[look], last[look]] += np.float32(step)
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
