"""A TCP proxy on loopback that cuts, delays, and half opens the connections through it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Proxy:
    """Passes bytes between whatever connects to ``address`` and a port of this machine.

    Args:
        port: the port to forward to.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self.delay = 0.0
        """Seconds that each piece waits before it is passed on."""
        self._deaf = False
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._to), 1.0)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            with self._lock:
                self._sockets |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):  # also if it was cut meanwhile
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := one.recv(65536):
                if self.delay:
                    time.sleep(self.delay)
                if not self._deaf:
                    other.sendall(data)
        self._end(one, other)

    def _end(self, *sockets: socket.socket) -> None:
        with self._lock:
            self._sockets -= set(sockets)
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def cut(self) -> None:
        """Break every connection; new ones are accepted."""
        with self._lock:
            sockets = list(self._sockets)
        self._end(*sockets)

    def half_open(self, seconds: float) -> None:
        """Swallow what is sent, both ways, while both ends see an open connection; then break
        it."""
        self._deaf = True

        def end() -> None:
            self.cut()
            self._deaf = False

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()

    def slow(self, delay: float, seconds: float) -> None:
        """Delay everything for a while."""
        self.delay = delay

        def end() -> None:
            self.delay = 0.0

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Accept nothing and break everything."""
        self._listener.close()
        self.cut()
