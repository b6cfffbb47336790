"""A blocking session at an OpenEnv server: one request, one answer."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.json_text import write

ANSWER = 16 << 20
"""Maximum bytes of an answer.  OpenEnv's own client reads 100 MiB, which may be 2 GB of lists."""
SHORT = 16 << 10
"""Bytes of a request that a socket takes even if the server does not read."""
PAGE = 4 << 20
"""Maximum bytes of a schema."""


class ServerFault(DovetailError):
    """The server failed, is gone, or violates the protocol."""


class RequestRefused(Exception):
    """The server refused a request; ``code`` is OpenEnv's."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def addresses(url: str) -> tuple[str, str]:
    """Return the base URLs for HTTP and for WebSockets.

    Raises:
        DovetailError: it is not a server's URL.

    >>> addresses("https://play.example.org/seat-0/")
    ('https://play.example.org/seat-0', 'wss://play.example.org/seat-0')
    """
    parts = urlsplit(url)
    secure = {"http": False, "ws": False, "https": True, "wss": True}.get(parts.scheme)
    if secure is None or not parts.netloc or parts.query or parts.fragment:
        raise DovetailError(
            f"environment openenv, option 'url': {url!r} is not the base URL of a server; "
            "expected one such as http://127.0.0.1:8000"
        )
    rest = (parts.netloc, parts.path.rstrip("/"), "", "")
    return urlunsplit(("https" if secure else "http", *rest)), urlunsplit(
        ("wss" if secure else "ws", *rest)
    )


def schema(base: str, headers: Mapping[str, str], timeout: float) -> dict[str, Any]:
    """Return a server's JSON Schemas: ``action``, ``observation``, ``state``.

    Raises:
        DovetailError: it has none.
    """
    parts = urlsplit(base)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        with closing(kind(parts.netloc, timeout=timeout)) as connection:
            connection.connect()
            with _within(timeout, connection.sock):
                connection.request("GET", f"{parts.path}/schema", headers=dict(headers))
                answer = connection.getresponse()
                if answer.status != HTTPStatus.OK:  # redirections too: the user named the server
                    raise OSError(f"HTTP status {answer.status}")
                found = json.loads(answer.read(PAGE))
    except (OSError, ValueError, RecursionError, HTTPException) as error:
        raise DovetailError(
            f"environment openenv: {base}/schema cannot be read ({line(str(error))}); "
            "is the server running, and does it speak OpenEnv?"
        ) from None
    if not isinstance(found, dict) or not isinstance(found.get("action"), dict):
        raise DovetailError(f"environment openenv: {base}/schema has no schema of an action")
    return found


@contextmanager
def _within(seconds: float, connection: socket.socket) -> Iterator[None]:
    """Break a connection off if the context lasts longer; a socket's own timeout is for a byte."""
    late = threading.Timer(seconds, connection.shutdown, [socket.SHUT_RDWR])
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


class OpenEnvClient:
    """A session, begun by connecting and ended by ``close``.

    Args:
        base: the base URL for WebSockets.
        timeout: seconds for each answer.

    Raises:
        ServerFault: there is no server, or it is full.
    """

    def __init__(self, base: str, headers: Mapping[str, str], timeout: float) -> None:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        self._failures: tuple[type[Exception], ...] = (WebSocketException, OSError, EOFError)
        self._timeout = timeout
        self.broken = False
        """True after a fault."""
        self._closing = ExitStack()
        parts = urlsplit(base)
        port = parts.port or (443 if parts.scheme == "wss" else 80)
        try:
            raw = socket.create_connection((parts.hostname or "", port), timeout)
            self._closing.callback(raw.close)
            raw.settimeout(None)
            self._socket = self._closing.enter_context(
                connect(
                    f"{base}/ws",
                    sock=raw,  # or redirections would be followed, with the headers
                    additional_headers=dict(headers),
                    open_timeout=timeout,
                    close_timeout=1.0,
                    max_size=ANSWER,
                    ping_interval=None,  # a server that computes answers none
                    proxy=None,
                )
            )
        except (*self._failures, ValueError) as error:
            self._closing.close()
            why = error.__cause__ if isinstance(error, ValueError) else error
            raise ServerFault(f"{base} cannot be reached: {line(str(why or error))}") from None

    def ask(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of the answer to a request.

        Raises:
            RequestRefused: the answer is an error that leaves the session open.
            ServerFault: any other fault, which ends the session.
        """
        until = time.monotonic() + self._timeout
        self.broken = True
        try:
            self._early()
            text = write({"type": kind, "data": data})
            # Bytes that the kernel does not buffer wait for the server to read.
            with (
                _within(self._timeout, self._socket.socket) if len(text) > SHORT else nullcontext()
            ):
                self._socket.send(text)
            answer = self._socket.recv(max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise ServerFault(f"no answer to {kind} within {self._timeout:g} s") from None
        except self._failures as error:
            if time.monotonic() >= until:
                raise ServerFault(f"no answer to {kind} within {self._timeout:g} s") from None
            with suppress(*self._failures):
                self._early()  # what it said last is the better reason
            raise ServerFault(f"the server is gone: {line(str(error))}") from None
        try:
            found = self._read(answer, "state" if kind == "state" else "observation")
        except RequestRefused:
            self.broken = False
            raise
        self.broken = False
        return found

    def _early(self) -> None:
        """Raise for an unsolicited error of the server, such as that it is full."""
        with suppress(TimeoutError):
            self._read(self._socket.recv(0), "nothing")

    def _read(self, answer: str | bytes, wanted: str) -> dict[str, Any]:
        try:
            said = json.loads(answer)
            kind, data = said["type"], said["data"]
            if not isinstance(data, dict):
                raise TypeError
        except (ValueError, RecursionError, LookupError, TypeError):
            raise ServerFault(f"{str(answer)[:60]!r} is not an answer of OpenEnv") from None
        if kind == "error":
            code, text = str(data.get("code")), line(str(data.get("message")))[:300]
            if code in ("VALIDATION_ERROR", "EXECUTION_ERROR") and wanted != "nothing":
                raise RequestRefused(code, text)
            raise ServerFault(f"{code}: {text}")
        if kind != wanted:
            raise ServerFault(f"an answer of type {str(kind)[:40]!r}; expected {wanted}")
        return data

    def close(self) -> None:
        """End the session."""
        with suppress(*self._failures):
            self._socket.send(write({"type": "close"}))
        with suppress(*self._failures):
            self._closing.close()
