"""The finaliser of splitmix64 (Steele et al. 2014), which maps 64 bits to 64 well-mixed bits."""

from __future__ import annotations

from typing import Any

import numpy as np

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_MASK = (1 << 64) - 1


def scatter(z: Any) -> Any:
    """Mix a uint64 in compiled code, or each element of an array."""
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def mix(number: int) -> int:
    """Mix the last 64 bits of a number.

    >>> hex(mix(1)), mix(2**64 + 1) == mix(1)
    ('0x5692161d100b05e5', True)
    """
    return int(scatter(np.array([number & _MASK], np.uint64))[0])
