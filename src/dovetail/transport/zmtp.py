"""ZMTP, ZeroMQ's wire protocol, as a machine without sockets: bytes in, frames and bytes out.

It speaks ZMTP 3.1 with the NULL mechanism, and accepts any 3.x from its peer
(https://rfc.zeromq.org/spec/23/ and https://rfc.zeromq.org/spec/37/); ``dovetail.transport.curve``
adds the CURVE mechanism.

Frames are returned as they complete, before the message that they are a part of: each part is a
message of Dovetail's contract on its own (S3.4), so a bundle of any length needs only the memory of
its longest frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from dovetail.protocol.display_text import line
from dovetail.transport.unsent import LARGE

ERROR_TEXT = 255
"""Bytes of a reason that an ERROR command can carry."""
REFUSED = "400"
"""The reason in an ERROR command to a program whose key is not let in, as libzmq gives it."""
COMMAND_MOST = 65_536
"""Bytes in a command."""

CONTROLS = 1_000
"""Control frames that are read at once, and need no message of ours between them."""

MORE, LONG, COMMAND = 1, 2, 4
_GREETING = 64
_SIGNATURE = b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f"
_VERSION = 12
"""Bytes of a greeting up to the version.  A DEALER sends the rest once it has read the other
side's: libzmq closes a connection that asks for the wrong mechanism before it has sent its own."""
PEERS = {b"ROUTER": (b"DEALER", b"REQ", b"ROUTER"), b"DEALER": (b"ROUTER", b"REP", b"DEALER")}
"""The socket types that may talk to each of ours."""


class WireError(Exception):
    """The peer broke the protocol or ended the connection with an ERROR command."""


class TooLarge(WireError):
    """A frame exceeds the connection's limit."""


class Mismatch(WireError):
    """The peer asks for a security mechanism other than ours; ``theirs`` is its name."""

    def __init__(self, ours: str, theirs: str) -> None:
        super().__init__(f"it asks for the security mechanism {theirs!r}; expected {ours}")
        self.theirs = theirs


class Told(WireError):
    """The peer ended the connection with an ERROR command; ``reason`` is what it says."""

    def __init__(self, reason: str) -> None:
        self.reason = line(reason)
        super().__init__(f"the other side says: {self.reason or 'an error'}")
        self.frames: list[bytes] = []
        """The frames before it, in the same piece of data."""


def greeting(mechanism: str, server: bool = False) -> bytes:
    """Return the first bytes that a side sends."""
    name = mechanism.encode().ljust(20, b"\0")
    return (_SIGNATURE + b"\x03\x01" + name + bytes([server])).ljust(_GREETING, b"\0")


GREETING = greeting("NULL")
"""The first bytes that each side sends without encryption."""


def named(name: bytes, data: bytes = b"") -> bytes:
    """Return the body of a command."""
    return len(name).to_bytes() + name + data


def framed(body: bytes) -> bytes:
    """Return the bytes of a command with this body."""
    if len(body) < 256:
        return b"\x04" + len(body).to_bytes() + body
    return b"\x06" + len(body).to_bytes(8, "big") + body


def command(name: bytes, data: bytes = b"") -> bytes:
    """Return the bytes of a command."""
    return framed(named(name, data))


def properties(kind: bytes) -> bytes:
    """Return the properties of a socket of a type such as ``ROUTER``, without an identity."""
    return _property(b"Socket-Type", kind) + _property(b"Identity", b"")


def complaint(text: str) -> bytes:
    """Return the body of an ERROR command."""
    reason = text.encode()[:ERROR_TEXT]
    return named(b"ERROR", len(reason).to_bytes() + reason)


def error(text: str) -> bytes:
    """Return an ERROR command."""
    return framed(complaint(text))


def _property(name: bytes, value: bytes) -> bytes:
    return len(name).to_bytes() + name + len(value).to_bytes(4, "big") + value


