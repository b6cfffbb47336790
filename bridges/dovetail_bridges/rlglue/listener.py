"""A TCP port at which legacy programs announce their roles: at most one agent, one environment and
one experiment.

A thread accepts connections and reads their first frames, so that a silent or talkative program
delays no other.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections.abc import Collection

from dovetail.protocol.errors import DovetailError
from dovetail.transport.lines import Lines
from dovetail_bridges.rlglue import wire
from dovetail_bridges.rlglue.peer import Peer

log = logging.getLogger("dovetail.rlglue")

HELLO = 10.0
"""Seconds within which a connection must announce its role."""
UNANNOUNCED = 256
"""Maximum number of connections without a role; beyond it, the oldest is closed."""
LONELY = 30.0
"""Seconds of waiting for other programs after which the log names the missing ones."""
ROLES = ("agent", "environment", "experiment")


class Port:
    """A listening port for legacy programs.

    Args:
        host: the address to bind.
        number: the TCP port; 0 takes any free one.
        roles: the roles that programs may announce here.
        patience: seconds to wait for a program's answer; None waits forever.

    Raises:
        DovetailError: the address cannot be bound.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        number: int = 4096,
        roles: Collection[str] = ROLES,
        patience: float | None = None,
        hello: float = HELLO,
    ) -> None:
        self.roles = frozenset(roles)
        self._patience = patience
        self._hello = hello
        self._lines = Lines(log)
        self._changed = threading.Condition()
        self._peers: dict[str, Peer] = {}
        self._closed = False
        self._unannounced: dict[socket.socket, tuple[float, bytes]] = {}
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listener = socket.create_server((host, number), family=family, backlog=128)
        except (OSError, OverflowError) as error:
            raise DovetailError(
                f"cannot listen at {host}:{number}: {error}; name another port with --port"
            ) from None
        self._listener.setblocking(False)
        self.number: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(
            target=self._serve, name=f"rlglue-{self.number}", daemon=True
        )
        self._thread.start()

    def peer(self, role: str) -> Peer | None:
        """Return the program in a role, if it is connected."""
        with self._changed:
            return self._present(role)

    def _present(self, role: str) -> Peer | None:
        found = self._peers.get(role)
        if found is not None and not found.alive:
            found.lose("closed its connection")
            del self._peers[role]
            self._lines.warn(found.gone)
            return None
        return found

    def wait(self, role: str, timeout: float) -> bool:
        """Wait for a program in a role; return whether there is one."""
        end = time.monotonic() + timeout
        with self._changed:
            while not self._closed and self._present(role) is None:
                left = min(0.5, end - time.monotonic())
                if left <= 0:
                    return False
                self._changed.wait(left)
        return not self._closed

    def claim(self, roles: Collection[str], timeout: float | None = None) -> dict[str, Peer] | None:
        """Wait until programs are connected in all roles; mark them busy and return them.

        Returns:
            The programs by role; None after ``timeout`` seconds or when the port is closed.
        """
        end = None if timeout is None else time.monotonic() + timeout
        remark = time.monotonic() + LONELY
        with self._changed:
            while not self._closed:
                found = {role: self._present(role) for role in roles}
                present = {role: peer for role, peer in found.items() if peer is not None}
                if len(present) == len(found):
                    for peer in present.values():
                        peer.busy = True
                    return present
                if not present or time.monotonic() > remark:
                    remark = time.monotonic() + LONELY
                    if present:
                        here, missing = (
                            list(present),
                            [each for each in found if each not in present],
                        )
                        log.warning(
                            "port %d: %s connected, still waiting for a legacy %s; if it is not "
                            "legacy, name the roles that are (dovetail rlglue --help)",
                            *(self.number, " and ".join(here), " and ".join(missing)),
                        )
                left = 0.5 if end is None else min(0.5, end - time.monotonic())
                if left <= 0:
                    return None
                self._changed.wait(left)
        return None

    def release(self, peer: Peer) -> None:
        """Send a program ``RLTerm``, and free its role for the next, which may be waiting
        already."""
        with self._changed:
            if self._peers.get(peer.role) is peer:
                del self._peers[peer.role]
        peer.dismiss()

    @property
    def closed(self) -> bool:
        """True once ``close`` was called."""
        return self._closed

    def close(self) -> None:
        """Dismiss all programs and stop listening."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        with contextlib.suppress(OSError):  # the thread may have ended already
            self._wake.send(b"x")
        self._thread.join()
        for peer in list(self._peers.values()):
            self.release(peer)
        self._wake.close()

    # -- the thread ------------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select(0.5 if self._unannounced else None):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is not self._woken:
                    assert isinstance(key.fileobj, socket.socket)
                    self._read(key.fileobj)
            now = time.monotonic()
            for each in [each for each, (end, _) in self._unannounced.items() if now > end]:
                self._refuse(each, f"announced no role within {self._hello:g} s")
        for each in list(self._unannounced):
            self._forget(each).close()
        self._selector.close()
        self._listener.close()
        self._woken.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        if len(self._unannounced) >= UNANNOUNCED:
            self._refuse(next(iter(self._unannounced)), "announced no role while many others came")
        self._unannounced[connection] = (time.monotonic() + self._hello, b"")
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: socket.socket) -> None:
        if connection not in self._unannounced:
            return  # refused since the selector saw it
        end, data = self._unannounced[connection]
        try:
            more = connection.recv(8 - len(data))
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            self._forget(connection).close()
            return
        data += more
        self._unannounced[connection] = (end, data)
        if len(data) < 8:
            return
        code, length = wire.HEADER.unpack(data)
        role = wire.ROLES.get(code)
        if role is None or length:
            self._refuse(
                connection,
                f"began with code {code} and {length} bytes, which names none of the roles",
            )
        elif role not in self.roles:
            self._refuse(connection, f"announced itself as {role}, which does not join here")
        else:
            self._seat(self._forget(connection), role)

    def _forget(self, connection: socket.socket) -> socket.socket:
        self._selector.unregister(connection)
        del self._unannounced[connection]
        return connection

    def _refuse(self, connection: socket.socket, why: str) -> None:
        self._lines.warn(f"closed a connection to port {self.number}: it {why}")
        self._forget(connection)
        with contextlib.suppress(OSError):
            connection.send(wire.frame(wire.Code.TERM))
        connection.close()

    def _seat(self, connection: socket.socket, role: str) -> None:
        newcomer = Peer(connection, role, self._patience)
        with self._changed:
            present = self._present(role)
            if present is not None and present.busy:
                newcomer.drop(f"came to port {self.number} where another one plays")
                self._lines.warn(newcomer.gone)
                return
            if present is not None:
                present.drop("was replaced by another one before it played")
                self._lines.warn(present.gone)
            self._peers[role] = newcomer
            self._changed.notify_all()
