"""HTTP for the protocol: a player's server, and a game manager's requests."""

from __future__ import annotations

import http.client
import io
import logging
import socket
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from typing import Protocol as Interface

from dovetail.protocol.errors import DovetailError, attempting
from dovetail.transport.lines import Lines
from dovetail_bridges.gdl.kif import LARGEST
from dovetail_experiments.quoting import origin

log = logging.getLogger("dovetail.ggp")

SILENCE = 30.0
"""Maximum seconds for a request to arrive."""
AT_ONCE = 64
"""Maximum connections at a time."""
TYPE = "text/acl"


class Answering(Interface):
    """The interface of what answers messages."""

    def answer(self, text: str) -> str:
        """Return the answer to a message; raise DovetailError if there is none."""
        ...


class Server(ThreadingHTTPServer):
    """Answers the messages of game managers, one at a time.

    Args:
        protocol: answers the messages.
        host: the address to listen at.
        port: the port; 0 for any free one.

    Raises:
        DovetailError: the address is not free.
    """

    daemon_threads = True
    request_queue_size = AT_ONCE

    def __init__(self, protocol: Answering, host: str = "127.0.0.1", port: int = 9147) -> None:
        self.protocol = protocol
        self.turn = threading.Lock()
        self.lines = Lines(log)
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with attempting(f"listen at {host}:{port}"):
            super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; close the connection at once if there are too many."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request, then free its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    @property
    def address(self) -> str:
        """The URL of the player."""
        return origin(str(self.server_address[0]), self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = SILENCE
    protocol_version = "HTTP/1.0"

    def setup(self) -> None:
        """Limit the time of the whole request."""
        super().setup()
        self.rfile = io.BufferedReader(_Until(self.connection, time.monotonic() + SILENCE))

    def do_POST(self) -> None:
        try:
            size = int(self.headers.get("Content-Length", ""))
        except ValueError:
            size = -1
        if not 0 <= size <= LARGEST:
            self.send_error(400, f"expected a Content-Length of at most {LARGEST}")
            return
        text = self.rfile.read(size).decode("utf-8", "replace")
        try:
            with self.server.turn:
                answer, code = self.server.protocol.answer(text), 200
        except DovetailError as error:
            answer, code = str(error), 400
            self.server.lines.warn(f"refused a message: {error}")
        except Exception:
            answer, code = "the player failed; its log says how", 500
            log.exception("a message failed")
        body = answer.encode()
        self.send_response(code)
        self.send_header("Content-Type", TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        log.debug(format, *args)


class _Until(io.RawIOBase):
    """A reader with a deadline for all reads; a socket's timeout limits each read separately."""

    def __init__(self, link: socket.socket, end: float) -> None:
        self._link = link
        self._end = end

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return a buffered reader, as a socket's method of this name does."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._link.settimeout(_left(self._end))
        return self._link.recv_into(buffer)


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def post(address: str, text: str, timeout: float) -> str:
    """Send a message to a player; return its answer.

    Args:
        address: the player's URL, http only.
        timeout: seconds for the whole answer.

    Raises:
        DovetailError: there is no answer in time, or it is an error.
    """
    url = urllib.parse.urlsplit(address)
    if url.scheme != "http" or not url.hostname:
        raise DovetailError(
            f"{address!r} is not the address of a player; expected http://HOST:PORT"
        )
    end = time.monotonic() + timeout
    connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=timeout)
    try:
        headers = {"Content-Type": TYPE, "Accept": TYPE}
        connection.connect()
        connection.sock.settimeout(_left(end))
        connection.request("POST", url.path or "/", text.encode(), headers)
        link: Any = _Until(connection.sock, end)  # has all that a response needs of a socket
        response = http.client.HTTPResponse(link, method="POST")
        response.begin()
        answer = response.read(LARGEST).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        why = str(error) or type(error).__name__
        raise DovetailError(f"{address} did not answer: {why}") from None
    finally:
        connection.close()
    if response.status != 200:
        raise DovetailError(
            f"{address} answered {response.status}: {' '.join(answer.split())[:200]}"
        )
    return answer
