"""CurveZMQ: connections that are encrypted, and prove to each side who the other is.

Both sides of https://rfc.zeromq.org/spec/26/ as machines without sockets, as ``zmtp.Wire`` is.  All
cryptography is libsodium's, by PyNaCl; what is here are the forms of the commands and the checks.

A client knows the server's long-term key S and has a long-term key C.  Each side makes a short-term
pair (C', c' and S', s') for one connection, so that long-term keys do not open what was recorded::

    HELLO     C', box of zeros from C' to S
    WELCOME   box from S to C': S', cookie
    INITIATE  cookie, box from C' to S': C, vouch, properties; vouch: box from C to S': C', S
    READY     box from S' to C': what the server is
    MESSAGE   box between C' and S': flags, frame; either way, commands such as PING too

The nonce of each box is a text that names its purpose, and 16 random bytes or the sender's count of
boxes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hmac import compare_digest

from nacl._sodium import ffi, lib
from nacl.bindings import (
    crypto_box_afternm,
    crypto_box_beforenm,
    crypto_box_open_afternm,
    crypto_scalarmult_base,
)
from nacl.exceptions import CryptoError

from dovetail.transport import keys, zmtp
from dovetail.transport.keys import Guard, Key
from dovetail.transport.zmtp import LONG, Told, WireError

OVERHEAD = 33
"""Bytes that encryption adds to a frame: the word MESSAGE, a count, a checksum and flags."""

ROOM = 4096
"""Maximum bytes of a box that is sealed or opened in the connection's own buffer.

``nacl.bindings`` allocates a buffer for each box, checks it twice and copies it again, which takes
two thirds of the time of a short one. So short boxes call libsodium directly; longer ones use the
bindings."""

_SEAL, _OPEN = lib.crypto_box_easy_afternm, lib.crypto_box_open_easy_afternm
_INNER_COMMAND = 2
"""The flag of a command in a MESSAGE; 1 says that more frames of the message come."""
_MESSAGE = b"\x07MESSAGE"
_SHORT = [bytes((0, size)) + _MESSAGE for size in range(256)]
"""The bytes before the count in a frame, by the bytes after the frame's header."""
_VERSION = b"\x01\x00"
_HELLO, _COOKIE, _VOUCH = 194, 96, 96
"""Bytes of HELLO after its name, of a cookie, and of a vouch with its nonce."""


