"""A peer's end: a ZMTP DEALER over one connection that it opens again when it breaks."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence

from dovetail.protocol.errors import DovetailError
from dovetail.transport import endpoint
from dovetail.transport.endpoint import parse, say_no_more, tune
from dovetail.transport.keys import Key
from dovetail.transport.unsent import Unsent, send
from dovetail.transport.zmtp import REFUSED, Mismatch, Told, Wire, WireError

FIRST_DELAY = 0.05
"""Seconds before the second attempt to connect; they double with each that fails."""
LONGEST_DELAY = 1.0
CONNECT = 10.0
"""Seconds that an attempt to connect may take."""
HANDSHAKE = 5.0
"""Seconds that the broker's socket has to greet."""
ATTEMPTS = 3
"""Consecutive broken handshakes after which the broker is assumed to have another key."""
PATIENCE = 60.0
"""Seconds for which a broker may read nothing."""
CHUNK = 1 << 18
"""Bytes read at a time while there is much to read."""
LITTLE = 1 << 16
"""Bytes read at a time otherwise: for more, the allocator asks the system for memory each time."""
MAX_FRAME = 1 << 31
"""Bytes in a frame from the broker."""
UNREAD, FRAME = 1 << 26, 1 << 10
"""Bytes of what a broker says that are kept until it reads, and what counts for each frame beside
its own: 65,536 short ones (S11.4)."""
DEAF = "the broker sends, and does not read what it is sent"

_AGAIN = (BlockingIOError, InterruptedError, TimeoutError)
_UNDER_WAY = (errno.EINPROGRESS, getattr(errno, "WSAEWOULDBLOCK", errno.EINPROGRESS))
_NOW = getattr(socket, "MSG_DONTWAIT", 0)
_WHOLE = socket.MSG_WAITALL if os.name == "posix" else 0


