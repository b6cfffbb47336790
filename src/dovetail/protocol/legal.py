"""Legal actions as a bit mask: action ``a`` is bit ``a % 8`` of byte ``a // 8``.

A mask of one frame can allow 134 million actions, so whatever only asks about a mask works through
it piece by piece and builds no list of its actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.spaces import Discrete, Space

LARGEST = 1 << 17
"""Bytes of a mask at most: 1,048,576 actions.  More actions are sent as a list."""
SHOWN = 10
"""Legal actions that an error names."""
_PIECE = 4096
"""Bytes that are looked at together."""


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

    Raises:
        ProtocolError: code ``limit``: the mask is larger than the contract allows.

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
    """Return how many actions a mask has.

    >>> count(b"\\x01\\x07")
    4
    """
    return sum(piece.bit_count() for _, piece in _pieces(mask))


def nth(mask: bytes, place: int) -> int:
    """Return the action at a place in the rising order of a mask's actions.

    Raises:
        IndexError: there are not so many.

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
    """Return the first legal actions for an error, and how many there are if it leaves some out.

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
    """Return what is wrong with the mask of a seat to act, if something is.

    Args:
        mask: of any size.
        space: the seat's action space.
    """
    size = len(mask)
    if isinstance(space, Discrete):
        end = max(0, space.start + space.n)
        if size > -(-end // 8):
            return f"is {size:,} bytes long; its action space needs at most {-(-end // 8):,}"
    if size > LARGEST:
        return f"is {size:,} bytes long; at most {LARGEST:,} are allowed, so send a list instead"
    return "allows no action" if empty(mask) else None


def outside(legal: list[int] | bytes, space: Space) -> int | None:
    """Return one of the legal actions, at least one, that the action space does not have; None if
    it has all.

    >>> outside([3, 9999], Discrete(48)), outside(bytes([1]), Discrete(2, start=1))
    (9999, 0)
    """
    ends = _ends(legal) if isinstance(legal, bytes) else (min(legal), max(legal))
    # The actions that are integers are those of a range, so that what lies between its members is
    # in it.
    return next((action for action in ends if not space.contains(action)), None)


def _ends(mask: bytes) -> tuple[int, int]:
    """Return the lowest and the highest action of a mask."""
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
