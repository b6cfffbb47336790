"""The same two ends over libzmq: for what only it can do, and to compare ours with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import zmq
from zmq.backend import Socket as _Socket

from dovetail.protocol.errors import DovetailError
from dovetail.transport.endpoint import EXAMPLES

FRAMES = 4096
"""Frames read at a time, so that answers are sent in between."""
HIGH_WATER = 1_000_000
"""Messages that wait for a peer that does not read, before its connection counts as lost."""

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


class Router:
    """``transport.router.Router`` over libzmq; it learns that a connection has ended when it sends."""

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
            self._socket.bind(bind)
        except zmq.ZMQError as error:
            self._socket.close(linger=0)
            context.term()
            raise DovetailError(
                f"cannot listen at {bind!r} ({error.strerror}); "
                "is another broker running? choose another with --bind"
            ) from None
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def receive(self, timeout: float) -> list[tuple[bytes, list[bytes] | None]]:
        """Return what came, waiting up to ``timeout`` seconds."""
        events, self._ended = self._ended, []
        made = self._socket
        if not events and not made.poll(int(max(0.0, timeout) * 1000)):
            return events
        frames = 0
        while frames < FRAMES and waiting(made):
            connection, *parts = receive(made)
            events.append((connection, parts))
            frames += len(parts)
        return events

    def send(self, connection: bytes, frames: Sequence[bytes]) -> None:
        """Send frames as one message."""
        try:
            send(self._socket, [connection, *frames], block=False)
        except zmq.ZMQError as error:
            if error.errno not in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                raise
            self._ended.append((connection, None))

    def spread(self, connections: Sequence[bytes], frames: Sequence[bytes]) -> None:
        """Send frames as one message over each of some connections."""
        for connection in connections:
            self.send(connection, frames)

    def waiting(self, connection: bytes) -> int:
        """Return 0: libzmq does not say how many bytes wait."""
        return 0

    def pause(self, connection: bytes, seconds: float) -> None:
        """Do nothing: libzmq reads from every connection alike."""

    def drop(self, connection: bytes, why: str) -> None:
        """Do nothing: libzmq closes no single connection."""

    def admit(self, connection: bytes) -> None:
        """Do nothing: libzmq reads from strangers as from others."""

    def spend(self, seconds: float) -> None:
        """Do nothing, as ``admit``."""

    def relax(self, relaxed: bool) -> None:
        """Do nothing, as ``admit``."""

    def close(self, linger: float = 1.0) -> None:
        """Close everything, once peers have taken what is still to be sent, or after ``linger`` seconds."""
        self._socket.close(linger=int(linger * 1000))
        self._context.term()


class Dealer:
    """``transport.dealer.Dealer`` over libzmq; it reconnects by itself, and greets only the first time."""

    def __init__(self, address: str, greet: Callable[[], bytes]) -> None:
        self._address = address
        self._greet = greet
        self._context: zmq.Context[Any] = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._timeout = -1
        self.trouble = ""
        self.ready = True
        self.reset()

    def receive(self, timeout: float) -> list[bytes]:
        """Return the frames that came, waiting up to ``timeout`` seconds for the first."""
        made = self._socket
        assert made is not None
        milliseconds = int(timeout * 1000)
        if milliseconds != self._timeout:
            made.rcvtimeo = self._timeout = milliseconds
        try:
            frames = receive(made)
        except zmq.Again:
            return []
        while len(frames) < FRAMES and waiting(made):
            frames += receive(made)
        return frames

    def send(self, frames: Sequence[bytes]) -> None:
        """Send frames as one message."""
        assert self._socket is not None
        send(self._socket, frames)

    def reset(self) -> None:
        """Give up the connection and open another."""
        if self._socket is not None:
            self._socket.close(linger=0)
        made = self._socket = self._context.socket(zmq.DEALER)
        for option, value in (
            (zmq.RECONNECT_IVL, 100),
            (zmq.RECONNECT_IVL_MAX, 1000),
            (zmq.HEARTBEAT_IVL, 5000),
            (zmq.SNDHWM, 0),
            (zmq.RCVHWM, 0),
        ):
            made.setsockopt(option, value)
        self._timeout = -1
        try:
            made.connect(self._address)
        except zmq.ZMQError as error:
            self.close(0)
            raise DovetailError(
                f"{self._address!r} is not a broker address ({error.strerror}); {EXAMPLES}"
            ) from None
        made.send(self._greet())

    def close(self, linger: float) -> None:
        """Disconnect, once the broker has taken all that was sent, or after ``linger`` seconds."""
        if self._socket is not None:
            self._socket.close(linger=int(linger * 1000))
            self._socket = None
        self._context.term()
