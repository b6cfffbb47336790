"""WebSockets of programs in a browser, as a machine without sockets, in place of ZMTP's ``Wire``.

One binary message is one frame of the contract (S3.5), under the subprotocol ``dovetail.1``.  The
handshake and the framing are those of the package ``websockets``, without compression.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from dovetail.protocol.display_text import line
from dovetail.transport import zmtp
from dovetail.transport.endpoint import Web
from dovetail.transport.zmtp import TooLarge, Wire, WireError

SUBPROTOCOL = "dovetail.1"
REASON = 123
"""Bytes of a reason in a close frame."""
PIECE = 1 << 13
"""Bytes that are read before control frames are counted."""
TINY = 1 << 10
"""A fragment of a message that has fewer bytes counts as a control frame."""
LOCAL = ("127.0.0.1", "localhost", "::1")
"""The names under which a page reaches a port of its own machine."""

_TEXT, _BINARY, _CLOSE = 1, 2, 8
_DONE, _BROKEN, _TEXT_REFUSED, _POLICY, _TOO_LARGE = 1000, 1002, 1003, 1008, 1009
"""Codes of a close frame (RFC 6455, section 7.4.1)."""

_quiet = logging.getLogger("dovetail.websocket")
_quiet.disabled = True  # the broker has lines of its own


class WebWire(Wire):
    """The broker's side of one WebSocket.

    Args:
        most: the bytes that a message may have.
        web: the rules for pages that connect.
        names: the broker's names, one of which a request must give as ``Host``; empty for any.
        other: the address for ZeroMQ programs, which one that errs is told.
    """

    __slots__ = ("_begun", "_last", "_names", "_other", "_protocol", "_size", "_web")

    def __init__(self, most: int, web: Web, names: Sequence[str], other: str) -> None:
        from websockets.server import ServerProtocol
        from websockets.typing import Subprotocol

        super().__init__(b"ROUTER", most)
        self._web = web
        self._names = names
        self._other = other
        self._protocol: Any = ServerProtocol(
            subprotocols=[Subprotocol(SUBPROTOCOL)], max_size=None, logger=_quiet
        )
        self._begun = bytearray()
        """The fragments of a message that is not complete."""
        self._size = 0
        """Bytes that have come since the last message was complete."""
        self._last: tuple[bytes, int] = (b"", _POLICY)
        """The answer to a handshake that is refused, or the code of the close frame."""
        self.out.clear()

    @property
    def incomplete(self) -> int:
        return self._size

    def _header(self, size: int, more: bool) -> bytes:
        return _header(_BINARY, size)

    def farewell(self, text: str) -> bytes:
        answer, code = self._last
        if not self.greeted:
            return answer
        return b"" if self.ended else _closing(code if text else _DONE, text)

    def rejection(self, text: str) -> bytes:
        return self._answer(HTTPStatus.SERVICE_UNAVAILABLE, text)

    def feed(self, data: bytes) -> list[bytes]:
        protocol = self._protocol
        if not self.greeted and data[:1] == b"\xff" and not self._size:
            text = f"a ZeroMQ program at the port for web pages; connect to {self._other}"
            self._last = zmtp.GREETING + zmtp.error(text), _POLICY
            raise WireError(text)
        self._size += len(data)
        self.controls = 0
        frames: list[bytes] = []
        for start in range(0, len(data), PIECE):
            protocol.receive_data(data[start : start + PIECE])
            for event in protocol.events_received():
                if self.greeted:
                    self._take(event, frames)
                else:
                    self._greet_page(event)
                if self.ended:
                    break
            if self.ended:
                break
        writes = protocol.data_to_send()
        broken = protocol.handshake_exc or protocol.parser_exc
        if broken is not None:  # its close frame is for ``farewell``, behind what we have to say
            if not self.greeted:
                self._last = bytes(self.out) + b"".join(writes), _POLICY
                self.out.clear()
                raise WireError(f"not a WebSocket: {line(str(broken))}")
            self._last = b"", _BROKEN
            raise WireError(line(str(broken)))
        self.out += b"".join(writes)
        if self._size > self._most:
            self._last = b"", _TOO_LARGE
            raise TooLarge(
                f"a message of more than {self._most:,} bytes; at most {self._most:,} are read"
            )
        return frames

    def _take(self, frame: Any, frames: list[bytes]) -> None:
        if frame.opcode == _CLOSE:
            self.ended = True
        elif frame.opcode == _TEXT:
            self._last = b"", _TEXT_REFUSED
            raise WireError("a text message; send each frame as a binary message")
        elif frame.opcode > _CLOSE:
            self.control()
        else:
            if not frame.fin:
                self._begun += frame.data
                if len(frame.data) < TINY:
                    self.control()
                return
            data = bytes(frame.data)
            if self._begun:
                data = bytes(self._begun) + data
                self._begun = bytearray()
            self._size = 0
            if len(data) > self._most:
                self._last = b"", _TOO_LARGE
                raise TooLarge(f"a message of {len(data):,} bytes; at most {self._most:,} are read")
            frames.append(data)

    def _greet_page(self, request: Any) -> None:
        """Answer the request that opens a WebSocket."""
        origins = [line(each) for each in request.headers.get_all("Origin")]
        hosts = [line(each) for each in request.headers.get_all("Host")]
        if any(each not in self._web.origins for each in origins) or len(origins) > 1:
            origin = ", ".join(origins)
            status = HTTPStatus.FORBIDDEN
            text = f"pages of {origin} may not connect; start the broker with --web-origin {origin}"
        elif self._names and (len(hosts) != 1 or _name(hosts[0]) not in self._names):
            status = HTTPStatus.MISDIRECTED_REQUEST
            text = (
                f"this broker is not called {', '.join(hosts) or 'nothing'}; "
                f"let the proxy send `Host: {self._names[0]}`"
            )
        else:
            early = self._protocol.data_to_send()  # to what came with the request
            response = self._protocol.accept(request)
            self._protocol.send_response(response)
            self.out += b"".join((*self._protocol.data_to_send(), *early))
            if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
                self.greeted = self.ready = True
                self._size = 0
            return
        self._last = self._answer(status, text), _POLICY
        raise WireError(text)

    def _answer(self, status: HTTPStatus, text: str) -> bytes:
        response = self._protocol.reject(status, text + "\n")
        return bytes(response.serialize())


def _name(host: str) -> str:
    """Return the name in a ``Host`` header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _header(opcode: int, size: int) -> bytes:
    """Return the header of a frame that is a whole message."""
    first = (0x80 | opcode).to_bytes()
    if size < 126:
        return first + size.to_bytes()
    if size < 65_536:
        return first + b"\x7e" + size.to_bytes(2, "big")
    return first + b"\x7f" + size.to_bytes(8, "big")


def _closing(code: int, text: str) -> bytes:
    """Return a close frame, with as much of the reason as it has room for."""
    reason = text.encode()[:REASON].decode(errors="ignore").encode()
    data = code.to_bytes(2, "big") + reason
    return _header(_CLOSE, len(data)) + data
