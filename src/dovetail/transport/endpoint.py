"""Addresses such as ``tcp://127.0.0.1:5757`` and ``ipc:///run/broker``, and their sockets."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from dovetail.protocol.errors import DovetailError

BACKLOG = 4096
"""Connections that the kernel keeps until they are accepted; it may allow fewer."""
PATH_MOST = 107
"""Bytes in the path of a Unix socket."""
EXAMPLES = "expected tcp://HOST:PORT or ipc://PATH, such as tcp://127.0.0.1:5757"


@dataclass(frozen=True)
class Endpoint:
    """A broker's address: host and port, or the path of a Unix socket (``@NAME``: abstract)."""

    text: str
    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def place(self) -> str:
        """The path as the system calls take it."""
        return "\0" + self.path[1:] if self.path.startswith("@") else self.path

    def sockets(self, *, passive: bool = False) -> list[tuple[int, Any]]:
        """Return family and system address of each way to reach the endpoint.

        Raises:
            OSError: the host is unknown.
        """
        if self.path:
            return [(socket.AF_UNIX, self.place)]
        flags = socket.AI_PASSIVE if passive else 0
        try:
            found = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=flags
            )
        except UnicodeError:
            raise OSError(f"{self.host!r} is not a host name") from None
        return [(family, address) for family, _, _, _, address in found]


@dataclass(frozen=True, slots=True)
class Web:
    """The address for programs in a browser, and the pages that may use it.

    Raises:
        DovetailError: an origin is not one.
    """

    bind: str
    """HOST:PORT."""
    origins: tuple[str, ...] = ()
    """Origins of pages, such as ``https://play.example.org``."""

    def __post_init__(self) -> None:
        for each in self.origins:
            if not _is_origin(each):
                raise DovetailError(
                    f"{each!r} is not the origin of a page; expected scheme, host and, unless it "
                    "is the usual one, port, such as http://127.0.0.1:8000"
                )


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    usual = {"http": 80, "https": 443}.get(parts.scheme, port)
    again = f"{parts.scheme}://{parts.netloc.lower()}"
    return parts.scheme in ("http", "https") and again == text and "@" not in text and port != usual


def parse(text: str, *, listen: bool = False) -> Endpoint:
    """Return the endpoint of an address; ``*`` as host or port only where a broker listens.

    Raises:
        DovetailError: it is not an address; one line says why.
    """
    transport, separator, rest = text.partition("://")
    if not separator or transport not in ("tcp", "ipc") or not rest or "\0" in rest:
        raise DovetailError(f"{text!r} is not a broker address; {EXAMPLES}")
    if transport == "ipc":
        if not hasattr(socket, "AF_UNIX"):
            raise DovetailError(f"{text!r}: this system has no Unix sockets; use tcp://")
        if len(os.fsencode(rest)) > PATH_MOST:
            raise DovetailError(
                f"the path in {text!r} is too long for a socket; "
                f"use one of at most {PATH_MOST} bytes"
            )
        return Endpoint(text, path=rest)
    host, _, port = rest.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if listen and port == "*":
        port = "0"
    if listen and host == "*":
        host = "0.0.0.0"
    if not host or host == "*" or not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise DovetailError(f"{text!r} is not a broker address; {EXAMPLES}")
    return Endpoint(text, host, int(port))


NEEDS_KEY = (
    "the broker at {} lets in only programs with a key; give the option key, or set DOVETAIL_KEY"
)
USES_NO_KEYS = "the broker at {} uses no keys; connect without the option key and DOVETAIL_KEY"
REFUSES_KEY = "the broker at {} does not accept this program's key; ask the person who runs it"
WRONG_KEY = (
    "the broker at {} breaks off each handshake; check the broker's public key: `server` in the "
    "key file, or DOVETAIL_SERVER_KEY"
)
"""Lines for a program whose key, or lack of one, keeps it out of the broker at an address."""


class Listener:
    """A socket that listens at an address; ``close`` removes the file of a Unix socket.

    Raises:
        DovetailError: it cannot listen there; one line says why.
    """

    def __init__(self, text: str, option: str = "--bind") -> None:
        endpoint = parse(text, listen=True)
        try:
            self.socket = _listening(endpoint)
        except OSError as error:
            raise DovetailError(
                f"cannot listen at {text!r} ({error.strerror or error}); "
                f"is another broker running? choose another with {option}"
            ) from None
        self.socket.setblocking(False)
        self._file: tuple[str, tuple[int, int]] | None = None
        if endpoint.path:
            self.address = text
            if not endpoint.path.startswith("@"):
                self._file = (endpoint.path, _identity(endpoint.path))
        else:
            host, port = self.socket.getsockname()[:2]
            self.address = f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"

    def close(self) -> None:
        """Stop listening."""
        self.socket.close()
        if self._file is not None:
            path, identity = self._file
            try:
                if _identity(path) == identity:  # not of a broker that came after us
                    os.unlink(path)
            except OSError:
                pass


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _listening(endpoint: Endpoint) -> socket.socket:
    family, address = endpoint.sockets(passive=True)[0]
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if endpoint.path:
            _remove_dead(endpoint)
        elif os.name == "posix":  # elsewhere it would let two brokers listen at one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _remove_dead(endpoint: Endpoint) -> None:
    """Remove the socket file of a broker that is gone."""
    try:
        if not stat.S_ISSOCK(os.stat(endpoint.path).st_mode):
            return
    except OSError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(endpoint.place)
        except ConnectionRefusedError:
            os.unlink(endpoint.path)
        except OSError:
            pass


ROOM = 1 << 20
"""Bytes that a Unix socket takes before its reader wakes up; the system may allow fewer."""


def tune(made: socket.socket) -> None:
    """Send small messages at once and long ones whole, and detect a machine that is gone."""
    if made.family not in (socket.AF_INET, socket.AF_INET6):
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        return
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def say_no_more(made: socket.socket) -> None:
    """End our side of a connection; the peer may still send."""
    with contextlib.suppress(OSError):
        made.shutdown(socket.SHUT_WR)
