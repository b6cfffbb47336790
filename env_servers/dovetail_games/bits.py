"""Words of bits in compiled rules and players."""

from __future__ import annotations

from dovetail.peer.kernels import njit


@njit(cache=True, nogil=True)
def popcount(word: int) -> int:
    """Return the number of bits set in a word.

    >>> popcount(0b1011)
    3
    """
    count = 0
    while word:
        word &= word - 1
        count += 1
    return count
