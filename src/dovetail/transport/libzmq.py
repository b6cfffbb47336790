"""The same interface over libzmq, with and without keys: the reference for our own."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

import zmq
from zmq.auth.thread import ThreadAuthenticator
from zmq.backend import Socket as _Socket
from zmq.utils.monitor import recv_monitor_message

from dovetail.protocol.errors import DovetailError
from dovetail.transport import AnyRouter
from dovetail.transport.endpoint import EXAMPLES, REFUSES_KEY, USES_NO_KEYS, WRONG_KEY
from dovetail.transport.keys import LENGTH, Guard, Key

log = logging.getLogger("dovetail.broker")

FRAMES = 4096
"""Frames read at a time, so that answers are sent in between."""
HIGH_WATER = 1_000_000
"""Messages queued for a peer that does not read, after which its connection counts as lost."""
UNREAD, UNREAD_WAIT = 100, 1_000
"""Messages queued for a broker, and milliseconds that a full queue waits for it to read (S11.4)."""
DOMAIN = "dovetail"
"""The domain of our requests to the ZAP handler."""
ATTEMPTS = 3
"""Consecutive broken handshakes after which the broker is assumed to have another key."""
QUIET = 10.0
"""Seconds between lines in the log about keys that are refused."""

# pyzmq makes an enum member of each option in each call; plain integers cost far less.
_GET, _RECEIVE, _SEND = _Socket.get, _Socket.recv, _Socket.send
_EVENTS, _POLLIN, _RCVMORE = int(zmq.EVENTS), int(zmq.POLLIN), int(zmq.RCVMORE)
_NOBLOCK, _MORE = int(zmq.NOBLOCK), int(zmq.SNDMORE)


def send(made: zmq.Socket[bytes], frames: Sequence[bytes], *, block: bool = True) -> None:
    """Send frames as one message.

    Raises:
        zmq.Again: it cannot be sent now and ``block`` is False.
        zmq.ZMQError: it cannot be sent.
    """
    wait = 0 if block else _NOBLOCK
    last = len(frames) - 1
    for frame in frames[:last]:
        _SEND(made, frame, wait | _MORE)
    _SEND(made, frames[last], wait)


def waiting(made: zmq.Socket[bytes]) -> bool:
    """Return whether a message has come."""
    return bool(int(_GET(made, _EVENTS)) & _POLLIN)


def receive(made: zmq.Socket[bytes]) -> list[bytes]:
    """Return the frames of the next message, waiting for it as long as ``RCVTIMEO`` says.

    Raises:
        zmq.Again: none came.
    """
    frames = [_RECEIVE(made, 0)]
    while _GET(made, _RCVMORE):
        frames.append(_RECEIVE(made, 0))
    return frames


class Router(AnyRouter):
    """``Router`` over libzmq, which learns that a connection has ended when it sends."""

    def __init__(self, bind: str, most: int) -> None:
        context: zmq.Context[Any] = zmq.Context()
        self._context = context
        self._socket = context.socket(zmq.ROUTER)
        self._ended: list[tuple[bytes, list[bytes] | None]] = []
        for option, value in (
            (zmq.ROUTER_MANDATORY, 1),
            (zmq.SNDHWM, HIGH_WATER),
            (zmq.RCVHWM, HIGH_WATER),
            (zmq.MAXMSGSIZE, most),
            (zmq.LINGER, 1000),
        ):
            self._socket.setsockopt(option, value)
        try:
            self._prepare()
            self._socket.bind(bind)
        except zmq.ZMQError as error:
            self.close(0)
            raise DovetailError(
                f"cannot listen at {bind!r} ({error.strerror}); "
                "is another broker running? choose another with --bind"
            ) from None
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self.web_address = ""

    def _prepare(self) -> None:
        """Set more options before the socket listens."""

    def receive(self, timeout: float) -> list[tuple[bytes, list[bytes] | None]]:
        events, self._ended = self._ended, []
        made = self._socket
        if not events and not made.poll(int(max(0.0, timeout) * 1000)):
            return events
        frames = 0
        while frames < FRAMES and waiting(made):
            connection, parts = self._message()
            events.append((connection, parts))
            frames += len(parts or ())
        return events

    def _message(self) -> tuple[bytes, list[bytes] | None]:
        connection, *parts = receive(self._socket)
        return connection, parts

    def send(self, connection: bytes, frames: Sequence[bytes]) -> None:
        try:
            send(self._socket, [self._identity(connection), *frames], block=False)
        except zmq.ZMQError as error:
            if error.errno not in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                raise
            self._ended.append((connection, None))

    def spread(self, connections: Sequence[bytes], frames: Sequence[bytes]) -> None:
        for connection in connections:
            self.send(connection, frames)

    def _identity(self, connection: bytes) -> bytes:
        return connection

    def close(self, linger: float = 1.0) -> None:
        self._socket.close(linger=int(linger * 1000))
        self._context.term()


class Guarded(Router):
    """A router behind a lock: CURVE, with a ZAP handler that asks the guard for each connection.

    A connection's name is the public key of its program and libzmq's own name of it.  The key is
    read from each message: a peer may choose libzmq's name, also one that another had before.

    libzmq closes no single connection, but says over which descriptor a message came. So a dropped
    connection is closed, unread, at its next message.
    """

    def __init__(self, bind: str, most: int, guard: Guard) -> None:
        self._guard = guard
        self._authenticator: ThreadAuthenticator | None = None
        self._quiet = 0.0
        """The time from which a refused key is logged again."""
        self._dropped: set[bytes] = set()
        """Connections to close."""
        super().__init__(bind, most)

    def _prepare(self) -> None:
        authenticator = ThreadAuthenticator(self._context, log=logging.getLogger("dovetail.zap"))
        authenticator.start()
        self._authenticator = authenticator
        authenticator.configure_curve_callback(DOMAIN, credentials_provider=self)
        made = self._socket
        made.curve_server = True
        made.curve_publickey = self._guard.key.public.encode()
        made.curve_secretkey = self._guard.key.secret.encode()
        made.zap_domain = DOMAIN.encode()
        made.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)

    def callback(self, domain: str, key: bytes) -> bool:
        """Return whether a program may connect; pyzmq calls it with the public key."""
        admitted = self._guard.admits(key.decode("ascii"))
        if not admitted and time.monotonic() >= self._quiet:
            self._quiet = time.monotonic() + QUIET
            log.warning("refused a program with the key %s", key.decode("ascii"))
        return admitted

    def _message(self) -> tuple[bytes, list[bytes] | None]:
        first = self._socket.recv(copy=False)
        parts = receive(self._socket)
        connection = str(first.get("User-Id")).encode() + first.bytes
        if connection not in self._dropped:
            return connection, parts
        self._dropped.remove(connection)
        _shut(int(first.get(zmq.SRCFD)))
        return connection, None

    def drop(self, connection: bytes, why: str) -> None:
        """Close a connection at its next message."""
        self._dropped.add(connection)

    def _identity(self, connection: bytes) -> bytes:
        return connection[LENGTH:]

    def close(self, linger: float = 1.0) -> None:
        if self._authenticator is not None:
            self._authenticator.stop()
            self._authenticator = None
        super().close(linger)


def _shut(descriptor: int) -> None:
    """End the connection of a descriptor of libzmq's, which then closes it itself."""
    with contextlib.suppress(OSError):  # it has ended
        copy = socket.socket(fileno=os.dup(descriptor))
        with copy:
            copy.shutdown(socket.SHUT_RDWR)


