"""A peer's connection to a broker over ZeroMQ: a DEALER around a ``Session``.

A ZeroMQ message carries one or more frames, and each frame is one message of the contract.
Waiting messages are read in batches, and outgoing messages are sent in batches.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dovetail import transport
from dovetail.peer.broker_watchdog import Silence
from dovetail.peer.session import NameTaken, Session
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError
from dovetail.transport.keys import WITHOUT, Key, chosen
from dovetail.transport.process_owner import Owner

INHERIT = 3.0
"""Seconds for which a starting peer retries a name that is taken.

The broker notices at its next heartbeat (1 s by default) that the name's last owner was killed.
"""

AGAIN = 0.25
"""Seconds between two such attempts."""

SLOW = 1.0
"""Seconds without an answer after which a starting peer logs what it is waiting for."""

START = "`dovetail broker`"
"""The command that starts a broker, for errors."""
CLOSED = "this connection is closed; open another, and create its agents and runs there"

THEIRS = "this connection", "open another one here"
"""The words of the error for a forked child that uses its parent's connection."""

_log = logging.getLogger("dovetail")
LOOK = 0.5
"""Maximum seconds between two checks of the connection."""


class Link:
    """A connection that reconnects automatically.

    Args:
        address: a ZeroMQ endpoint of the broker.
        hello: this peer's ``hello``.
        wait: seconds to wait for the broker's first answer; None waits forever.
        stop: an event that ends that wait, perhaps without a welcome.
        give_up: seconds of the broker's silence after which ``receive`` raises; None waits forever.
            After the same time in which the broker reads nothing, ``send`` closes the connection.
        idle: called periodically while no message arrives; an exception from it ends the wait.
        warn: called with a line of text when the broker is missing, falls silent or is back, and
            when this peer has to wait for its name.
        key: this peer's key or its file; defaults to the file in DOVETAIL_KEY, if set.

    Raises:
        DovetailError: no broker answers, it refuses this peer, or another peer keeps its name.
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
        key: Key | Path | str | None = None,
    ) -> None:
        self.address = address
        self._owner = Owner()
        self._key = chosen(key)
        self._silence = Silence(give_up)
        self._idle = idle
        self._warn = warn
        session = self.session = Session(hello)
        self._first: list[m.Message] = []
        self._dealer: transport.AnyDealer | None = transport.connect(
            address, lambda: session.greet(time.monotonic()), self._key
        )
        if give_up is not None:
            self._dealer.patience = give_up
        stop = stop or threading.Event()
        self._dealer.stopped = stop.is_set
        try:
            self._join(self._dealer, wait, stop)
        except BaseException:
            self.close(goodbye=False)
            raise

    def _join(self, dealer: transport.AnyDealer, wait: float | None, stop: threading.Event) -> None:
        begun = time.monotonic()
        end = None if wait is None else begun + wait
        told = False
        taken: float | None = None
        unready = ""
        while self.session.welcome is None and not stop.is_set():
            if not told and taken is None and time.monotonic() - begun > SLOW:
                told = True
                self._warn(f"waiting for a broker at {self.address}")
            try:
                heard = self._receive(dealer, 0.1)
                self._first += heard
                for each in heard:
                    if isinstance(each, m.Error) and each.code == "journal" and not unready:
                        text = line(each.message)
                        unready = f"the broker at {self.address} answers: {text}"
                        told = True
                        self._warn(unready)
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
                dealer.send([self.session.greet(time.monotonic())])
            if self.departed and self.session.welcome is None:
                why = self.session.farewell or "it gives no reason"
                raise DovetailError(f"the broker at {self.address} sends this program away: {why}")
            if taken is None and end is not None and time.monotonic() > end:
                if unready:
                    raise DovetailError(unready)
                why = f" ({dealer.trouble})" if dealer.trouble else ""
                raise DovetailError(
                    f"no broker answers at {self.address}{why}; start one with {START}"
                )

    def receive(self, timeout: float | None) -> list[m.Message]:
        """Return the messages received, waiting up to ``timeout`` seconds for the first.

        None waits indefinitely, but returns an empty list periodically.

        Raises:
            DovetailError: the broker refuses this peer, or was silent for ``give_up`` seconds; or a
                forked child uses its parent's connection.
        """
        self._owner.check(*THEIRS)
        if self._first:
            first, self._first = self._first, []
            return first
        dealer = self._dealer
        if dealer is None:
            raise DovetailError(CLOSED)
        return self._receive(dealer, timeout)

    def _receive(self, dealer: transport.AnyDealer, timeout: float | None) -> list[m.Message]:
        frames = dealer.receive(LOOK if timeout is None or timeout > LOOK else timeout)
        if not frames:
            self._nothing(time.monotonic())
            return []
        if self._silence.seconds:
            self._heard()
        messages, answers = self.session.receive(frames, time.monotonic())
        if answers:
            dealer.send(answers)
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
            assert self._dealer is not None
            if session.welcome is None and self._dealer.ready:
                self._dealer.send([session.greet(now)])  # the hello or its welcome may be lost
            elif session.welcome is not None:
                session.heard = now
                self._dealer.reset()
        if self._idle is not None:
            self._idle()

    def _heard(self) -> None:
        if self._silence.told:
            self._warn(
                f"the broker at {self.address} is back after {self._silence.seconds:.0f} s "
                "of silence"
            )
        self._silence.over()

    def send(self, messages: Sequence[m.Message]) -> None:
        """Send messages together.

        Raises:
            TypeError: a value in them cannot be encoded (or another of ``codec.UNSENDABLE``).
            DovetailError: a message is larger than the broker accepts, or a forked child uses its
                parent's connection.
        """
        if not messages:
            return
        self._owner.check(*THEIRS)
        if self._dealer is None:
            raise DovetailError(CLOSED)
        frames = [codec.own(message) for message in messages]
        if self.session.welcome is not None:
            within(frames, self.session.welcome.limits.frame)  # else its socket would close
        self._dealer.send(frames)

    @property
    def departed(self) -> bool:
        """True once the broker has sent ``bye``."""
        return self.session.departed

    def join(self, hello: m.Hello) -> Link:
        """Return another connection to the same broker, with this one's token, key and patience."""
        hello.token = self.session.hello.token
        return Link(
            self.address,
            hello,
            give_up=self._silence.give_up,
            idle=self._idle,
            warn=lambda _: None,
            key=self._key or WITHOUT,
        )

    def close(self, *, goodbye: bool = True) -> None:
        """Disconnect; with ``bye`` the broker discards the session.

        Nothing is sent if the broker has already sent ``bye``.  In a forked child nothing happens.
        """
        if self._dealer is None or not self._owner.here:
            return
        goodbye = goodbye and not self.departed
        if goodbye:
            self.send([m.Bye()])
        self._dealer.close(0.5 if goodbye else 0.0)
        self._dealer = None


def within(frames: list[bytes], most: int) -> list[bytes]:
    """Return frames after checking that the broker accepts their size.

    Raises:
        DovetailError: one is too large.
    """
    size = max(map(len, frames), default=0)
    if size > most:
        raise DovetailError(f"{size:,} bytes in a message; the broker accepts at most {most:,}")
    return frames
