"""What watchers are sent: gathered for a moment, encoded once, and sent to all of them together."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from dovetail.broker.peers.outbox import Address, Audience, Out
from dovetail.broker.rules.clocks import FOREVER
from dovetail.protocol import codec
from dovetail.protocol import messages as m

log = logging.getLogger("dovetail.broker")

SHARE = 0.05
"""The part of the processor's time that sending to watchers may take. Making what they are sent may take as
much again, or ``LEAST``; after that no turns are made until the next sending."""
LEAST = 0.0005
"""Seconds that making what watchers are sent may take in any case between two sendings."""
LONGEST = 0.25
"""Seconds that a watcher waits at most for what it is sent."""
HELD = 1 << 16
"""Bytes gathered from which on no turns are added but the last of each episode; fewer where sending so
many, to so many watchers, would take more than its share even with the longest wait."""
TIMES = 3
"""Sendings in a row that took more than their share before fewer turns are added; one alone may have met a
pause of the interpreter's."""
BEHIND = 1 << 18
"""Bytes waiting for a watcher from which on it is sent the ends of episodes only."""
FULL = 4 * HELD
"""Bytes gathered from which on nothing is added."""


def encode(messages: Sequence[m.Message]) -> list[bytes]:
    """Return the frames of messages; what cannot be encoded is logged and left out."""
    frames = []
    for message in messages:
        try:
            frames.append(codec.encode(message))
        except codec.UNSENDABLE as error:
            log.error("a %s could not be sent: %s", type(message).__name__, error)
    return frames


class Feed:
    """Gathers what audiences are sent.

    Args:
        send: sends addresses messages, given with their frames.
        behind: says whether an address reads too slowly; it then sees the ends of episodes only, and
            new turns again once it has caught up.
        out: is told when it is ``crowded``.
    """

    def __init__(
        self,
        send: Callable[[list[Address], list[m.Message], list[bytes]], None],
        behind: Callable[[Address], bool],
        out: Out,
    ) -> None:
        self._send = send
        self._behind = behind
        self._out = out
        out.clock = time.monotonic
        self.gathered: list[tuple[Audience, m.Message, bytes]] = []
        """To whom, what, and its frame."""
        self._size = 0
        self._sending = 0.0
        """How long the last sending took, in seconds."""
        self._held: float = HELD
        self._over = 0
        """How many sendings in a row took more than their share even with the longest wait."""
        self._audiences: dict[Audience, frozenset[Address]] = {}
        """To whom that goes, and who of them was there when the first of it was gathered."""
        self._ahead: dict[Address, int] = {}
        """How much of it each address was sent already that was sent any."""
        self._next = 0.0
        """When to send again, by the system's clock."""

    @property
    def wait(self) -> float:
        """The seconds until ``flush`` should be called; 0 or less if it is due."""
        return self._next - time.monotonic() if self.gathered else FOREVER

    def add(self, audience: Audience, message: m.Message) -> None:
        """Gather a message for an audience."""
        if self._size > (self._held if _spare(message) else FULL):
            return
        begun = time.monotonic()
        for frame in encode([message]):
            self.gathered.append((audience, message, frame))
            self._size += len(frame)
        if audience not in self._audiences:
            self._audiences[audience] = frozenset(audience.addresses())
        out = self._out
        out.spent += time.monotonic() - begun
        out.crowded = self._size > self._held or out.spent > max(self._sending, LEAST)

    def catch_up(self, address: Address) -> list[tuple[m.Message, bytes]]:
        """Return what an address was not sent yet, with its frames, since it is about to be sent something else."""
        theirs = [to for to, there in self._audiences.items() if address in there]
        if not theirs:
            return []
        start = self._ahead.get(address, 0)
        self._ahead[address] = len(self.gathered)
        behind = self._behind(address)
        return [
            (message, frame)
            for to, message, frame in self.gathered[start:]
            if to in theirs and not (behind and _spare(message))
        ]

    def flush(self) -> None:
        """Send what was gathered; then wait, so that this takes no more than its share of the time."""
        begun = time.thread_time()
        audiences: dict[Address, list[Audience]] = {}
        for audience in self._audiences:
            for address in audience.addresses():
                audiences.setdefault(address, []).append(audience)
        alike: dict[tuple[int, bool, tuple[Audience, ...]], list[Address]] = {}
        for address, of in audiences.items():
            kind = (self._ahead.get(address, 0), self._behind(address), tuple(of))
            alike.setdefault(kind, []).append(address)
        for (start, behind, of_), addresses in alike.items():
            chosen = [
                (message, frame)
                for audience, message, frame in self.gathered[start:]
                if audience in of_ and not (behind and _spare(message))
            ]
            if chosen:
                self._send(addresses, [each for each, _ in chosen], [each for _, each in chosen])
        self.gathered.clear()
        self._audiences.clear()
        self._ahead.clear()
        self._sending = took = time.thread_time() - begun
        most = SHARE * LONGEST
        if took <= most:
            self._over = 0
            self._held = min(HELD, 2 * self._held)
        else:
            self._over += 1
            if self._over >= TIMES:
                self._held = self._size * most / took
        self._size = 0
        self._out.crowded = False
        self._out.spent = 0.0
        self._next = time.monotonic() + min(LONGEST, took / SHARE)


def _spare(message: m.Message) -> bool:
    """Return whether a message may be left out for those who cannot follow."""
    return type(message) is m.WatchedTurn and message.reason is None
