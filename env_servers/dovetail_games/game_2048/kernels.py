"""2048's inner loops, compiled: slides, new tiles, and many boards at once.

Boards hold the tiles' exponents, int64, square by square from the top left; 0 is free.  A tile
whose value overflows would need 2**60 moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer import vector_random as twister
from dovetail.peer.kernels import njit

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def slide(tiles: Array, rows: int, columns: int, move: int, out: Array) -> int:
    """Write the board after a move, before a tile appears; return the reward, or -1 if nothing
    moves.

    Args:
        tiles: the board before the move.
        rows, columns: the size of the board.
        move: 0 up, 1 right, 2 down, 3 left.
        out: the board after the move, shaped like ``tiles``.
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
def put(tiles: Array, place: int, tile: int) -> None:
    """Put a tile on free square number ``place``, counting free squares from 0."""
    for square in range(tiles.shape[0]):
        if tiles[square] == 0:
            if place == 0:
                tiles[square] = tile
                return
            place -= 1


@njit(cache=True)
def _appear(tiles: Array, state: Array, four: float) -> None:
    free = 0
    for square in range(tiles.shape[0]):
        free += tiles[square] == 0
    place = int(twister.fraction(state) * free)
    put(tiles, place, 2 if twister.fraction(state) < four else 1)


@njit(cache=True)
def _moves(tiles: Array, rows: int, columns: int, out: Array) -> int:
    """Return the moves that change a board as bits."""
    found = 0
    for move in range(4):
        found |= (slide(tiles, rows, columns, move, out) >= 0) << move
    return found


@njit(cache=True)
def start_all(
    slots: Array,
    boards: Array,
    shape: tuple[int, int],
    states: Array,
    tiles: int,
    four: float,
    legal: Array,
) -> None:
    """Start a game in some slots, whose generators are already seeded.

    Args:
        slots: the slots.
        boards: by slot.
        shape: rows and columns.
        states: a generator by slot; see ``twister``.
        tiles: the number of tiles at the start.
        four: the probability that a tile is a 4.
        legal: uint8, by slot: written, the moves that change the board as bits.
    """
    out = np.empty(boards.shape[1], np.int64)
    for slot in slots:
        boards[slot] = 0
        for _ in range(tiles):
            _appear(boards[slot], states[slot], four)
        legal[slot] = _moves(boards[slot], shape[0], shape[1], out)


@njit(cache=True)
def step_all(
    slots: Array,
    actions: Array,
    boards: Array,
    shape: tuple[int, int],
    states: Array,
    four: float,
    legal: Array,
    rewards: Array,
) -> None:
    """Play a legal move in each of some slots; write the rewards, by slot and seat."""
    out = np.empty(boards.shape[1], np.int64)
    for k in range(len(slots)):
        slot = slots[k]
        rewards[slot, 0] = slide(boards[slot], shape[0], shape[1], actions[k], out)
        for square in range(len(out)):  # numba takes seconds to compile the copy of a slice
            boards[slot, square] = out[square]
        _appear(boards[slot], states[slot], four)
        legal[slot] = _moves(boards[slot], shape[0], shape[1], out)


@njit(cache=True)
def after_all(slots: Array, boards: Array, shape: tuple[int, int], afterwards: Array) -> None:
    """Write the boards after each move that changes one, before a tile appears: int64, in order."""
    at = 0
    for slot in slots:
        for move in range(4):
            if slide(boards[slot], shape[0], shape[1], move, afterwards[at]) >= 0:
                at += 1
                if at == afterwards.shape[0]:
                    return
