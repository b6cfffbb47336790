"""The queue of turns for watchers: each is encoded once and sent to all together."""

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
"""The fraction of the time for making and sending turns for watchers."""
MAX_DELAY = 0.25
"""Maximum delay of a watched turn, in seconds."""
HELD = 1 << 16
"""Bytes above which the queue takes only final turns, and at four times as many nothing."""
LEAST = 1 << 10
"""Bytes for which the queue always has room."""
BEHIND = 1 << 18
"""Unsent bytes above which a watcher is sent only final turns."""


def encode(messages: Sequence[m.Message]) -> list[bytes]:
    """Return the frames of messages, without those that cannot be encoded, which are logged."""
    frames = []
    for message in messages:
        try:
            frames.append(codec.encode(message))
        except codec.UNSENDABLE as error:
            log.error("a %s could not be sent: %s", type(message).__name__, error)
    return frames


class WatcherQueue:
    """Messages for watchers, in order, until ``flush`` sends them.

    A full queue drops turns; after ``flush`` the next one is the latest.

    Args:
        send: sends messages, given with their frames, to addresses.
        behind: returns whether an address reads too slowly.
        out: the output, whose ``crowded`` is kept up to date.
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
        self.waiting: list[tuple[Audience, m.Message, bytes]] = []
        """(audience, message, frame) triples."""
        self._size = 0
        self._room = HELD  # bytes that can be sent per period within the share of the time
        self._present: dict[Audience, frozenset[Address]] = {}
        """The addresses of each audience at the time of its first message."""
        self._ahead: dict[Address, int] = {}
        """The number of queued messages that an address was sent already."""
        self._next = 0.0  # the time of the next ``flush``, by the system's clock

    @property
    def wait(self) -> float:
        """Seconds until ``flush`` is due; 0 or less if it is."""
        return self._next - time.monotonic() if self.waiting else FOREVER

    def add(self, audience: Audience, message: m.Message) -> None:
        """Queue a message, unless the queue is full."""
        if self._size > (self._room if _spare(message) else 4 * HELD):
            return
        begun = time.monotonic()
        for frame in encode([message]):
            self.waiting.append((audience, message, frame))
            self._size += len(frame)
        if audience not in self._present:
            self._present[audience] = frozenset(audience.addresses())
        out = self._out
        out.spent += time.monotonic() - begun
        out.crowded = self._size > self._room or out.spent > SHARE * MAX_DELAY

    def catch_up(self, address: Address) -> list[tuple[m.Message, bytes]]:
        """Return the queued messages that an address must be sent before any others."""
        theirs = [to for to, there in self._present.items() if address in there]
        if not theirs:
            return []
        start = self._ahead.get(address, 0)
        self._ahead[address] = len(self.waiting)
        return self._chosen(start, theirs, self._behind(address))

    def flush(self) -> None:
        """Send the queue, to like watchers together, and set the time of the next ``flush``."""
        begun = time.thread_time()
        audiences: dict[Address, list[Audience]] = {}
        for audience in self._present:
            for address in audience.addresses():
                audiences.setdefault(address, []).append(audience)
        alike: dict[tuple[int, bool, tuple[Audience, ...]], list[Address]] = {}
        for address, theirs in audiences.items():
            kind = (self._ahead.get(address, 0), self._behind(address), tuple(theirs))
            alike.setdefault(kind, []).append(address)
        for (start, behind, of), addresses in alike.items():
            if chosen := self._chosen(start, of, behind):
                self._send(addresses, [each for each, _ in chosen], [each for _, each in chosen])
        took = time.thread_time() - begun
        most = SHARE * MAX_DELAY
        room = int(self._size * most / took) if took > most else 2 * self._room
        self._room = min(HELD, max(LEAST, room))
        self._next = time.monotonic() + min(MAX_DELAY, (took + self._out.spent) / SHARE)
        self.waiting.clear()
        self._present.clear()
        self._ahead.clear()
        self._size, self._out.spent, self._out.crowded = 0, 0.0, False

    def _chosen(
        self, start: int, audiences: Sequence[Audience], behind: bool
    ) -> list[tuple[m.Message, bytes]]:
        """Return the queued messages for some audiences, only final turns if ``behind``."""
        return [
            (message, frame)
            for audience, message, frame in self.waiting[start:]
            if audience in audiences and not (behind and _spare(message))
        ]


def _spare(message: m.Message) -> bool:
    """Return whether a message may be dropped, as any turn but an episode's last."""
    return type(message) is m.WatchedTurn and message.reason is None
