"""Many ``random.Random`` at once, compiled, with the same draws from the same seeds.

The Mersenne Twister MT19937 as CPython seeds it (``init_by_array`` with the 32-bit words of the
seed, lowest first) and as its methods draw from it, after Matsumoto and Nishimura's mt19937ar.c.
A generator is a row of uint32: ``N`` words of state, then the index of the next one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit

N, M = 624, 397
Array = NDArray[Any]


LANES = 8
"""Generators seeded together, so that their multiplications overlap."""


def _first() -> Array:
    """Return the state of ``init_genrand(19650218)``, from which every seeding starts."""
    state = [19650218]
    for i in range(1, N):
        before = state[-1]
        state.append((1812433253 * (before ^ (before >> 30)) + i) & 0xFFFFFFFF)
    return np.array(state, np.uint32)


_FIRST = _first()


@njit(cache=True)
def _mixed(word: Any, factor: int) -> Any:
    return np.uint32((word ^ (word >> np.uint32(30))) * np.uint32(factor))


@njit(cache=True)
def _begin(states: Array, which: Array, seeds: Array) -> None:
    """Seed some generators as ``random.Random(seed)``; seeds are uint64."""
    block = np.empty((N, LANES), np.uint32)
    key = np.zeros((2, LANES), np.uint32)
    for first in range(0, len(which), LANES):
        count = min(LANES, len(which) - first)
        for k in range(count):
            low, high = seeds[first + k] & np.uint64(0xFFFFFFFF), seeds[first + k] >> np.uint64(32)
            key[0, k] = low
            key[1, k] = high + np.uint64(1) if high else low
        block[0] = _FIRST[0]
        for i in range(1, N):
            for k in range(LANES):
                mixed = _mixed(block[i - 1, k], 1664525)
                block[i, k] = (_FIRST[i] ^ mixed) + key[(i - 1) & 1, k]
        for k in range(LANES):
            block[1, k] = (block[1, k] ^ _mixed(block[N - 1, k], 1664525)) + key[1, k]
        for i in range(2, N):
            for k in range(LANES):
                block[i, k] = (block[i, k] ^ _mixed(block[i - 1, k], 1566083941)) - np.uint32(i)
        for k in range(LANES):
            block[1, k] = (block[1, k] ^ _mixed(block[N - 1, k], 1566083941)) - np.uint32(1)
        block[0] = 0x80000000
        for k in range(count):
            state = states[which[first + k]]
            for i in range(N):
                state[i] = block[i, k]
            state[N] = 0


@njit(cache=True)
def _word(state: Array) -> int:
    """Return the next 32 bits; each word of the state is renewed when it is drawn."""
    i = np.int64(state[N])
    mixed = (state[i] & np.uint32(0x80000000)) | (state[(i + 1) % N] & np.uint32(0x7FFFFFFF))
    new = state[(i + M) % N] ^ (mixed >> np.uint32(1))
    if mixed & np.uint32(1):
        new ^= np.uint32(0x9908B0DF)
    state[i] = new
    state[N] = (i + 1) % N
    y = new
    y ^= y >> np.uint32(11)
    y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    y ^= y >> np.uint32(18)
    return int(y)


@njit(cache=True)
def below(state: Array, n: int) -> int:
    """Return ``randrange(n)``, for ``n`` from 1 and below 2**32."""
    bits = 0
    while n >> bits:
        bits += 1
    drawn = _word(state) >> (32 - bits)
    while drawn >= n:
        drawn = _word(state) >> (32 - bits)
    return drawn


@njit(cache=True)
def fraction(state: Array) -> float:
    """Return ``random()``."""
    high, low = _word(state) >> 5, _word(state) >> 6
    return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def _choose(states: Array, which: Array, legal: Array, out: Array) -> None:
    for k in range(len(which)):
        count = 0
        for byte in legal[k]:
            while byte:
                byte &= byte - 1
                count += 1
        left = below(states[which[k]], count)
        action = 0
        while True:
            if legal[k, action >> 3] >> (action & 7) & 1:
                if left == 0:
                    break
                left -= 1
            action += 1
        out[k] = action


@njit(cache=True)
def _number(states: Array, which: Array, start: int, n: int, out: Array) -> None:
    for k in range(len(which)):
        out[k] = start + below(states[which[k]], n)


class Twisters:
    """Numbered generators, each initially seeded with its number."""

    def __init__(self, count: int) -> None:
        self.states: Array = np.zeros((count, N + 1), np.uint32)
        """uint32 [generators, N + 1], for compiled code."""
        self.begin(np.arange(count), np.arange(count, dtype=np.uint64))

    def begin(self, which: Array, seeds: Array) -> None:
        """Seed some generators as ``random.Random(seed)``; seeds are uint64."""
        _begin(self.states, which.astype(np.int64, copy=False), seeds)

    def choose(self, which: Array, legal: Array) -> Array:
        """Return each generator's ``choice`` among the actions of a nonempty bit mask."""
        out = np.empty(len(which), np.int64)
        _choose(self.states, which.astype(np.int64, copy=False), legal, out)
        return out

    def number(self, which: Array, start: int, n: int) -> Array:
        """Return each generator's ``start + randrange(n)``, with ``n`` below 2**32."""
        out = np.empty(len(which), np.int64)
        _number(self.states, which.astype(np.int64, copy=False), start, n, out)
        return out