class _Curve(zmtp.Wire):
    """The base of both sides."""

    __slots__ = (
        *("_heard", "_incoming", "_outgoing", "_place", "_random"),
        *("_room", "_said", "_shared", "_short"),
    )

    def __init__(
        self, kind: bytes, most: int, directions: str, random: Callable[[int], bytes]
    ) -> None:
        super().__init__(kind, most + OVERHEAD, "CURVE")
        self._unused = ~LONG
        self._outgoing = b"CurveZMQMESSAGE" + directions[0].encode()
        self._incoming = b"CurveZMQMESSAGE" + directions[1].encode()
        self._random = random
        self._short = b""
        """Our short-term secret key."""
        self._place = self._room = ffi.NULL
        """The buffer in which boxes are sealed and opened, for libsodium and for us, once the peer
        is ready."""
        self._shared = b""
        """The secret shared by both short-term keys."""
        self._said = 0
        """The number of boxes sent."""
        self._heard = bytes(8)
        """The peer's highest count; a box with a lower one is a replay, or out of order."""

    def allow(self, most: int) -> None:
        """Read frames of up to ``most`` bytes, without what encryption adds, from now on."""
        self._most = most + OVERHEAD

    # -- messages ----------------------------------------------------------------------------------

    def parts(self, frames: Sequence[bytes]) -> list[bytes]:
        return [self._sealed(frames, b"\x00")]

    def _sealed(self, frames: Sequence[bytes], flags: bytes) -> bytes:
        """Return the bytes of frames; ``flags`` are those of the last."""
        said, outgoing, shared = self._said, self._outgoing, self._shared
        place, room = self._place, self._room
        last = len(frames) - 1
        out: list[bytes] = []
        for index, frame in enumerate(frames):
            said += 1
            count = said.to_bytes(8, "big")
            size = len(frame) + OVERHEAD
            plain = b"\x01" + frame if index < last else flags + frame
            if size <= ROOM:
                _SEAL(place, plain, size - 32, outgoing + count, shared)
                box: bytes = room[: size - 16]
            else:
                box = crypto_box_afternm(plain, outgoing + count, shared)
            if size < 256:
                out += (_SHORT[size], count, box)
            else:
                out += (b"\x02", size.to_bytes(8, "big"), _MESSAGE, count, box)
        self._said = said
        return b"".join(out)

    def feed(self, data: bytes) -> list[bytes]:
        return self._unsealed(super().feed(data))

    def took(self, count: int) -> list[bytes]:
        return self._unsealed(super().took(count))

    def _unsealed(self, bodies: list[bytes]) -> list[bytes]:
        """Open encrypted frames; act upon those that are commands, and return the others."""
        if not bodies:
            return bodies
        incoming, shared, heard = self._incoming, self._shared, self._heard
        place, room = self._place, self._room
        frames: list[bytes] = []
        for body in bodies:
            count = body[8:16]
            size = len(body) - 16
            if size < 17 or body[:8] != _MESSAGE:
                raise WireError("a frame that is not encrypted")
            if count <= heard:
                raise WireError("an encrypted frame came twice, or out of order")
            self._heard = heard = count
            if size <= ROOM:
                if _OPEN(place, body[16:], size, incoming + count, shared):
                    raise WireError("an encrypted frame that cannot be opened")
                plain: bytes = room[: size - 16]
            else:
                try:
                    plain = crypto_box_open_afternm(body[16:], incoming + count, shared)
                except CryptoError:
                    raise WireError("an encrypted frame that cannot be opened") from None
            if not plain[0] & _INNER_COMMAND:
                frames.append(plain[1:])
                continue
            try:
                super()._command(plain[1:])
            except Told as told:
                told.frames = frames
                raise
        return frames

    def _meet(self, data: bytes) -> None:
        super()._meet(data)
        self._place = ffi.new("unsigned char[]", ROOM)
        self._room = ffi.buffer(self._place)

    def _command(self, body: bytes) -> None:
        """Take a command that is not encrypted."""
        if self.ready:
            raise WireError("a command that is not encrypted")
        super()._command(body)

    def _say(self, body: bytes) -> None:
        self.out += self._sealed([body], bytes((_INNER_COMMAND,)))

    def farewell(self, text: str) -> bytes:
        """Return the bytes that tell the peer why we end the connection.

        Without encryption they are empty: libzmq would not try again after an ERROR.
        """
        if not self.ready:
            return b""
        return self._sealed([zmtp.complaint(text)], bytes((_INNER_COMMAND,)))

    # -- the handshake -----------------------------------------------------------------------------

    def _pair(self) -> bytes:
        """Make our short-term keys; return the public one."""
        self._short = self._random(32)
        return crypto_scalarmult_base(self._short)

    def _counted(self, purpose: bytes, shared: bytes, plain: bytes) -> bytes:
        """Return our next count and a box."""
        self._said += 1
        count = self._said.to_bytes(8, "big")
        return count + crypto_box_afternm(plain, purpose + count, shared)

    def _opened(self, purpose: bytes, shared: bytes, data: bytes) -> bytes:
        """Open what the peer's ``_counted`` returned."""
        count = data[:8]
        if count <= self._heard:
            raise WireError("a command of the handshake came twice, or out of order")
        self._heard = count
        return _unboxed(purpose + count, shared, data[8:])


