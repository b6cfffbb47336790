"""A time limit for a whole HTTP exchange: a trickle never exceeds the timeout of one read."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

OPENED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
"""The events of httpcore that bring a new socket."""


class Cut:
    """Cuts the connection of an unshared httpx client, whatever it is waiting for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._over = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Record the socket in use; for the ``trace`` extension of a request."""
        if event in OPENED:
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self._over:
                    self._shut()

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """Cut the connection if the block takes longer than ``seconds``."""
        self._over = False
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        with self._lock:
            self._over = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it is closed
                self._socket.shutdown(socket.SHUT_RDWR)


def answer(call: Callable[[], T], seconds: float) -> T | None:
    """Call a function and return its result, or None after ``seconds``.

    It then continues in a daemon thread.
    """
    found: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            found.put((call(), None))
        except Exception as error:
            found.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        value, error = found.get(timeout=seconds)
    except Empty:
        return None
    if error is not None:
        raise error
    return value
