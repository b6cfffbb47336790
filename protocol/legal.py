"""Legal actions as a bit mask: action ``a`` is bit ``a % 8`` of byte ``a // 8``."""

from __future__ import annotations

from collections.abc import Iterable


def mask(actions: Iterable[int], n: int) -> bytes:
    """Return the mask of some of the actions 0 .. ``n - 1``.

    >>> mask([0, 9], 10)
    b'\\x01\\x02'
    """
    out = bytearray(-(-n // 8))
    for action in actions:
        out[action >> 3] |= 1 << (action & 7)
    return bytes(out)


def unmask(mask: bytes) -> list[int]:
    """Return the actions of a mask in rising order.

    >>> unmask(b"\\x01\\x02")
    [0, 9]
    """
    return [8 * i + bit for i, byte in enumerate(mask) for bit in range(8) if byte >> bit & 1]


def in_mask(mask: bytes, action: int) -> bool:
    """Return whether an action is in a mask."""
    return 0 <= action < 8 * len(mask) and bool(mask[action >> 3] >> (action & 7) & 1)
