"""A peer's connection to a broker over ZeroMQ: a DEALER socket around a ``Session``.

A message of ZeroMQ carries one or more frames, and each frame is one message of the contract.
What waits is read together and what is to say is sent together.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence

import zmq

from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.frames import receive, send, waiting
from dovetail.protocol.session import Session

ADDRESS = "tcp://127.0.0.1:5757"
"""Where a broker is, unless told otherwise."""


def broker(address: str | None, token: str | None) -> tuple[str, str | None]:
    """Return where the broker is and its access token: as given, or by DOVETAIL_BROKER and DOVETAIL_TOKEN."""
    return (
        address or os.environ.get("DOVETAIL_BROKER") or ADDRESS,
        token if token is not None else os.environ.get("DOVETAIL_TOKEN"),
    )


BATCH = 4096
"""Frames that are read together at the most, so that answers go out in between."""


class Link:
    """A connection that makes itself anew when it breaks.

    Args:
        address: a ZeroMQ endpoint of the broker.
        hello: who this peer is.
        wait: seconds to wait for the broker's first answer; None waits for ever.
        stop: ends that wait when it is set; there may be no welcome then.
    """

    def __init__(
        self,
        address: str,
        hello: m.Hello,
        wait: float | None = 10.0,
        stop: threading.Event | None = None,
    ) -> None:
        self.address = address
        self.session = Session(hello)
        self._context = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._wait = -1
        self._first: list[m.Message] = []
        try:
            self._connect()
            give_up = None if wait is None else time.monotonic() + wait
            while self.session.welcome is None and not (stop is not None and stop.is_set()):
                self._first += self.receive(0.1)
                if give_up is not None and time.monotonic() > give_up:
                    raise DovetailError(
                        f"no broker answers at {address}; start one with `dovetail broker`"
                    )
        except BaseException:
            self.close(goodbye=False)
            raise

    def _connect(self) -> None:
        if self._socket is not None:
            self._socket.close(linger=0)
        socket = self._socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.RECONNECT_IVL, 100)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 5000)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.setsockopt(zmq.RCVHWM, 0)
        self._wait = -1
        try:
            socket.connect(self.address)
        except zmq.ZMQError as error:
            raise DovetailError(
                f"{self.address!r} is no address of a broker ({error.strerror}); "
                f"write it like {ADDRESS}"
            ) from None
        socket.send(self.session.greet(time.monotonic()))

    def receive(self, timeout: float | None) -> list[m.Message]:
        """Return the messages that came, waiting up to ``timeout`` seconds for the first.

        None waits as long as it takes, but comes back now and then with an empty list.

        Raises:
            DovetailError: the broker refuses this peer.
        """
        if self._first:
            first, self._first = self._first, []
            return first
        socket = self._socket
        assert socket is not None
        wait = 500 if timeout is None else min(500, int(timeout * 1000))
        if wait != self._wait:
            socket.rcvtimeo = self._wait = wait
        try:
            frames = receive(socket)
        except zmq.Again:
            if self.session.silent(time.monotonic()):
                if self.session.welcome is None:  # the hello or its welcome may have been lost
                    socket.send(self.session.greet(time.monotonic()))
                else:
                    self._connect()
            return []
        while len(frames) < BATCH and waiting(socket):
            frames += receive(socket)
        messages, answers = self.session.receive(frames, time.monotonic())
        if answers:
            send(socket, answers)
        return messages

    def send(self, messages: Sequence[m.Message]) -> None:
        """Send messages together.

        Raises:
            TypeError: a value in them cannot travel (or another of ``codec.UNSENDABLE``).
            DovetailError: one is larger than the broker reads.
        """
        if not messages:
            return
        assert self._socket is not None
        frames = [codec.encode(message) for message in messages]
        if self.session.welcome is not None:
            most = self.session.welcome.limits.frame
            size = max(map(len, frames))
            if size > most:  # to the broker's socket it would be a reason to hang up
                raise DovetailError(f"{size:,} bytes in a message; the broker reads {most:,}")
        send(self._socket, frames)

    @property
    def departed(self) -> bool:
        """Whether the broker has said goodbye."""
        return self.session.departed

    def close(self, *, goodbye: bool = True) -> None:
        """Leave; with a goodbye the broker keeps nothing for a return."""
        if self._socket is not None:
            if goodbye:
                self.send([m.Bye()])
            self._socket.close(linger=500 if goodbye else 0)
            self._socket = None
        self._context.term()
