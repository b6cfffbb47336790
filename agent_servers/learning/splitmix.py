"""Random numbers inside compiled games: splitmix64 (Steele et al. 2014), one word of state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def scatter(z: np.uint64) -> np.uint64:
    """Return 64 bits that depend on all of another 64."""
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return np.uint64(z ^ (z >> np.uint64(31)))


@njit(cache=True, nogil=True)
def bits(state: Array) -> np.uint64:
    """Return 64 random bits and move the state on.

    Args:
        state: uint64, shape (1,); the seed at first.
    """
    state[0] += GOLDEN
    return scatter(state[0])


@njit(cache=True, nogil=True)
def draw(state: Array, count: int) -> int:
    """Return a number below ``count``; the bias of the remainder is below ``count`` / 2^64."""
    return np.int64(bits(state) % np.uint64(count))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def fraction(state: Array) -> float:
    """Return a number from 0 to 1, 1 excluded."""
    return float(bits(state) >> np.uint64(11)) * 2.0**-53
