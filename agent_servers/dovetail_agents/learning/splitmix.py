"""Random numbers for compiled games: splitmix64 (Steele et al. 2014), with one word of state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.peer.kernels import njit
from dovetail_agents.learning import finaliser

Array = NDArray[Any]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
scatter = njit(cache=True, nogil=True)(finaliser.scatter)


@njit(cache=True, nogil=True)
def bits(state: Array) -> np.uint64:
    """Return 64 random bits and advance the state.

    Args:
        state: uint64, shape (1,); initially the seed.
    """
    state[0] += GOLDEN
    return np.uint64(scatter(state[0]))


@njit(cache=True, nogil=True)
def draw(state: Array, count: int) -> int:
    """Return a number below ``count``; the bias of the remainder is below ``count`` / 2^64."""
    return np.int64(bits(state) % np.uint64(count))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def fraction(state: Array) -> float:
    """Return a number from 0 to 1 (exclusive)."""
    return float(bits(state) >> np.uint64(11)) * 2.0**-53
