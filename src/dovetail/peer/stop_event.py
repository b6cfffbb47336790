"""An event that signals set, to end a program."""

from __future__ import annotations

import queue
import signal
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any

BURST = 0.1
"""Seconds within which signals count as one: a program hears the end of its parent once for each
thread of it."""


class StopEvent(threading.Event):
    """An event that a signal handler can set at any time.

    The lock of ``threading.Event`` is not reentrant: a handler that runs within ``set`` or ``wait``
    would wait for itself.  A ``SimpleQueue`` is made for that.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told = False
        self._woken: queue.SimpleQueue[None] = queue.SimpleQueue()

    def is_set(self) -> bool:
        return self._told

    def set(self) -> None:
        self._told = True
        self._woken.put(None)

    def clear(self) -> None:
        self._told = False
        with suppress(queue.Empty):
            while True:
                self._woken.get_nowait()

    def wait(self, timeout: float | None = None) -> bool:
        if not self._told:
            with suppress(queue.Empty):
                self._woken.get(timeout=None if timeout is None else max(0.0, timeout))
                self._woken.put(None)  # for others who wait
        return self._told


def on_signals(stop: threading.Event) -> dict[signal.Signals, Any]:
    """Make SIGINT and SIGTERM set an event, and a later one interrupt the work in progress.

    Returns:
        The previous handlers.
    """
    deaf = 0.0

    def leave(number: int, frame: FrameType | None) -> None:
        nonlocal deaf
        now = time.monotonic()
        if now < deaf:
            return
        deaf = now + BURST
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    return {each: signal.signal(each, leave) for each in (signal.SIGTERM, signal.SIGINT)}
