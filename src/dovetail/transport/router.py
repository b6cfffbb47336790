"""The broker's end: a ZMTP ROUTER over many connections, in one thread."""

from __future__ import annotations

import errno
import logging
import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Sequence
from math import inf

from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.transport.endpoint import Listener, Web, say_no_more, tune
from dovetail.transport.keys import Guard
from dovetail.transport.lines import KNOWN, Lines
from dovetail.transport.unsent import Unsent, send
from dovetail.transport.websocket import LOCAL, WebWire
from dovetail.transport.zmtp import TooLarge, Wire, WireError

log = logging.getLogger("dovetail.broker")

CONNECTIONS = 1 << 14
"""Connections at a time."""
HANDSHAKE = 5.0
"""Seconds that a peer has to greet."""
FIRST = 30.0
"""Seconds that a peer which has greeted has to send its first frame."""
CHUNK = 1 << 16
"""Maximum bytes read from one connection per round, beside those of a long frame."""
FRAMES = 1024
"""Maximum frames handed over from one connection per round."""
ACCEPTED = 64
"""Maximum connections accepted per round."""
LITTLE = 1 << 10
"""A read of fewer bytes that completes no frame is charged."""
READ, CONTROL = 20e-6, 10e-6
"""CPU seconds that such a read, and a control frame, are charged."""
ATTENTION = 0.01
"""CPU seconds a second that a connection gets for them."""
PATIENCE = 0.02
"""The most that it may be behind; then nothing is read from it until half is paid off."""
CROWD = 3
"""Connections from which nothing is read, beyond which each waits longer, by their number."""
NEWCOMER = 60.0
"""Seconds from which a connection is no longer new."""
DEBT = 0.1
"""CPU seconds that all unauthenticated connections are charged for a second's pause of a new one:
otherwise a peer that owes much would come again over another connection, and owe nothing."""
FULL = 8 << 20
"""Stop reading from a peer with this many bytes queued."""
LONG = 1 << 16
"""Bytes of an incomplete frame from which it is counted."""
INCOMPLETE = 1 << 30
"""Maximum of these bytes in all; beyond it, the connection whose frame began first is closed."""
LOST = 256 << 20
"""Close the connection of a peer with this many bytes queued."""
FAREWELL = 1.0
"""Seconds for which a closing connection may still read what is queued."""
REJECTED = 64
"""Over-limit connections that get an error at once; the rest are closed silently."""
QUIET = 10.0
"""Seconds between lines in the log about connections beyond the limit."""
SETTLE = 0.2
"""Seconds that a peer which has been sent everything has to close its end."""
PAUSE = 1.0
"""Seconds without accepting after the system ran out of something."""
SHARE = 0.1
"""CPU time of all unauthenticated connections together, as a share of the program's."""
LEAST = 0.02
"""Additional CPU time for them, as a share of wall-clock time."""
BUDGET = 0.1
"""Maximum unused budget, in CPU seconds."""
REOPEN = 0.02
"""Seconds between checks of a spent budget."""
UNAUTHENTICATED = 2
"""Unauthenticated connections served per round."""

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_AGAIN = (BlockingIOError, InterruptedError)


class Connection:
    """A peer's connection."""

    __slots__ = (
        *("backlog", "closing", "events", "name", "origin", "outbox", "owed", "paid"),
        *("selector", "since", "socket", "wire"),
    )

    def __init__(
        self, made: socket.socket, name: bytes, wire: Wire, selector: selectors.BaseSelector
    ) -> None:
        self.socket = made
        self.selector = selector
        """The selector that waits for it: that of unauthenticated connections, or the main one."""
        self.name = name
        """Unique among the connections of all routers; begins with the public key of the other end
        once that is known."""
        self.wire = wire
        self.origin = ""
        """The address of the other end's machine; empty for a Unix socket."""
        self.outbox = Unsent()
        self.events = _READ
        """The events that the selector waits for."""
        self.backlog: list[bytes] = []
        """Frames received and not handed over yet."""
        self.closing = 0.0
        """The time to close for good; nothing is read from it until then."""
        self.owed = self.paid = 0.0
        """CPU seconds that it owes for what brought no frame, and when that was."""
        self.since = -inf
        """The time at which it was authenticated."""

    @property
    def shown(self) -> str:
        """Its name for the log."""
        owner = self.wire.owner
        number = self.name[len(owner) :].hex()
        return f"{number} of {owner.decode()}" if owner else number


