"""Many ``random.Random`` at once, compiled: the same seeds give the same draws.

The Mersenne Twister MT19937 as CPython seeds it (``init_by_array`` with the 32-bit words of the
seed, the lowest first) and as its methods draw from it; after Matsumoto and Nishimura's
mt19937ar.c.  A generator is a row of uint32: ``N`` words of state, then the place of the next one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

N, M = 624, 397
Array = NDArray[Any]


@njit(cache=True)
def seeded(state: Array, seed: int) -> None:
    """Make a generator ``random.Random(seed)``; the seed is a uint64."""
    state[0] = 19650218
    for i in range(1, N):
        before = np.uint64(state[i - 1])
        mixed = np.uint64(1812433253) * (before ^ (before >> np.uint64(30))) + np.uint64(i)
        state[i] = np.uint32(mixed & np.uint64(0xFFFFFFFF))
    low, high = np.uint64(seed) & np.uint64(0xFFFFFFFF), np.uint64(seed) >> np.uint64(32)
    words = 2 if high else 1
    i, j = 1, 0
    for _ in range(N):
        before = np.uint64(state[i - 1])
        key = high if j else low
        mixed = (before ^ (before >> np.uint64(30))) * np.uint64(1664525)
        mixed = (np.uint64(state[i]) ^ mixed) + key + np.uint64(j)
        state[i] = np.uint32(mixed & np.uint64(0xFFFFFFFF))
        i += 1
        j += 1
        if i >= N:
            state[0] = state[N - 1]
            i = 1
        if j >= words:
            j = 0
    for _ in range(N - 1):
        before = np.uint64(state[i - 1])
        mixed = (before ^ (before >> np.uint64(30))) * np.uint64(1566083941)
        mixed = (np.uint64(state[i]) ^ mixed) - np.uint64(i)
        state[i] = np.uint32(mixed & np.uint64(0xFFFFFFFF))
        i += 1
        if i >= N:
            state[0] = state[N - 1]
            i = 1
    state[0] = 0x80000000
    state[N] = 0


@njit(cache=True)
def _word(state: Array) -> int:
    """Return the next 32 bits; a word is renewed when it is drawn, not all of them at once."""
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
def _begin(states: Array, which: Array, seeds: Array) -> None:
    for k in range(len(which)):
        seeded(states[which[k]], seeds[k])


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
    """Generators by number, each seeded by itself; at first with its number."""

    def __init__(self, count: int) -> None:
        self.states: Array = np.zeros((count, N + 1), np.uint32)
        """A generator in each row, for compiled code."""
        self.begin(np.arange(count), np.arange(count, dtype=np.uint64))

    def begin(self, which: Array, seeds: Array) -> None:
        """Seed some as ``random.Random(seed)``; seeds are uint64."""
        _begin(self.states, which.astype(np.int64, copy=False), seeds)

    def choose(self, which: Array, legal: Array) -> Array:
        """Return for each of some the ``choice`` of a bit mask's actions, none of them empty."""
        out = np.empty(len(which), np.int64)
        _choose(self.states, which.astype(np.int64, copy=False), legal, out)
        return out

    def number(self, which: Array, start: int, n: int) -> Array:
        """Return for each of some ``start + randrange(n)``, with ``n`` below 2**32."""
        out = np.empty(len(which), np.int64)
        _number(self.states, which.astype(np.int64, copy=False), start, n, out)
        return out
