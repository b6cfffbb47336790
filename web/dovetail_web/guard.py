"""Admission to the page, and the rights of a browser there."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import secrets
import time

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dovetail_bridges.connection_limits import network
from dovetail_web.rate_limit import Attempts

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
LOCAL = ("127.0.0.1", "localhost", "[::1]")
SAFE = ("GET", "HEAD", "OPTIONS")
"""HTTP methods that change nothing."""
LONGEST_BODY = 1 << 20
"""Maximum bytes of a form."""
UPLOADED, LONGEST_UPLOAD = "/arena/submit", 65 << 20
"""The address for uploads of agents, and their maximum bytes; the arena's own limit is lower."""
KNOWN = "dovetail-door"
"""The cookie of a browser that gave the right password, so that others' wrong ones do not delay
it."""


class Guard:
    """Middleware that admits visitors, and sets the browser's restrictions for the pages.

    Args:
        app: the application to guard.
        hosts: the host names accepted in requests; empty for any.
        password: the password for visitors; None for none.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], password: str | None) -> None:
        self._app = app
        self._hosts = hosts
        self._password = password
        self._pass = secrets.token_hex(32)
        self._attempts = Attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        status, text = self._refusal(scope, headers)
        if status:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 4403})
                return
            answer = Response(text, status, media_type="text/plain")
            if status == 401:
                answer.headers["WWW-Authenticate"] = 'Basic realm="Dovetail", charset="UTF-8"'
            await answer(scope, receive, send)
            return
        new = self._password is not None and not self._has_given_it(scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                usual = (
                    (b"content-security-policy", POLICY.encode()),
                    # Pages change, and are for who is signed in.
                    (b"cache-control", b"no-cache, private"),
                )
                message["headers"] = [
                    *message["headers"],
                    *(each for each in usual if each[0] not in given),
                    (b"x-content-type-options", b"nosniff"),
                    # To this page's own addresses only; with `no-referrer` its forms would have no
                    # origin.
                    (b"referrer-policy", b"same-origin"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                    (b"cross-origin-opener-policy", b"same-origin"),
                    *((self._known(scope),) if new else ()),
                ]
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str]:
        host = headers.get(b"host", "")
        if self._hosts and host.rpartition(":")[0] not in self._hosts and host not in self._hosts:
            return 400, "This page is served under another name. Start it with --name for this one."
        live = scope["type"] == "websocket"
        if (live or scope["method"] not in SAFE) and not _own(scope, headers, required=live):
            return 403, "Another page may not do this. Open this page itself, and try again there."
        length = headers.get(b"content-length", "0")
        long = len(length) > 18 or not length.isdecimal() or int(length) > longest(scope)
        if not live and long:
            return 413, f"The page takes at most {longest(scope)} bytes at once."
        if self._password is None:
            return 0, ""
        return self._admitted(scope, headers.get(b"authorization", ""))

    def _admitted(self, scope: Scope, header: str) -> tuple[int, str]:
        """Check the password; an address with many wrong ones has to wait."""
        asked = 401, "Give the page's password."
        if not header:
            return asked
        address, now = network((scope.get("client") or ("",))[0]), time.monotonic()
        wait = 0.0 if self._has_given_it(scope) else self._attempts.wait(address, now)
        if wait:
            return 429, f"Too many wrong passwords; wait {math.ceil(wait)} s, then try again."
        if self._knows(header):
            return 0, ""
        self._attempts.failed(address, now)
        return asked

    def _has_given_it(self, scope: Scope) -> bool:
        return hmac.compare_digest(
            HTTPConnection(scope).cookies.get(_door(scope), "").encode(errors="replace"),
            self._pass.encode(),
        )

    def _known(self, scope: Scope) -> tuple[bytes, bytes]:
        more = "; Secure" if scope["scheme"] == "https" else ""
        text = f"{_door(scope)}={self._pass}; Path=/; HttpOnly; SameSite=Strict{more}"
        return b"set-cookie", text.encode()

    def _knows(self, header: str) -> bool:
        kind, _, given = header.partition(" ")
        try:
            text = base64.b64decode(given, validate=True)
        except (binascii.Error, ValueError):
            return False
        password = hashlib.sha256(text.partition(b":")[2]).digest()
        wanted = hashlib.sha256((self._password or "").encode()).digest()
        return hmac.compare_digest(password, wanted) and kind.lower() == "basic"


def _door(scope: Scope) -> str:
    return f"__Host-{KNOWN}" if scope["scheme"] in ("https", "wss") else KNOWN


def _own(scope: Scope, headers: dict[bytes, str], *, required: bool) -> bool:
    """Return whether a request comes from the page itself or from a program that is not a browser.

    Browsers name the origin of each form and WebSocket.  Programs that name none, such as curl,
    have no browser's cookies.  The stamp that forms also need stops the rest.
    """
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site not in (None, "same-origin"):
        return False
    if origin is None:
        return not required
    scheme, _, host = origin.partition("://")
    if host != headers.get(b"host", ""):
        return False
    return scheme == "https" or scope["scheme"] in ("http", "ws")


def longest(scope: Scope) -> int:
    """Return the maximum bytes of a request's body."""
    return LONGEST_UPLOAD if scope["path"] == UPLOADED else LONGEST_BODY
