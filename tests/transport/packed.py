"""ZMTP as the tests write it, to compare ``Wire.parts`` with."""

from __future__ import annotations

from dovetail.transport import zmtp


def pack(frames: list[bytes]) -> bytes:
    """Return the bytes of one message of one or more frames."""
    last = len(frames) - 1
    out: list[bytes] = []
    for index, frame in enumerate(frames):
        size = len(frame)
        more = index < last
        if size < 256:
            out += (b"\x01" if more else b"\x00", size.to_bytes(), frame)
        else:
            out += (b"\x03" if more else b"\x02", size.to_bytes(8, "big"), frame)
    return b"".join(out)


def ready(kind: bytes) -> bytes:
    """Return the READY command of a socket of a type such as ``ROUTER``."""
    return zmtp.command(b"READY", zmtp.properties(kind))
