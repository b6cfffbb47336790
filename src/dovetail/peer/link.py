"""A peer's connection to a broker over ZeroMQ: a DEALER socket around a ``Session``.

A message of ZeroMQ carries one or more frames, and each frame is one message of the contract.
What waits is read together and what is to say is sent together.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

import zmq

from dovetail.peer.address import ADDRESS
from dovetail.peer.session import Session
from dovetail.peer.silence import Silence
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.transport.frames import receive, send, waiting

GIVE_UP = 60.0
"""Seconds of the broker's silence after which an experiment gives up."""

_log = logging.getLogger("dovetail")


BATCH = 4096
"""Frames that are read together at the most, so that answers go out in between."""


class Link:
    """A connection that reconnects automatically.

    Args:
        address: a ZeroMQ endpoint of the broker.
        hello: who this peer is.
        wait: seconds to wait for the broker's first answer; None waits for ever.
        stop: ends that wait when it is set; there may be no welcome then.
        give_up: seconds of the broker's silence after which ``receive`` raises; None waits for ever.
        idle: called now and then while nothing comes; what it raises ends the wait.
        warn: takes a line for a person when the broker falls silent and when it is back.
    """

    def __init__(
        self,
        address: str,
        hello: m.Hello,
        wait: float | None = 10.0,
        stop: threading.Event | None = None,
        *,
        give_up: float | None = None,
        idle: Callable[[], None] | None = None,
        warn: Callable[[str], None] = _log.warning,
    ) -> None:
        self.address = address
        self._silence = Silence(give_up)
        self._idle = idle
        self._warn = warn
        self.session = Session(hello)
        self._context = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._wait = -1
        self._first: list[m.Message] = []
        try:
            self._connect()
            end = None if wait is None else time.monotonic() + wait
            while self.session.welcome is None and not (stop is not None and stop.is_set()):
                self._first += self.receive(0.1)
                if end is not None and time.monotonic() > end:
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
                f"{self.address!r} is not a broker address ({error.strerror}); "
                f"expected something like {ADDRESS}"
            ) from None
        socket.send(self.session.greet(time.monotonic()))

    def receive(self, timeout: float | None) -> list[m.Message]:
        """Return the messages that came, waiting up to ``timeout`` seconds for the first.

        None waits as long as it takes, but comes back now and then with an empty list.

        Raises:
            DovetailError: the broker refuses this peer, or was silent for ``give_up`` seconds.
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
            self._nothing(time.monotonic())
            return []
        if self._silence.seconds:
            self._heard()
        while len(frames) < BATCH and waiting(socket):
            frames += receive(socket)
        messages, answers = self.session.receive(frames, time.monotonic())
        if answers:
            send(socket, answers)
        return messages

    def _nothing(self, now: float) -> None:
        """Look after the connection while nothing comes."""
        silence, session = self._silence, self.session
        if session.welcome is not None:
            silence.nothing(now, session.heard)
            if silence.hopeless:
                raise DovetailError(
                    f"the broker at {self.address} has been silent for {silence.seconds:.0f} s; "
                    "see whether it still runs"
                )
            if not silence.told and silence.seconds > session.patience:
                silence.told = True
                limit = "" if silence.give_up is None else f" up to {silence.give_up:g} s"
                self._warn(
                    f"the broker at {self.address} has been silent for {silence.seconds:.0f} s; "
                    f"waiting{limit} for it to return"
                )
        if session.silent(now):
            if session.welcome is None and self._socket is not None:
                self._socket.send(session.greet(now))  # the hello or its welcome may have been lost
            else:
                self._connect()
        if self._idle is not None:
            self._idle()

    def _heard(self) -> None:
        if self._silence.told:
            self._warn(
                f"the broker at {self.address} is back after {self._silence.seconds:.0f} s of silence"
            )
        self._silence.over()

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
        """Leave; with a goodbye the broker keeps nothing for a return.

        A broker that has said goodbye itself hears none.
        """
        if self._socket is not None:
            goodbye = goodbye and not self.departed
            if goodbye:
                self.send([m.Bye()])
            self._socket.close(linger=500 if goodbye else 0)
            self._socket = None
        self._context.term()
