"""The fuzzed parts of CURVE: either side, at any stage of its handshake, beside a peer that has a
key.

An input's first byte chooses the side, the stage up to which an honest peer speaks, and the length
of the pieces in which the bytes come.  Steps follow, which add to the bytes or change them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import NamedTuple

from nacl.bindings import crypto_scalarmult_base

from dovetail.transport import keys
from dovetail.transport.curve import Client, Server
from dovetail.transport.keys import Guard, Key
from dovetail.transport.zmtp import WireError

RAW, SEALED, FLIP, AGAIN, KINDS = range(5)
"""Add bytes; add bytes that the peer encrypts; change a byte; repeat the last bytes."""
STAGES = 4
"""How much the honest peer says: nothing, its greeting, the handshake but for its end, and all of
``HONEST``."""
HONEST = [b"hello", b"a longer frame " * 20, b""]
MOST = 1000
STEPS = 20


def pair(number: int) -> Key:
    """Return the pair whose secret key is a number of bytes of one value."""
    secret = bytes([number]) * 32
    return Key(keys.text(crypto_scalarmult_base(secret)), keys.text(secret))


OURS, THEIRS = pair(2), pair(1)


def _drawn() -> Callable[[int], bytes]:
    """Return what draws the same bytes each time that it is made."""
    values = count(3)
    return lambda size: bytes([next(values)]) * size


def side(client: bool) -> Server | Client:
    """Return one side, at its beginning."""
    if client:
        return Client(MOST, Key(THEIRS.public, THEIRS.secret, OURS.public), _drawn())
    return Server(MOST, Guard(OURS, lambda public: public == THEIRS.public), _drawn())


class Said(NamedTuple):
    """The messages of an honest peer to a side."""

    peer: Server | Client
    boxes: int
    """How many it has counted."""
    stages: list[bytes]
    """All that it has said, by the stage."""


@cache
def honest(client: bool) -> Said:
    """Have a peer greet a side and say ``HONEST``."""
    one, peer = side(client), side(not client)
    heard: list[bytes] = []
    while not (one.ready and peer.ready):
        heard.append(bytes(peer.out))
        peer.out.clear()
        one.feed(heard[-1])
        said = bytes(one.out)
        one.out.clear()
        peer.feed(said)
    handshake = b"".join(heard) + bytes(peer.out)
    peer.out.clear()
    whole = handshake + peer.parts(HONEST)[0]
    last = len(heard[-1])
    return Said(peer, peer._said, [b"", handshake[:64], handshake[:-last], whole])


def curve(data: bytes) -> None:
    """Feed a side: it takes no frame that its peer did not encrypt, and none twice or out of
    order."""
    if not data:
        return
    client, stage, size = bool(data[0] & 1), data[0] >> 1 & 3, 1 + (data[0] >> 3)
    said = honest(client)
    said.peer._said = said.boxes
    stream = bytearray(said.stages[stage])
    meant = list(HONEST) if stage == STAGES - 1 else []
    position = 1
    for _ in range(STEPS):
        if position >= len(data):
            break
        kind, more = data[position] % KINDS, data[position] // KINDS
        if kind == RAW:
            stream += data[position + 1 : position + 1 + more]
            position += more
        elif kind == SEALED and position + 1 < len(data):
            frame = data[position + 2 : position + 2 + more]
            flags = data[position + 1]
            stream += said.peer._sealed([frame], bytes([flags]))
            if not flags & 2:
                meant.append(frame)
            position += 1 + more
        elif kind == FLIP and stream:
            place = int.from_bytes(data[position + 1 : position + 3], "little") % len(stream)
            stream[place] ^= 1 << more % 8
            position += 2
        elif kind == AGAIN:
            stream += stream[-1 - 4 * more :]
        position += 1
    found = [_fed(client, bytes(stream), piece) for piece in (len(stream) or 1, size)]
    for frames, _, _, owner in found:
        left = iter(meant)
        assert all(frame in left for frame in frames), "a frame that the peer did not say"
        assert owner in (b"", (OURS if client else THEIRS).public.encode())
    whole, pieces = found
    if whole[1]:  # what came whole was refused before its frames were handed over
        assert pieces[1]
    else:
        assert whole == pieces


def _fed(client: bool, stream: bytes, piece: int) -> tuple[list[bytes], str, bytes, bytes]:
    """Return what a side finds in bytes: frames, what was wrong, what it says, and whose they
    are."""
    one, frames, end = side(client), [], ""
    for start in range(0, len(stream), piece):
        try:
            frames += one.feed(stream[start : start + piece])
        except WireError as error:
            end = str(error)
            break
    return frames, end, bytes(one.out), one.owner


def seeds() -> Iterator[bytes]:
    """Yield the inputs that a fuzz begins with."""
    for client in (0, 1):
        for stage in range(STAGES):
            first = bytes([client | stage << 1 | 5 << 3])
            yield first
            yield first + bytes([RAW + 3 * KINDS]) + b"\x00\x01a"
            yield first + bytes([SEALED + 3 * KINDS, 0]) + b"abc" + bytes([SEALED, 1])
            yield first + bytes([SEALED + 9 * KINDS, 2]) + b"\x04PING\x00\x01ab"
            yield first + bytes([SEALED + 8 * KINDS, 2]) + b"\x05ERROR\x01x"
            yield first + bytes([FLIP, 70, 0]) + bytes([FLIP + KINDS, 0, 1])
            yield first + bytes([AGAIN + 12 * KINDS])
