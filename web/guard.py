"""Who may come in to the page, and what a browser may do with it."""

from __future__ import annotations

import base64
import binascii
import hmac

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """Lets in who may come in, and says what a browser may do with the pages.

    Args:
        app: what is guarded.
        hosts: the names under which the page may be asked for; empty for any.
        password: that is asked for; None for none.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], password: str | None) -> None:
        self._app = app
        self._hosts = hosts
        self._password = password

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

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                policy = b"content-security-policy"
                message["headers"] = [
                    *message["headers"],
                    *(() if policy in given else ((policy, POLICY.encode()),)),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    # Pages change, and are for who is signed in; scripts change with the page's version.
                    (b"cache-control", b"no-cache, private"),
                    (b"cross-origin-opener-policy", b"same-origin"),
                ]
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str]:
        host = headers.get(b"host", "")
        if self._hosts and host.rpartition(":")[0] not in self._hosts and host not in self._hosts:
            return 400, "This page is served under another name. Start it with --name for this one."
        if scope["type"] == "websocket":
            origin = headers.get(b"origin", "")
            if origin.partition("://")[2] != host:
                return 403, "Another page may not connect."
        if self._password is not None and not self._knows(headers.get(b"authorization", "")):
            return 401, "Give the page's password."
        return 0, ""

    def _knows(self, header: str) -> bool:
        kind, _, given = header.partition(" ")
        try:
            text = base64.b64decode(given, validate=True)
        except (binascii.Error, ValueError):
            return False
        password = text.partition(b":")[2]
        wanted = (self._password or "").encode()
        return kind.lower() == "basic" and hmac.compare_digest(password, wanted)