class Door:
    """An address at which a router listens.

    Args:
        bind: the address.
        guard: encrypts its connections, and says whose are accepted; they are not encrypted without
            one.
        owner: the public key under which its connections are known that present none.
    """

    __slots__ = ("guard", "listener", "owner")

    def __init__(self, bind: str, guard: Guard | None, owner: bytes = b"") -> None:
        self.listener = Listener(bind)
        self.guard = guard
        self.owner = owner

    def wire(self, first: int) -> Wire:
        """Return this side of a new connection, whose first frame may have ``first`` bytes."""
        if self.guard is None:
            wire = Wire(b"ROUTER", first)
            wire.owner = self.owner
            return wire
        from dovetail.transport.curve import Server

        return Server(first, self.guard)


class WebDoor(Door):
    """The address at which a router listens for programs in a browser.

    Args:
        web: the address, and the pages that may use it.
        other: the router's address for other programs.
    """

    __slots__ = ("address", "names", "other", "web")

    def __init__(self, web: Web, other: str) -> None:
        self.listener = Listener(f"tcp://{web.bind}", "--web")
        self.guard = None
        self.owner = b""
        self.web = web
        self.other = other
        self.address = self.listener.address.replace("tcp://", "ws://")
        host = self.address.removeprefix("ws://").rpartition(":")[0].strip("[]")
        self.names: Sequence[str] = LOCAL if host in LOCAL else ()
        """The names of the address; empty for any."""

    def wire(self, first: int) -> Wire:
        """Return this side of a new connection, whose first frame may have ``first`` bytes."""
        return WebWire(first, self.web, self.names, self.other)


Event = tuple[bytes, list[bytes] | None]
"""The name of a connection and frames that came over it; None: it has ended."""