class Server(_Curve):
    """A broker's side: lets in programs that prove to hold a key that a guard admits.

    It keeps its short-term key from WELCOME to INITIATE itself, as a connection of its own has the
    room and ends after seconds, so the cookie is random bytes that the client must return.
    """

    __slots__ = ("_cookie", "_guard", "_hello", "_refused")

    def __init__(
        self, most: int, guard: Guard, random: Callable[[int], bytes] = os.urandom
    ) -> None:
        super().__init__(b"ROUTER", most, "SC", random)
        self._guard = guard
        self._hello = b""
        """The client's short-term key."""
        self._cookie = b""
        self._refused = False
        """True if the client's key is not accepted."""

    def _begin(self) -> None:
        """Wait for HELLO."""

    def _shake(self, name: bytes, data: bytes) -> None:
        if name == b"HELLO" and not self._hello:
            self._greet_client(data)
        elif name == b"INITIATE" and self._hello:
            self._let_in(data)
        else:
            wanted = "INITIATE" if self._hello else "HELLO"
            raise WireError(f"the command {zmtp.shown(name)} came; expected {wanted}")

    def _greet_client(self, data: bytes) -> None:
        if len(data) != _HELLO or data[:2] != _VERSION:
            raise WireError("a HELLO of another version or length")
        client = self._hello = data[74:106]
        shared = _agree(client, keys.raw(self._guard.key.secret))
        if self._opened(b"CurveZMQHELLO---", shared, data[106:]) != bytes(64):
            raise WireError("a HELLO that does not say what it must")
        ours = self._pair()
        self._shared = _agree(client, self._short)
        self._cookie = self._random(_COOKIE)
        nonce = self._random(16)
        box = crypto_box_afternm(ours + self._cookie, b"WELCOME-" + nonce, shared)
        self.out += zmtp.command(b"WELCOME", nonce + box)

    def _let_in(self, data: bytes) -> None:
        if not compare_digest(data[:_COOKIE], self._cookie):
            raise WireError("an INITIATE with another cookie")
        plain = self._opened(b"CurveZMQINITIATE", self._shared, data[_COOKIE:])
        client, vouch = plain[:32], plain[32 : 32 + _VOUCH]
        if len(vouch) < _VOUCH:
            raise WireError("an INITIATE that is too short")
        shared = _agree(client, self._short)
        if not compare_digest(
            _unboxed(b"VOUCH---" + vouch[:16], shared, vouch[16:]),
            self._hello + keys.raw(self._guard.key.public),
        ):
            raise WireError("an INITIATE that vouches for another connection")
        owner = keys.text(client)
        if not self._guard.admits(owner):
            self._refused = True
            raise WireError(f"its key {owner} is not let in")
        self._meet(plain[32 + _VOUCH :])
        self.owner = owner.encode()
        box = self._counted(b"CurveZMQREADY---", self._shared, self.properties)
        self.out += zmtp.command(b"READY", box)

    def farewell(self, text: str) -> bytes:
        """Return the bytes that tell the client why we end the connection."""
        return zmtp.error(zmtp.REFUSED) if self._refused else super().farewell(text)


class Client(_Curve):
    """A program's side."""

    __slots__ = ("_key", "_public")

    def __init__(self, most: int, key: Key, random: Callable[[int], bytes] = os.urandom) -> None:
        super().__init__(b"DEALER", most, "CS", random)
        self._key = key
        self._public = b""
        """Our short-term key."""
        self.trusted = False  # until WELCOME

    def _begin(self) -> None:
        self._public = self._pair()
        self._shared = _agree(keys.raw(self._key.server), self._short)
        box = self._counted(b"CurveZMQHELLO---", self._shared, bytes(64))
        # The zeros make the question longer than its answer, so it amplifies nothing.
        self.out += zmtp.command(b"HELLO", _VERSION + bytes(72) + self._public + box)

    def _shake(self, name: bytes, data: bytes) -> None:
        if name == b"WELCOME" and not self.trusted:
            self._introduce(data)
        elif name == b"READY" and self.trusted:
            self._meet(self._opened(b"CurveZMQREADY---", self._shared, data))
            self.owner = self._key.server.encode()
        else:
            wanted = "READY" if self.trusted else "WELCOME"
            raise WireError(f"the command {zmtp.shown(name)} came; expected {wanted}")

    def _introduce(self, data: bytes) -> None:
        """Say who we are."""
        plain = _unboxed(b"WELCOME-" + data[:16], self._shared, data[16:])
        if len(plain) != 32 + _COOKIE:
            raise WireError("a WELCOME of another length")
        self.trusted = True
        theirs, cookie = plain[:32], plain[32:]
        self._shared = _agree(theirs, self._short)
        nonce = self._random(16)
        vouch = nonce + crypto_box_afternm(
            self._public + keys.raw(self._key.server),
            b"VOUCH---" + nonce,
            _agree(theirs, keys.raw(self._key.secret)),
        )
        plain = keys.raw(self._key.public) + vouch + self.properties
        box = self._counted(b"CurveZMQINITIATE", self._shared, plain)
        self.out += zmtp.command(b"INITIATE", cookie + box)


def _agree(public: bytes, secret: bytes) -> bytes:
    """Return the key that two pairs of keys agree upon."""
    try:
        return crypto_box_beforenm(public, secret)
    except CryptoError:
        raise WireError("a key that no one can agree with") from None


def _unboxed(nonce: bytes, shared: bytes, box: bytes) -> bytes:
    try:
        return crypto_box_open_afternm(box, nonce, shared)
    except CryptoError:
        raise WireError("a command of the handshake that cannot be opened") from None
