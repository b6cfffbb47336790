"""Limits on frames, checked on the bytes before anything is decoded.

A cheap upper bound comes first: a frame of n bytes has at most n values, and cannot be nested
deeper than the number of its bytes that could open a map or an array.  Only a frame that exceeds
the bound is walked through, without building any value.  A long frame often has few values, such as
a single tensor, so the walk is tried first and given up after a few values.
"""

from __future__ import annotations

from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.messages import Limits

_NOT_OPENING = bytes(b for b in range(256) if not (0x80 <= b <= 0x9F or 0xDC <= b <= 0xDF))

# Number of length bytes after a header, for values that contain no other.
_LENGTH_BYTES = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_EXTENSIONS = (0xC7, 0xC8, 0xC9)
# Number of bytes after a header, for values of fixed size.
_FIXED = {
    **dict.fromkeys([*range(0x80), *range(0xE0, 0x100)], 0),
    **{0xA0 + n: n for n in range(32)},
    **{0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8},
    **{0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8},
    **{0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17},
}
# The same with the header, by header byte; 0 if the size is not fixed.
_SIZES = tuple(_FIXED[byte] + 1 if byte in _FIXED else 0 for byte in range(256))
LONG, FEW = 4096, 64
"""Bytes from which a frame is long, and values after which its first walk is given up."""

# Number of length bytes, and values per entry, of arrays and maps with a long header.
_CONTAINERS = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def check(frame: bytes, limits: Limits) -> None:
    """Check that ``frame`` is one MessagePack value within ``limits``.

    A frame that passes can still be malformed, but then costs its reader no more than its size.

    Raises:
        ProtocolError: code ``limit`` or ``malformed``.
    """
    if len(frame) > LONG and walk(frame, limits, FEW):
        return
    if len(frame) > min(limits.frame, limits.elements) or openings(frame) > limits.depth:
        walk(frame, limits)


def openings(frame: bytes) -> int:
    """Return the number of bytes that could open a map or array, a bound of the frame's depth."""
    return len(frame.translate(None, _NOT_OPENING))


def walk(frame: bytes, limits: Limits, few: int = 0) -> bool:
    """Walk through a frame, raising as ``check`` does.

    If ``few`` is not 0, stop and return False once there are more values than that.
    """
    if len(frame) > limits.frame:
        raise ProtocolError(
            "limit", f"frame of {len(frame)} bytes; at most {limits.frame} are read"
        )
    size, most, sizes = len(frame), limits.elements, _SIZES
    position = 0
    elements = 0
    left = 1  # values left in the innermost open container
    outer: list[int] = []  # and in those around it
    while True:
        while left:
            if position >= size:
                raise ProtocolError("malformed", f"frame of {size} bytes ends inside a value")
            left -= 1
            elements += 1
            if elements == few:
                return False
            if elements > most:
                raise ProtocolError("limit", f"more than {most} values in a frame")
            byte = frame[position]
            known = sizes[byte]
            if known:
                position += known
                continue
            position += 1
            if byte in _LENGTH_BYTES:
                width = _LENGTH_BYTES[byte]
                length = int.from_bytes(frame[position : position + width], "big")
                position += width + length + (byte in _EXTENSIONS)
                continue
            if byte == 0xC1:
                raise ProtocolError("malformed", f"byte 0xc1 at {position - 1} is not MessagePack")
            if byte <= 0x9F:
                count = (byte & 0x0F) * (2 if byte <= 0x8F else 1)
            else:
                width, each = _CONTAINERS[byte]
                count = int.from_bytes(frame[position : position + width], "big") * each
                position += width
            if count > size - position:
                raise ProtocolError(
                    "malformed", f"{count} values announced with {size - position} bytes to come"
                )
            outer.append(left)
            left = count
            if len(outer) > limits.depth:
                raise ProtocolError("limit", f"nested deeper than {limits.depth}")
        if not outer:
            break
        left = outer.pop()
    if position != size:
        what = "ends inside a value" if position > size else f"continues after byte {position}"
        raise ProtocolError("malformed", f"frame of {size} bytes {what}")
    return True