class Dealer:
    """``Dealer`` over libzmq; it reconnects by itself, and greets only the first time.

    With a key its connection is encrypted.
    """

    def __init__(self, address: str, greet: Callable[[], bytes], key: Key | None = None) -> None:
        self._address = address
        self._greet = greet
        self._key = key
        self._context: zmq.Context[Any] = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._timeout = -1
        self._failed = 0
        """Handshakes that the broker broke off since the last that succeeded."""
        self._met = False
        """True once a handshake has succeeded."""
        self.trouble = ""
        self.patience = 0.0  # libzmq takes everything at once
        self.stopped: Callable[[], bool] = bool
        self.ready = key is None
        self.reset()

    def receive(self, timeout: float) -> list[bytes]:
        made = self._socket
        assert made is not None
        milliseconds = int(timeout * 1000)
        if milliseconds != self._timeout:
            made.rcvtimeo = self._timeout = milliseconds
        try:
            frames = receive(made)
        except zmq.Again:
            if self._monitor is not None:
                self._look(self._monitor)
            return []
        while len(frames) < FRAMES and waiting(made):
            frames += receive(made)
        return frames

    def _look(self, monitor: zmq.Socket[bytes]) -> None:
        while monitor.poll(0):
            happened = recv_monitor_message(monitor)
            event, value = happened["event"], happened["value"]
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.ready = self._met = True
                self._failed = 0
            elif event == zmq.EVENT_DISCONNECTED:
                self.ready = False
            elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH and value == 400:
                raise DovetailError(REFUSES_KEY.format(self._address))
            elif (
                event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
                and value == zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
            ):
                raise DovetailError(USES_NO_KEYS.format(self._address))
            else:
                self._failed += 1
                self.trouble = "the broker breaks off the handshake"
                if self._failed >= ATTEMPTS and not self._met:
                    raise DovetailError(WRONG_KEY.format(self._address))

    def send(self, frames: Sequence[bytes]) -> None:
        """Send frames as one message; they are dropped if libzmq has given the connection up.

        It does after a handshake that broke the protocol, perhaps before we have said anything.
        A broker that reads nothing gets a new connection.
        """
        made = self._socket
        assert made is not None
        with contextlib.suppress(zmq.Again):
            try:
                send(made, frames, block=False)
            except zmq.Again:
                if not self.ready:
                    raise
                if made.poll(UNREAD_WAIT, zmq.POLLOUT):
                    send(made, frames, block=False)
                else:
                    self.reset()

    def reset(self) -> None:
        self._discard(0)
        made = self._socket = self._context.socket(zmq.DEALER)
        for option, value in (
            (zmq.RECONNECT_IVL, 100),
            (zmq.RECONNECT_IVL_MAX, 1000),
            (zmq.HEARTBEAT_IVL, 5000),
            (zmq.SNDHWM, UNREAD),
            (zmq.RCVHWM, 0),
        ):
            made.setsockopt(option, value)
        self._timeout = -1
        if self._key is not None:
            made.curve_publickey = self._key.public.encode()
            made.curve_secretkey = self._key.secret.encode()
            made.curve_serverkey = self._key.server.encode()
            self.ready = False
            self._monitor = made.get_monitor_socket(
                zmq.EVENT_HANDSHAKE_SUCCEEDED
                | zmq.EVENT_HANDSHAKE_FAILED_AUTH
                | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
                | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
                | zmq.EVENT_DISCONNECTED
            )
        try:
            made.connect(self._address)
        except zmq.ZMQError as error:
            self.close(0)
            raise DovetailError(
                f"{self._address!r} is not a broker address ({error.strerror}); {EXAMPLES}"
            ) from None
        self.send([self._greet()])

    def _discard(self, linger: float) -> None:
        if self._socket is not None:
            if self._monitor is not None:
                self._socket.disable_monitor()
                self._monitor.close(linger=0)
                self._monitor = None
            self._socket.close(linger=int(linger * 1000))
            self._socket = None

    def close(self, linger: float) -> None:
        self._discard(linger)
        self._context.term()
