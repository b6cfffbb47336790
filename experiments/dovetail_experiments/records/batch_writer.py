"""Writes items in batches, from a thread: once there are enough, or the first has waited long
enough."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

SIZE = 10_000
"""Number of waiting items that triggers a write."""
SECONDS = 1.0
"""Maximum seconds an item waits."""
MOST = 4 * SIZE
"""Maximum number of waiting items; above it ``add`` blocks."""

Item = TypeVar("Item")


class BatchWriter(Generic[Item]):
    """Writes added items in order, from its own thread.

    Args:
        write: writes items; if it raises, they are kept, and ``add`` or ``flush`` raises the error.
        final: an error after which items are dropped.
    """

    def __init__(
        self, write: Callable[[list[Item]], None], final: type[Exception] | tuple[()] = ()
    ) -> None:
        self._write = write
        self._final = final
        self._changed = threading.Condition()
        self._waiting: list[Item] = []
        self._writing = False
        self._flushing = False
        self._closed = False
        self._due = 0.0
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    def add(self, item: Item) -> None:
        """Add an item; raise the error of an earlier item that could not be written."""
        with self._changed:
            self._waiting.append(item)
            count = len(self._waiting)
            if count == 1:
                self._due = time.monotonic() + SECONDS
                self._begin()
            elif count >= SIZE:
                self._changed.notify_all()
                while len(self._waiting) >= MOST and self._error is None:
                    self._changed.wait()
            self._raise()

    def flush(self) -> None:
        """Wait until all items are written; raise the error if one could not be."""
        with self._changed:
            if not self._closed and (self._waiting or self._writing):
                self._begin()
                self._flushing = True
                try:
                    while (self._waiting or self._writing) and self._error is None:
                        self._changed.wait()
                finally:
                    self._flushing = False
            self._raise()

    def close(self) -> None:
        """Flush, and stop the thread."""
        try:
            self.flush()
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="write results", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            self._changed.notify_all()
            raise error

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._ready():
                    if self._closed:
                        return
                    left = self._due - time.monotonic()
                    pausing = not self._waiting or self._error is not None
                    self._changed.wait(None if pausing else max(0.0, left))
                batch, self._waiting = self._waiting, []
                self._writing = True
            error: Exception | None = None
            try:
                self._write(batch)
            except Exception as caught:
                error = caught
            with self._changed:
                self._writing = False
                if error is not None:
                    self._error = error
                    if not isinstance(error, self._final):
                        self._waiting[:0] = batch
                self._due = time.monotonic() + SECONDS
                self._changed.notify_all()

    def _ready(self) -> bool:
        """Return whether it is time to write."""
        if not self._waiting or self._error is not None or self._closed:
            return False
        by_number = self._flushing or len(self._waiting) >= SIZE
        return by_number or time.monotonic() >= self._due
