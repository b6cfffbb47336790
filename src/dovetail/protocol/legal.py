"""Legal actions as a bit mask: action ``a`` is bit ``a % 8`` of byte ``a // 8``.

A mask in a frame can allow 134 million actions, so these functions process it in pieces; only
``unmask`` builds a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.spaces import Discrete, Space

LARGEST = 1 << 17
"""Maximum bytes of a mask, for 1,048,576 actions; more are sent as a list."""
SHOWN = 10
"""Maximum legal actions that an error names."""
_PIECE = 4096
"""Bytes of a piece."""


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
    """Return the actions of a mask in ascending order.

    Raises:
        ProtocolError: ``limit``: the mask is too large.

    >>> unmask(b"\\x01\\x02")
    [0, 9]
    """
    if len(mask) > LARGEST:
        raise ProtocolError(
            "limit", f"the mask is {len(mask):,} bytes long; at most {LARGEST:,} are allowed"
        )
    return _actions(mask)


def in_mask(mask: bytes, action: int) -> bool:
    """Return whether an action is in a mask."""
    return 0 <= action < 8 * len(mask) and bool(mask[action >> 3] >> (action & 7) & 1)


def empty(mask: bytes) -> bool:
    """Return whether a mask has no action."""
    return mask.count(0) == len(mask)


def count(mask: bytes) -> int:
    """Return the number of actions in a mask.

    >>> count(b"\\x01\\x07")
    4
    """
    return sum(piece.bit_count() for _, piece in _pieces(mask))


def nth(mask: bytes, place: int) -> int:
    """Return a mask's action by its index in ascending order.

    Raises:
        IndexError: there are fewer actions.

    >>> nth(b"\\x01\\x07", 3)
    10
    """
    for at, piece in _pieces(mask):
        here = piece.bit_count()
        if place < here:
            return 8 * at + _actions(mask[at : at + _PIECE])[place]
        place -= here
    raise IndexError(place)


def shown(legal: list[int] | bytes) -> str:
    """Return the first legal actions for an error, with the total if some are left out.

    >>> shown([3, 4]), shown(bytes([255, 255]))
    ('3, 4', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... (16 in all)')
    """
    if isinstance(legal, bytes):
        first, total = list(islice(_each(legal), SHOWN)), count(legal)
    else:
        first, total = legal[:SHOWN], len(legal)
    text = ", ".join(map(str, first))
    return text if total == len(first) else f"{text}, ... ({total:,} in all)"


def problem(mask: bytes, space: Space) -> str | None:
    """Return what is wrong with the mask of a seat to act; None if it is valid."""
    size = len(mask)
    if isinstance(space, Discrete):
        end = max(0, space.start + space.n)
        if size > -(-end // 8):
            return f"is {size:,} bytes long; its action space needs at most {-(-end // 8):,}"
    if size > LARGEST:
        return f"is {size:,} bytes long; at most {LARGEST:,} are allowed, so send a list instead"
    return "allows no action" if empty(mask) else None


def outside(legal: list[int] | bytes, space: Space) -> int | None:
    """Return a legal action outside the action space; None if all of the one or more are inside.

    >>> outside([3, 9999], Discrete(48)), outside(bytes([1]), Discrete(2, start=1))
    (9999, 0)
    """
    ends = _ends(legal) if isinstance(legal, bytes) else (min(legal), max(legal))
    # Integer actions form a range, so that it is enough to check both ends.
    return next((action for action in ends if not space.contains(action)), None)


def _ends(mask: bytes) -> tuple[int, int]:
    last = len(mask.rstrip(b"\0")) - 1
    return nth(mask, 0), 8 * last + mask[last].bit_length() - 1


def _pieces(mask: bytes) -> Iterator[tuple[int, int]]:
    for at in range(0, len(mask), _PIECE):
        yield at, int.from_bytes(mask[at : at + _PIECE], "little")


def _each(mask: bytes) -> Iterator[int]:
    for at, piece in _pieces(mask):
        if piece:
            yield from (8 * at + action for action in _actions(mask[at : at + _PIECE]))


def _actions(mask: bytes) -> list[int]:
    if len(mask) <= 8:  # numpy costs more than so few bits
        return [8 * i + bit for i, byte in enumerate(mask) for bit in range(8) if byte >> bit & 1]
    bits = np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little")
    found: list[int] = np.flatnonzero(bits).tolist()
    return found