class Dealer:
    """A connection to a broker, which may start later. For one thread only.

    Args:
        address: the broker's.
        greet: called for each new connection; returns the frame that goes first.
        key: encrypts the connection, and proves who we are; it is not encrypted without one.

    Raises:
        DovetailError: it is not an address.
    """

    def __init__(self, address: str, greet: Callable[[], bytes], key: Key | None = None) -> None:
        self._endpoint = parse(address)
        self._greet = greet
        self._key = key
        self._failed = 0
        """Handshakes that a broker broke off before it proved to have the expected key."""
        self._met = False
        """True once a handshake has succeeded."""
        self._socket: socket.socket | None = None
        self._wire = self._side()
        self._connected = False
        """True once the system has connected the socket."""
        self._outbox = Unsent()
        self._frames: list[bytes] = []
        """Frames that came while something was being sent."""
        self._timeout = -1.0
        self._room = LITTLE
        """Bytes to read next."""
        self._delay = FIRST_DELAY
        self._next = 0.0
        """The time to try again or, while a socket is not ready, to give it up."""
        self._attempt = 0
        self.trouble = ""
        """The reason why there is no connection, if known."""
        self.patience = PATIENCE
        """Seconds for which ``send`` waits for a broker that reads nothing."""
        self.stopped: Callable[[], bool] = bool
        """True once ``send`` is to wait no more."""

    @property
    def ready(self) -> bool:
        return self._wire.ready

    # -- receiving ---------------------------------------------------------------------------------

    def receive(self, timeout: float) -> list[bytes]:
        if self._frames:
            frames, self._frames = self._frames, []
            return frames
        if not self._wire.ready or self._outbox.size:
            return self._progress(timeout)
        made = self._socket
        assert made is not None
        if timeout != self._timeout:
            self._set_timeout(made, timeout)
        room = self._wire.room
        try:
            if room is None:
                data = made.recv(self._room)
                count = len(data)
            else:
                data, count = b"", made.recv_into(room, 0, _WHOLE)
        except _AGAIN:
            return []
        except OSError as error:
            self._lost(error.strerror or str(error))
            return []
        if data:
            self._room = LITTLE if count < LITTLE else CHUNK
        return self._feed(data, count)

    def _feed(self, data: bytes, count: int) -> list[bytes]:
        """Take ``count`` bytes; if ``data`` is empty, they were read into the wire's room."""
        if not count:
            self._broken_off("the broker closed the connection")
            return []
        wire = self._wire
        try:
            frames = wire.feed(data) if data else wire.took(count)
        # A name for each: compiled, one name has the type of the first.
        except Mismatch as mismatch:
            if mismatch.theirs == "CURVE":
                raise self._refused(endpoint.NEEDS_KEY) from None
            if mismatch.theirs == "NULL":
                raise self._refused(endpoint.USES_NO_KEYS) from None
            self._lost(str(mismatch))
            return []
        except Told as told:
            if self._key is not None and not wire.ready and told.reason == REFUSED:
                raise self._refused(endpoint.REFUSES_KEY) from None
            self._lost(str(told))
            return told.frames
        except WireError as error:
            self._broken_off(str(error))
            return []
        if wire.out:
            self._say_out()
        return frames

    def _say_out(self) -> None:
        """Send the wire's own output; a PONG is left out if much waits before it."""
        if not self._wire.ready or self._outbox.size < CHUNK:
            self._outbox.add([bytes(self._wire.out)])
        self._wire.out.clear()
        self._push()

    def _refused(self, text: str) -> DovetailError:
        """Give up."""
        self._discard()
        return DovetailError(text.format(self._endpoint.text))

    def _broken_off(self, why: str) -> None:
        """Handle a connection that ended, perhaps because the broker has another key.

        A broker cannot say so: without its key, no answer would be believed.
        """
        if self._wire.greeted and not self._wire.trusted and not self._met:
            self._failed += 1
            if self._failed >= ATTEMPTS:
                raise self._refused(endpoint.WRONG_KEY)
        self._lost(why)

    def _side(self) -> Wire:
        if self._key is None:
            return Wire(b"DEALER", MAX_FRAME)
        from dovetail.transport.curve import Client

        return Client(MAX_FRAME, self._key)

    def _set_timeout(self, made: socket.socket, timeout: float) -> None:
        """Set the timeout of ``recv`` itself, which saves a system call."""
        self._timeout = timeout
        if os.name == "posix" and timeout > 0:
            whole = int(timeout)
            value = struct.pack("@ll", whole, max(1, int((timeout - whole) * 1e6)))
            made.settimeout(None)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
        else:
            made.settimeout(timeout)

    # -- sending -----------------------------------------------------------------------------------

    def send(self, frames: Sequence[bytes]) -> None:
        """Send frames as one message; without a connection they are dropped.

        Frames that are lost with a connection are sent again after the next ``hello`` (S5). This
        waits for a broker that is slow to read, and ends the connection after ``patience``.
        """
        if not self._wire.ready:
            return
        parts, sent, outbox = self._wire.parts(frames), 0, self._outbox
        if not outbox.size:
            made = self._socket
            assert made is not None
            try:
                sent = send(made, parts, _NOW)
            except _AGAIN:
                pass
            except OSError as error:
                self._lost(error.strerror or str(error))
                return
            if len(parts) == 1 and sent == len(parts[0]):
                return
        outbox.add(parts, sent)
        if not outbox.size:
            return
        left, end, held = outbox.size, time.monotonic() + self.patience, 0
        while outbox.size and self._wire.ready and not self.stopped():
            frames = self._progress(min(1.0, self.patience))  # the broker may wait for us to read
            self._frames += frames
            held += sum(map(len, frames)) + FRAME * len(frames)
            if held > UNREAD:
                self._lost(DEAF)
            elif outbox.size < left:
                left, end = outbox.size, time.monotonic() + self.patience
            elif time.monotonic() >= end:
                self._lost(f"the broker read nothing for {self.patience:g} s")

    def _push(self) -> None:
        """Send as much of the queue as the system takes now."""
        while self._outbox.size and self._socket is not None:
            try:
                self._outbox.send(self._socket, _NOW)
            except _AGAIN:
                return
            except OSError as error:
                self._lost(error.strerror or str(error))
                return

    # -- the connection ----------------------------------------------------------------------------

    def _progress(self, timeout: float) -> list[bytes]:
        """Connect, greet or send; return early with frames that came, or when all is sent."""
        end = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            if self._socket is not None and not self._wire.ready and now >= self._next:
                self._lost("the program there does not answer as a ZeroMQ socket does")
            made = self._socket
            if made is None:
                if now >= self._next:
                    self._open(now)
                elif now >= end:
                    return []
                else:
                    time.sleep(min(self._next, end) - now)
                continue
            until = end if self._wire.ready else min(end, self._next)
            want_write = self._outbox.size > 0 or not self._connected
            readable, writable = _wait(made, want_write, max(0.0, until - now))
            if writable and not self._connected:
                failed = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if failed:
                    self._lost(os.strerror(failed))
                    continue
                self._established(now)
            if writable:
                self._push()
            if readable and self._socket is made and self._connected:
                ready, room, data = self._wire.ready, self._wire.room, b""
                try:
                    if room is None:
                        data = made.recv(CHUNK, _NOW)
                        count = len(data)
                    else:
                        count = made.recv_into(room, 0, _NOW)
                except _AGAIN:
                    continue
                except OSError as error:
                    self._broken_off(error.strerror or str(error))
                    continue
                frames = self._feed(data, count)
                if self._wire.ready and not ready:
                    self._welcome()
                if frames:
                    return frames
            if self._wire.ready and not self._outbox.size and (writable or time.monotonic() >= end):
                return []
            if time.monotonic() >= end:
                return []

    def _open(self, now: float) -> None:
        self._wire = self._side()
        self._outbox.clear()
        self._connected = False
        self._timeout = -1.0
        self._next = now + CONNECT
        try:
            ways = self._endpoint.sockets()
            family, address = ways[self._attempt % len(ways)]
            self._attempt += 1
            made = self._socket = socket.socket(family, socket.SOCK_STREAM)
            tune(made)
            made.setblocking(False)
            made.connect(address)
        except OSError as error:
            if error.errno not in _UNDER_WAY:
                self._lost(error.strerror or str(error))
        else:
            self._established(now)

    def _established(self, now: float) -> None:
        self._connected = True
        self._next = now + HANDSHAKE
        self._say_out()

    def _welcome(self) -> None:
        """Greet the broker, whose socket is ready."""
        self._delay = FIRST_DELAY
        self._met = True
        self.trouble = ""
        self._outbox.add(self._wire.parts([self._greet()]))
        self._push()

    def _lost(self, why: str) -> None:
        """Handle a connection that is gone, or was never made."""
        self.trouble = why
        self._discard()
        self._next = time.monotonic() + self._delay
        self._delay = min(2 * self._delay, LONGEST_DELAY)

    def _discard(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._wire = self._side()
        self._outbox.clear()
        self._connected = False

    def reset(self) -> None:
        self._discard()
        self._next = 0.0

    def close(self, linger: float) -> None:
        """Disconnect, once the queue is sent or after ``linger`` seconds."""
        made = self._socket
        if made is not None and self._wire.ready and linger > 0:
            end = time.monotonic() + linger
            while self._outbox.size and self._wire.ready and time.monotonic() < end:
                self._progress(end - time.monotonic())
            if self._socket is made:
                say_no_more(made)
                _until_end(made, end)
        self._discard()


def _until_end(made: socket.socket, end: float) -> None:
    """Read until the other end closes too: closing earlier might lose the last data sent."""
    with contextlib.suppress(OSError):
        made.setblocking(False)
        while (left := end - time.monotonic()) > 0:
            readable, _ = _wait(made, False, left)
            if readable and not made.recv(CHUNK):
                return


def _wait(made: socket.socket, write: bool, timeout: float) -> tuple[bool, bool]:
    """Wait until a socket is readable or, if ``write``, writable."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(made, select.POLLIN | (select.POLLOUT if write else 0))
        found = poll.poll(timeout * 1000)
        mask = found[0][1] if found else 0
        broken = mask & (select.POLLERR | select.POLLHUP)
        return bool(mask & select.POLLIN or broken), bool(mask & select.POLLOUT or broken)
    readable, writable, failed = select.select([made], [made] if write else [], [made], timeout)
    return bool(readable or failed), bool(writable or failed)
