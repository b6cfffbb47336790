"""Wakes the coroutines of event loops, from any thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class Bell:
    """Sets the events of all who wait for news.

    A loop is woken once for all its events and for all news until then: to wake it for each of a
    thousand browsers took most of the page's processor time.
    """

    def __init__(self) -> None:
        self._events: dict[asyncio.AbstractEventLoop, set[asyncio.Event]] = {}
        self._ringing: set[asyncio.AbstractEventLoop] = set()
        """Loops that will wake, but have not."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(map(len, self._events.values()))

    def add(self, event: asyncio.Event) -> None:
        """Set an event of the running loop whenever the bell rings."""
        with self._lock:
            self._events.setdefault(asyncio.get_running_loop(), set()).add(event)

    def remove(self, event: asyncio.Event) -> None:
        """Leave an event of the running loop alone from now on."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._events[loop].discard(event)
            if not self._events[loop]:
                del self._events[loop]

    def ring(self) -> None:
        """Set all events, soon."""
        with self._lock:
            loops = self._events.keys() - self._ringing
            self._ringing |= loops
        for loop in loops:
            with contextlib.suppress(RuntimeError):  # the page is closing
                loop.call_soon_threadsafe(self._wake, loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            self._ringing.discard(loop)
            events = self._events.get(loop, set()).copy()
        for each in events:
            each.set()
