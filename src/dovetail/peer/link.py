"""A peer's connection to a broker over ZeroMQ: a DEALER socket around a ``Session``.

A ZeroMQ message carries one or more frames, and each frame is one message of the contract.
Waiting messages are read in batches, and outgoing messages are sent in batches.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

import zmq

from dovetail.peer.address import ADDRESS
from dovetail.peer.session import NameTaken, Session
from dovetail.peer.silence import Silence
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.transport.frames import receive, send, waiting

GIVE_UP = 60.0
"""Seconds of the broker's silence after which an experiment gives up."""

INHERIT = 3.0
"""Seconds for which a starting peer asks again for a name that is taken.

The broker notices at its next heartbeat (1 s by default) that the program which had it was killed.
"""

AGAIN = 0.25
"""Seconds between two such requests."""

_log = logging.getLogger("dovetail")


BATCH = 4096
"""Maximum number of frames read at a time, so that answers are sent in between."""


class Link:
    """A connection that reconnects automatically.

    Args:
        address: a ZeroMQ endpoint of the broker.
        hello: this peer's ``hello``.
        wait: seconds to wait for the broker's first answer; None waits for ever.
        stop: ends that wait when it is set; there may be no welcome then.
        give_up: seconds of the broker's silence after which ``receive`` raises; None waits for ever.
        idle: called periodically while no message arrives; an exception from it ends the wait.
        warn: called with a line of text when the broker becomes silent, when it is back, and when
            this peer waits for its name.

    Raises:
        DovetailError: no broker answers, or it refuses this peer, or another peer keeps its name.
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
            self._join(wait, stop or threading.Event())
        except BaseException:
            self.close(goodbye=False)
            raise

    def _join(self, wait: float | None, stop: threading.Event) -> None:
        """Wait for the welcome."""
        end = None if wait is None else time.monotonic() + wait
        taken: float | None = None
        while self.session.welcome is None and not stop.is_set():
            try:
                self._first += self.receive(0.1)
            except NameTaken as error:
                now = time.monotonic()
                if taken is None:
                    taken = now
                    self._warn(
                        f"{error}; trying again for {INHERIT:g} s, in case it has just ended"
                    )
                elif now - taken > INHERIT:
                    raise
                stop.wait(AGAIN)
                self._greet()
            if taken is None and end is not None and time.monotonic() > end:
                raise DovetailError(
                    f"no broker answers at {self.address}; start one with `dovetail broker`"
                )

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
        self._greet()

    def _greet(self) -> None:
        assert self._socket is not None
        self._socket.send(self.session.greet(time.monotonic()))

    def receive(self, timeout: float | None) -> list[m.Message]:
        """Return the messages received, waiting up to ``timeout`` seconds for the first.

        None waits indefinitely, but returns an empty list periodically.

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
        """Maintain the connection while no message arrives."""
        silence, session = self._silence, self.session
        if session.welcome is not None:
            silence.nothing(now, session.heard)
            if silence.hopeless:
                raise DovetailError(
                    f"the broker at {self.address} has been silent for {silence.seconds:.0f} s; "
                    "check whether it is still running"
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
                self._greet()  # the hello or its welcome may have been lost
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
            TypeError: a value in them cannot be encoded (or another of ``codec.UNSENDABLE``).
            DovetailError: a message is larger than the broker accepts.
        """
        if not messages:
            return
        assert self._socket is not None
        frames = [codec.encode(message) for message in messages]
        if self.session.welcome is not None:
            most = self.session.welcome.limits.frame
            size = max(map(len, frames))
            if size > most:  # the broker's socket would close the connection
                raise DovetailError(
                    f"{size:,} bytes in a message; the broker accepts at most {most:,}"
                )
        send(self._socket, frames)

    @property
    def departed(self) -> bool:
        """Whether the broker has sent ``bye``."""
        return self.session.departed

    def join(self, hello: m.Hello) -> Link:
        """Return another connection to the same broker, with this one's token and patience."""
        hello.token = self.session.hello.token
        return Link(
            self.address, hello, give_up=self._silence.give_up, idle=self._idle, warn=lambda _: None
        )

    def close(self, *, goodbye: bool = True) -> None:
        """Disconnect; with ``bye`` the broker discards the session.

        Nothing is sent if the broker has already sent ``bye``.
        """
        if self._socket is not None:
            goodbye = goodbye and not self.departed
            if goodbye:
                self.send([m.Bye()])
            self._socket.close(linger=500 if goodbye else 0)
            self._socket = None
        self._context.term()