class Router:
    """Exchanges frames with every peer that connects.

    A peer that breaks the protocol, is too slow to greet, or does not read is closed with one line
    in the log, and the others do not wait for it. For one thread only.

    All connections that are not authenticated share one CPU budget, however many there are: for
    accepting them, reading from them, and what the caller charges for them.

    Args:
        bind: the address to listen at.
        most: maximum bytes of a frame.
        connections: maximum number of open connections.
        first: maximum bytes of a connection's first frame; None for ``most``.
        guard: encrypts connections and decides which to accept; None for no encryption.
        inside: a second address, whose connections are not encrypted.
        owner: the public key that identifies peers at ``inside``.
        also: a further address, treated like ``bind``.
        web: the address for programs in browsers, without encryption and keys.

    Raises:
        DovetailError: it cannot listen there.
    """

    def __init__(
        self,
        bind: str,
        most: int,
        connections: int = CONNECTIONS,
        first: int | None = None,
        guard: Guard | None = None,
        inside: str = "",
        owner: bytes = b"",
        also: str = "",
        web: Web | None = None,
    ) -> None:
        self._most = most
        self._first = most if first is None else first
        self._limit = connections
        self._doors = [Door(bind, guard)]
        self.address = self._doors[0].listener.address
        self.web_address = ""
        try:
            if inside:
                self._doors.append(Door(inside, None, owner))
            if also:
                self._doors.append(Door(also, guard))
            if web is not None:
                pages = WebDoor(web, self.address)
                self._doors.append(pages)
                self.web_address = pages.address
        except DovetailError:
            for door in self._doors:
                door.listener.close()
            raise
        self._selector = selectors.DefaultSelector()
        """Waits for authenticated connections and, within the budget, for all others at once."""
        self._unauthenticated = selectors.DefaultSelector()
        self._listen()
        self._selector.register(self._unauthenticated, _READ, None)
        self._turns: deque[tuple[selectors.SelectorKey, int]] = deque()
        """Unauthenticated connections that are readable but not served yet."""
        self._budget = BUDGET
        """CPU seconds left to unauthenticated connections at the time ``_counted``."""
        self._counted, self._used = time.monotonic(), time.thread_time()
        self._relaxed = False
        self._exhausted = False
        """True while unauthenticated connections are paused: their budget is spent."""
        self._resume = 0.0
        """The time to accept again, while that is paused."""
        self._open: dict[bytes, Connection] = {}
        self._prefix = os.urandom(6)
        self._greeting: dict[Connection, float] = {}
        """Connections that have not greeted yet, and until when they may; the oldest first."""
        self._silent: dict[Connection, float] = {}
        """Connections that have greeted and said nothing yet."""
        self._closing: dict[Connection, None] = {}
        self._late: dict[Connection, None] = {}
        """Connections with a backlog."""
        self._paused: dict[Connection, float] = {}
        """Connections from which nothing is read, and until when."""
        self._began: dict[Connection, int] = {}
        """Bytes of each connection's incomplete frame; the oldest first."""
        self._incomplete = 0
        """Their sum."""
        self._ended: deque[Event] = deque()
        self._numbers = 0
        self._swept = 0.0
        self._quiet = 0.0
        """The time from which a refused connection is logged again."""
        self._lines, self._known = Lines(log), Lines(log, KNOWN)

    # -- receiving ---------------------------------------------------------------------------------

    def receive(self, timeout: float) -> list[Event]:
        """Return what came, waiting up to ``timeout`` seconds; each connection has one turn."""
        events: list[Event] = []
        if self._paused:  # first, since a pause that is over may leave a backlog
            timeout = min(timeout, self._unpause())
        if self._exhausted:
            self.charge(0.0)
            timeout = min(timeout, REOPEN)
        if self._late or self._ended or (self._turns and not self._exhausted):
            timeout = 0.0
            self._take_backlog(events)
        elif timeout > 0 and (self._greeting or self._silent or self._closing or self._resume):
            timeout = min(timeout, 0.1)
        ready = bool(self._turns)
        for key, mask in self._selector.select(timeout):
            if key.data is None:
                ready = True
            else:
                self._serve(key.data, mask, events)
        if ready and not self._exhausted:
            begun = time.thread_time()
            self._serve_unauthenticated(events)
            self.charge(time.thread_time() - begun)
        if self._greeting or self._silent or self._closing or self._resume:
            now = time.monotonic()
            if now - self._swept >= 0.1:
                self._swept = now
                self._sweep(now)
        while self._ended:
            events.append(self._ended.popleft())
        return events

    def _serve(self, connection: Connection, mask: int, events: list[Event]) -> None:
        if mask & _WRITE:
            self._flush(connection)
        if mask & _READ and (connection.name in self._open or connection in self._closing):
            self._read(connection, events)

    def _serve_unauthenticated(self, events: list[Event]) -> None:
        """Serve some unauthenticated connections, each before any is served again."""
        if not self._turns:
            self._turns += self._unauthenticated.select(0.0)
        for _ in range(min(UNAUTHENTICATED, len(self._turns))):
            key, mask = self._turns.popleft()
            connection: Connection | None = key.data
            if connection is None:
                for door in self._doors:
                    self._accept(door)
            elif connection.selector is self._unauthenticated and connection.events & mask:
                self._serve(connection, mask, events)

    # -- unauthenticated connections ---------------------------------------------------------------

    def authenticate(self, name: bytes) -> None:
        connection = self._open.get(name)
        if connection is not None:
            self._authenticate(connection)

    def _authenticate(self, connection: Connection) -> None:
        if connection.selector is self._unauthenticated:
            if connection.events:
                self._unauthenticated.unregister(connection.socket)
                self._selector.register(connection.socket, connection.events, connection)
            connection.selector = self._selector
            connection.since = time.monotonic()

    def charge(self, seconds: float) -> None:
        """Charge CPU time to the budget of unauthenticated connections; pause them once spent."""
        now, used = time.monotonic(), time.thread_time()
        passed = now - self._counted
        earned = passed if self._relaxed else SHARE * max(0.0, used - self._used) + LEAST * passed
        self._budget = min(BUDGET, self._budget + earned) - seconds
        self._counted, self._used = now, used
        if (self._budget < 0.0) != self._exhausted:
            self._exhausted = not self._exhausted
            if self._exhausted:
                self._selector.unregister(self._unauthenticated)
            else:
                self._selector.register(self._unauthenticated, _READ, None)

    def relax(self, relaxed: bool) -> None:
        if relaxed != self._relaxed:
            self.charge(0.0)
            self._relaxed = relaxed

    def _take_backlog(self, events: list[Event]) -> None:
        for connection in list(self._late):
            frames = connection.backlog
            connection.backlog = frames[FRAMES:]
            events.append((connection.name, frames[:FRAMES]))
            if not connection.backlog:
                del self._late[connection]
                self._watch(connection)

    def _read(self, connection: Connection, events: list[Event]) -> None:
        wire = connection.wire
        room, data = wire.room, b""
        try:
            if room is None:
                data = connection.socket.recv(CHUNK)
                count = len(data)
            else:
                count = connection.socket.recv_into(room)
        except _AGAIN:
            return
        except OSError:
            count = 0
        if connection.closing:
            if not count:
                self._forget(connection)
            return
        if not count:
            self._end(connection)
            return
        try:
            frames = wire.feed(data) if data else wire.took(count)
        except WireError as error:
            if isinstance(error, TooLarge):  # a program that never hears why tries for ever
                frame = codec.encode(m.Error("limit", str(error)))
                connection.outbox.add([bytes(wire.out), *wire.parts([frame])])
                wire.out.clear()
            self._refuse(connection, str(error))
            return
        if wire.ready and self._greeting and self._greeting.pop(connection, None) is not None:
            self._met(connection)
        if wire.out:
            self._write(connection, [bytes(wire.out)])
            wire.out.clear()
        if wire.controls or (count < LITTLE and not frames):
            self._tire(connection, READ + CONTROL * wire.controls)
            wire.controls = 0
        held = wire.incomplete
        if self._began and (frames or held < LONG):
            self._incomplete -= self._began.pop(connection, 0)
        if held >= LONG:
            self._count(connection, held)
        if frames:
            if self._silent and self._silent.pop(connection, None) is not None:
                wire.allow(self._most)
            if len(frames) > FRAMES and connection.name in self._open:
                connection.backlog = frames[FRAMES:]
                del frames[FRAMES:]
                self._late[connection] = None
                self._watch(connection)
            events.append((connection.name, frames))
        if wire.ended and connection.name in self._open:
            self._refuse(connection, "")

    def _tire(self, connection: Connection, seconds: float) -> None:
        """Charge a connection for what brought no frame, and the limits of peers do not see."""
        now = time.monotonic()
        owed = max(0.0, connection.owed - ATTENTION * (now - connection.paid)) + seconds
        connection.owed, connection.paid = owed, now
        if owed > PATIENCE:
            self.pause(connection.name, (owed - PATIENCE / 2) / ATTENTION)

    def _count(self, connection: Connection, size: int) -> None:
        self._incomplete += size - self._began.get(connection, 0)
        self._began[connection] = size
        if self._incomplete > INCOMPLETE:
            oldest = next(iter(self._began))
            self._refuse(oldest, f"{self._began[oldest]:,} bytes of a frame that is not complete")

    def _met(self, connection: Connection) -> None:
        """Name the connection of a peer that has greeted."""
        self._silent[connection] = time.monotonic() + FIRST
        owner = connection.wire.owner
        if owner:
            del self._open[connection.name]
            connection.name = owner + connection.name
            self._open[connection.name] = connection

    def _listen(self) -> None:
        for door in self._doors:
            self._unauthenticated.register(door.listener.socket, _READ, None)

    def _deafen(self) -> None:
        for door in self._doors:
            self._unauthenticated.unregister(door.listener.socket)

    def _accept(self, door: Door) -> None:
        for _ in range(ACCEPTED if not self._resume else 0):
            try:
                made, other = door.listener.socket.accept()
            except _AGAIN:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    log.error(
                        "cannot accept a connection (%s); %d are open; raise the limit (ulimit -n)",
                        error.strerror,
                        len(self._open),
                    )
                    self._deafen()
                    self._resume = time.monotonic() + PAUSE
                return
            made.setblocking(False)
            tune(made)
            if len(self._open) >= self._limit:
                self._reject(made, door)
                continue
            self._numbers += 1
            name = self._prefix + self._numbers.to_bytes(6, "big")
            connection = Connection(made, name, door.wire(self._first), self._unauthenticated)
            connection.origin = other[0] if isinstance(other, tuple) else ""
            self._open[name] = connection
            self._greeting[connection] = time.monotonic() + HANDSHAKE
            self._unauthenticated.register(made, _READ, connection)
            self._write(connection, [bytes(connection.wire.out)])
            connection.wire.out.clear()

    def _reject(self, made: socket.socket, door: Door) -> None:
        """Answer that there are too many connections, and close."""
        text = f"the broker has {self._limit} connections and accepts no more"
        now = time.monotonic()
        if now >= self._quiet:
            self._quiet = now + QUIET
            log.error("refused a connection: %s", text)
        if len(self._closing) >= REJECTED:
            made.close()
            return
        connection = Connection(made, b"", door.wire(self._first), self._unauthenticated)
        connection.outbox.add([connection.wire.rejection(text)])
        connection.closing = now + FAREWELL
        self._closing[connection] = None
        self._unauthenticated.register(made, _READ, connection)
        self._flush(connection)

    # -- sending -----------------------------------------------------------------------------------

    def send(self, name: bytes, frames: Sequence[bytes]) -> None:
        """Send frames as one message; nothing happens if the connection has ended."""
        connection = self._open.get(name)
        if connection is None:
            return
        if connection.selector is self._selector:
            self._write(connection, connection.wire.parts(frames))
            return
        begun = time.thread_time()
        self._write(connection, connection.wire.parts(frames))
        self.charge(time.thread_time() - begun)

    def spread(self, names: Sequence[bytes], frames: Sequence[bytes]) -> None:
        packed: dict[type[Wire], list[bytes]] = {}
        for name in names:
            connection = self._open.get(name)
            if connection is None:
                continue
            wire = connection.wire
            parts = packed.get(type(wire))
            if parts is None:
                parts = wire.parts(frames)
                if type(wire) is Wire or type(wire) is WebWire:  # the same for all
                    packed[type(wire)] = parts
            self._write(connection, parts)

    def origin(self, name: bytes) -> str:
        """Return the address of a connection's machine; empty for a Unix socket."""
        connection = self._open.get(name)
        return "" if connection is None else connection.origin

    def waiting(self, name: bytes) -> int:
        connection = self._open.get(name)
        return 0 if connection is None else connection.outbox.size

    def _write(self, connection: Connection, parts: list[bytes]) -> None:
        outbox, sent = connection.outbox, 0
        if not outbox.size:
            try:
                sent = send(connection.socket, parts)
            except _AGAIN:
                pass
            except OSError:
                self._end(connection)
                return
            if len(parts) == 1 and sent == len(parts[0]):
                return
        elif outbox.size > LOST:
            self._warn(connection, f"it does not read; {outbox.size:,} bytes wait for it")
            self._end(connection)
            return
        outbox.add(parts, sent)
        if outbox.size:
            self._watch(connection)

    def _flush(self, connection: Connection) -> None:
        """Send as much of the queue as the system takes."""
        try:
            connection.outbox.send(connection.socket)
        except _AGAIN:
            return
        except OSError:
            if connection.closing:
                self._forget(connection)
            else:
                self._end(connection)
            return
        if connection.closing and not connection.outbox.size:
            say_no_more(connection.socket)
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        """Register the events that a connection now waits for."""
        events = _WRITE if connection.outbox.size else 0
        if connection.closing or (
            connection.outbox.size < FULL
            and not connection.backlog
            and connection not in self._paused
        ):
            events |= _READ
        if events != connection.events:
            if not events:
                connection.selector.unregister(connection.socket)
            elif not connection.events:
                connection.selector.register(connection.socket, events, connection)
            else:
                connection.selector.modify(connection.socket, events, connection)
            connection.events = events

    def pause(self, name: bytes, seconds: float) -> None:
        """Stop reading from a connection for some seconds; its peer finds that it cannot send.

        Where there are many of these, each waits longer, so that together they cost little.
        """
        connection = self._open.get(name)
        if connection is not None:
            now = time.monotonic()
            if now - connection.since < NEWCOMER:
                self.charge(seconds * DEBT)
            until = now + seconds * max(1.0, len(self._paused) / CROWD)
            self._paused[connection] = max(until, self._paused.get(connection, 0.0))
            self._late.pop(connection, None)
            self._watch(connection)

    def _unpause(self) -> float:
        """Read again from those whose pause is over; return the seconds until the next is."""
        now = time.monotonic()
        for connection in [each for each, until in self._paused.items() if now >= until]:
            del self._paused[connection]
            if connection.backlog:
                self._late[connection] = None
            self._watch(connection)
        return max(0.0, min(self._paused.values(), default=inf) - now)

    def drop(self, name: bytes, why: str) -> None:
        """Close a connection once its queue is sent; tell log and peer ``why``, if given."""
        connection = self._open.get(name)
        if connection is not None:
            connection.backlog = []
            self._late.pop(connection, None)
            begun = time.thread_time()
            self._refuse(connection, why)
            if connection.selector is self._unauthenticated:
                self.charge(time.thread_time() - begun)

    # -- the end of connections --------------------------------------------------------------------

    def _sweep(self, now: float) -> None:
        for waiting, what in ((self._greeting, "greet"), (self._silent, "say anything")):
            for connection, until in list(waiting.items()):
                if now < until:
                    break
                limit = HANDSHAKE if waiting is self._greeting else FIRST
                self._refuse(connection, f"it did not {what} within {limit:g} s")
        for connection in list(self._closing):
            if now >= connection.closing:
                self._forget(connection)
        if self._resume and now >= self._resume:
            self._resume = 0.0
            self._listen()

    def _refuse(self, connection: Connection, text: str) -> None:
        """Send the reason, if given, then close; discard what the peer sends meanwhile."""
        if text:
            self._warn(connection, text)
        connection.outbox.add([connection.wire.farewell(text)])
        self._forget_open(connection)
        connection.closing = time.monotonic() + FAREWELL
        self._closing[connection] = None
        if connection.outbox.size:
            self._flush(connection)
        else:
            say_no_more(connection.socket)
            self._watch(connection)

    def _warn(self, connection: Connection, text: str) -> None:
        known = connection.selector is self._selector
        lines = self._known if known else self._lines
        lines.warn(f"connection {connection.shown} closed: {text}")

    def _end(self, connection: Connection) -> None:
        """Close a connection that was open."""
        self._forget_open(connection)
        self._forget(connection)

    def _forget_open(self, connection: Connection) -> None:
        del self._open[connection.name]
        self._greeting.pop(connection, None)
        self._silent.pop(connection, None)
        self._paused.pop(connection, None)
        self._incomplete -= self._began.pop(connection, 0)
        if connection.backlog:
            self._ended.append((connection.name, connection.backlog))
            connection.backlog = []
            self._late.pop(connection, None)
        self._ended.append((connection.name, None))

    def _forget(self, connection: Connection) -> None:
        self._closing.pop(connection, None)
        if connection.events:
            connection.selector.unregister(connection.socket)
            connection.events = 0
        connection.socket.close()
        connection.outbox.clear()

    def close(self, linger: float = 1.0) -> None:
        """Close everything, once all queues are sent or after ``linger`` seconds."""
        end = time.monotonic() + linger
        if not self._resume:
            self._deafen()
        if not self._exhausted:
            self._selector.unregister(self._unauthenticated)
        for door in self._doors:
            door.listener.close()
        for connection in list(self._open.values()):
            self._forget_open(connection)
            connection.outbox.add([connection.wire.farewell("")])
            connection.closing = end
            self._closing[connection] = None
            if not connection.outbox.size:
                say_no_more(connection.socket)
            self._watch(connection)
        for connection in self._closing:
            self._authenticate(connection)
        # A peer that has read all of it closes its end; nothing can be lost after that.
        while self._closing and (left := end - time.monotonic()) > 0:
            if left > SETTLE and not any(each.outbox.size for each in self._closing):
                left = SETTLE
                end = time.monotonic() + left
            for key, mask in self._selector.select(left):
                self._serve(key.data, mask, [])
        for connection in list(self._closing):
            self._forget(connection)
        self._selector.close()
        self._unauthenticated.close()