class Wire:
    """One side of one connection.

    Args:
        kind: our socket type, ``ROUTER`` or ``DEALER``.
        most: the bytes that a frame may have.
        mechanism: the name of our security mechanism; a subclass adds one beside NULL.
    """

    __slots__ = (
        *("_greeting", "_held", "_long", "_mechanism", "_most", "_need", "_unused"),
        *("controls", "ended", "greeted", "kind", "out", "owner", "properties", "ready", "room"),
        "trusted",
    )

    def __init__(self, kind: bytes, most: int, mechanism: str = "NULL") -> None:
        self.kind = kind
        self._mechanism = mechanism
        self._greeting = greeting(mechanism, mechanism != "NULL" and kind == b"ROUTER")
        self._unused = ~(MORE | LONG)
        """Flags that no frame with data has."""
        self._most = most
        self._held = bytearray()
        """The bytes of an incomplete frame or command."""
        self._need = 0
        """The number of bytes ``_held`` needs before any of it can be read."""
        self._long: BytesIO | None = None
        """An incomplete long frame."""
        self.room: memoryview | None = None
        """The place for the rest of a long frame, for a caller that reads into it; see ``took``."""
        self.out = bytearray(self._greeting if kind == b"ROUTER" else self._greeting[:_VERSION])
        """Bytes to send before anything else; the caller takes them."""
        self.greeted = False
        """True once the peer's greeting has come."""
        self.ready = False
        """True once the peer is ready for messages."""
        self.properties = properties(kind)
        """The properties of this side."""
        self.owner = b""
        """The public key that the peer has proved to hold; empty without encryption."""
        self.trusted = True
        """True once the peer has authenticated."""
        self.ended = False
        """True once the peer has said that it sends nothing more."""
        self.controls = 0
        """Frames in the latest bytes that are not part of a message, such as ZeroMQ's PING."""

    @property
    def incomplete(self) -> int:
        """Bytes of an incomplete frame."""
        if self.room is None or self._long is None:
            return len(self._held)
        return self._long.getbuffer().nbytes - len(self.room)

    def parts(self, frames: Sequence[bytes]) -> list[bytes]:
        """Return the bytes of a message of one or more frames; each long frame is a part, without a
        copy."""
        if len(frames) == 1 and len(frames[0]) < LARGE:
            [frame] = frames
            return [self._header(len(frame), False) + frame]
        parts = list[bytes]()
        short = list[bytes]()
        left = len(frames)
        for frame in frames:
            left -= 1
            short.append(self._header(len(frame), left > 0))
            if len(frame) < LARGE:
                short.append(frame)
            else:
                parts += (b"".join(short), frame)
                short.clear()
        if short:
            parts.append(b"".join(short))
        return parts

    def _header(self, size: int, more: bool) -> bytes:
        """Return the bytes before a frame."""
        if size < 256:
            return (b"\x01" if more else b"\x00") + size.to_bytes()
        return (b"\x03" if more else b"\x02") + size.to_bytes(8, "big")

    def farewell(self, text: str) -> bytes:
        """Return the bytes that tell the peer why we end the connection, if there is a reason."""
        return error(text) if self.greeted and text else b""

    def rejection(self, text: str) -> bytes:
        """Return the bytes that tell a peer that there is no room for it."""
        return bytes(self.out) + error(text)

    def allow(self, most: int) -> None:
        """Read frames of up to ``most`` bytes from now on."""
        self._most = most

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes from the peer; return the frames that they complete.

        Raises:
            WireError: the peer broke the protocol; the connection is of no further use.
        """
        held, room = self._held, self.room
        self.controls = 0
        if room is not None:
            count = min(len(data), len(room))
            room[:count] = data[:count]
            frames: list[bytes] = Wire.took(self, count)
            return frames + Wire.feed(self, data[count:]) if count < len(data) else frames
        if held:
            held += data
            if len(held) < self._need:
                return []
            data = bytes(held)
            held.clear()
        position = 0
        if not self.greeted:
            position = self._greet(data)
            if not position:
                return []
        frames = []
        size = len(data)
        need = 0
        unused = self._unused
        while size - position >= 2:
            flags = data[position]
            if flags & LONG:
                if size - position < 9:
                    need = 9
                    break
                start = position + 9
                length = int.from_bytes(data[position + 1 : start], "big")
            else:
                start = position + 2
                length = data[position + 1]
            if flags & unused or length > self._most or not self.ready:
                self._check(flags, length)
            end = start + length
            if end > size:
                if length >= LARGE and not flags & COMMAND:
                    self._begin_long(data, start, length)
                    return frames
                need = end - position
                break
            position = end
            if flags & COMMAND:
                try:
                    self._command(data[start:end])
                except Told as told:
                    told.frames = frames
                    raise
            else:
                frames.append(data[start:end])
        if position < size:
            held += data[position:] if position else data
            self._need = need
        return frames

    def _begin_long(self, data: bytes, start: int, length: int) -> None:
        """Make room for a long frame whose first bytes are in ``data``.

        The system allocates memory as bytes arrive, however many are announced.
        """
        try:
            self._long = BytesIO(bytes(length))
        except MemoryError:
            raise WireError(f"a frame of {length:,} bytes, for which there is no memory") from None
        with self._long.getbuffer() as whole:
            whole[: len(data) - start] = memoryview(data)[start:]
            self.room = whole[len(data) - start :]

    def took(self, count: int) -> list[bytes]:
        """Take ``count`` bytes that were read into ``room``; return the frame that they complete.

        Raises:
            WireError: the peer broke the protocol; the connection is of no further use.
        """
        room, frame = self.room, self._long
        assert room is not None
        assert frame is not None
        with room:
            self.room = room[count:] if count < len(room) else None
        if self.room is not None:
            return []
        self._long = None
        return [frame.getvalue()]  # its buffer itself, since no one else has it

    def _greet(self, data: bytes) -> int:
        """Read the peer's greeting; return its length once it is complete."""
        if data[:1] != b"\xff" or (len(data) > 9 and not data[9] & 1):
            raise WireError(f"not a ZeroMQ peer: it began with {data[:10]!r}")
        if len(data) > 10 and data[10] < 3:
            raise WireError(f"it speaks version {data[10]} of ZMTP; expected 3 or later")
        mechanism = data[12:32]
        if len(mechanism) == 20 and mechanism != self._greeting[12:32]:
            theirs = mechanism.rstrip(b"\0").decode("ascii", "replace")
            raise Mismatch(self._mechanism, theirs)
        if len(data) < _GREETING:
            self._held += data
            self._need = 0  # look at each byte, to refuse another protocol at its first wrong byte
            return 0
        self.greeted = True
        if self.kind != b"ROUTER":
            self.out += self._greeting[_VERSION:]
        self._begin()
        return _GREETING

    def _begin(self) -> None:
        """Send what follows the greetings."""
        self.out += command(b"READY", self.properties)

    def _check(self, flags: int, length: int) -> None:
        if flags > 7 or flags & (COMMAND | MORE) == COMMAND | MORE:
            raise WireError(f"a frame begins with the flags 0x{flags:02x}; expected 0 to 4 or 6")
        if flags & COMMAND:
            if length > COMMAND_MOST:
                raise WireError(f"a command of {length} bytes; at most {COMMAND_MOST} are read")
            return
        if not self.ready:
            raise WireError("a message came before READY")
        if flags & self._unused:
            raise WireError(
                f"an encrypted frame begins with the flags 0x{flags:02x}; expected 0 or 2"
            )
        if length > self._most:
            raise TooLarge(f"a frame of {length:,} bytes; at most {self._most:,} are read")

    def control(self) -> None:
        """Count a control frame.

        Raises:
            WireError: there are too many.
        """
        self.controls += 1
        if self.controls > CONTROLS:
            raise WireError(f"more than {CONTROLS:,} control frames at once")

    def _command(self, body: bytes) -> None:
        self.control()
        length = body[0] if body else 0
        name, data = body[1 : 1 + length], body[1 + length :]
        if not name or len(name) < length:
            raise WireError("a command without a name")
        if name == b"ERROR":
            reason = data[1 : 1 + data[0]] if data else b""
            raise Told(reason.decode(errors="replace"))
        if not self.ready:
            self._shake(name, data)
        elif name == b"PING":
            # Two bytes of time to live, then up to 16 of context, which the answer repeats.
            if len(data) < 2:
                raise WireError("a PING without a time to live")
            self._say(named(b"PONG", data[2:18]))
        # Others, such as PONG, mean nothing to us.

    def _say(self, body: bytes) -> None:
        self.out += framed(body)

    def _shake(self, name: bytes, data: bytes) -> None:
        if name != b"READY":
            raise WireError(f"the command {shown(name)} came before READY")
        self._meet(data)

    def _meet(self, data: bytes) -> None:
        """Read the properties of a peer that is ready."""
        kind = b""
        position = 0
        while position < len(data):
            start = position + 1 + data[position]
            end = start + 4 + int.from_bytes(data[start : start + 4], "big")
            if end > len(data) or start + 4 > len(data):
                raise WireError("a property of READY is longer than READY itself")
            name, value = data[position + 1 : start].lower(), data[start + 4 : end]
            if name == b"socket-type":
                kind = value
            position = end
        if kind not in PEERS[self.kind]:
            ours = self.kind.decode()
            wanted = PEERS[self.kind][0].decode()
            raise WireError(f"a socket of type {shown(kind)} cannot talk to {ours}; use {wanted}")
        self.ready = True


def shown(name: bytes) -> str:
    """Return a name that a peer sent as text for the log."""
    return line(name[:20].decode("ascii", "replace")) or "unknown"
