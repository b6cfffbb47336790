"""Browsers' sessions, and the stamps of their forms.

A browser has two cookies.  One identifies the visitor, and the page stores nothing about it.  The
other comes with signing in, and identifies a session that the page stores.  A form's stamp depends
on both.  A page at another port of the host can plant a visitor's cookie, but then does not know
the stamps of a signed-in browser; and planting a session's cookie gives that session away.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

MOST = 10_000
"""Maximum sessions stored; the oldest are dropped first."""
DAYS = 30
"""Days for which a session lasts."""


class Signed(NamedTuple):
    """A signed-in session."""

    who: str
    shown: str
    """The token's hash or the key that it signed in with."""
    since: float


class Sessions:
    """The sessions of a page."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._signed: OrderedDict[str, Signed] = OrderedDict()
        """Sessions by the digest of their cookie."""

    # -- visitors ---------------------------------------------------------------------------------

    def stamp(self, request: Request) -> str:
        """Return the stamp for a browser's forms."""
        return self._stamp(self.visitor(request), _cookie(request, "entrant"))

    def stamped(self, request: Request, given: str) -> bool:
        """Return whether a form has the stamp of its browser."""
        visitor = _cookie(request, "page")
        if not visitor:
            return False
        wanted = self._stamp(visitor, _cookie(request, "entrant"))
        return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())

    def visitor(self, request: Request) -> str:
        """Return the value of a visitor's cookie, which is created with its first page."""
        found: str | None = getattr(request.state, "visitor", None)
        if found is None:
            found = request.state.visitor = _cookie(request, "page") or secrets.token_urlsafe(16)
        return found

    def mark(self, request: Request, response: Response) -> None:
        """Set the visitor's cookie in a browser."""
        _keep(request, response, "page", self.visitor(request))

    def _stamp(self, visitor: str, session: str) -> str:
        parts = (b"form", visitor.encode(), session.encode())
        text = b"".join(b"%d:%s" % (len(each), each) for each in parts)
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()

    # -- those who have signed in -----------------------------------------------------------------

    def begin(self, request: Request, response: Response, who: str, shown: str) -> None:
        """Start a session, ending the browser's previous one."""
        self._signed.pop(_digest(_cookie(request, "entrant")), None)
        key = secrets.token_urlsafe(32)
        self._signed[_digest(key)] = Signed(who, shown, self._clock())
        while len(self._signed) > MOST:
            self._signed.popitem(last=False)
        _keep(request, response, "entrant", key)

    def end(self, request: Request, response: Response) -> None:
        """End a session, here and in the browser."""
        self._signed.pop(_digest(_cookie(request, "entrant")), None)
        name, secure = _name(request, "entrant"), request.url.scheme == "https"
        response.delete_cookie(name, secure=secure, httponly=True, samesite="strict")

    def signed(self, request: Request) -> Signed | None:
        """Return a browser's session; None if it is not signed in."""
        key = _digest(_cookie(request, "entrant"))
        found = self._signed.get(key)
        if found is not None and self._clock() - found.since > DAYS * 86400:
            del self._signed[key]
            return None
        return found


def _name(request: Request, what: str) -> str:
    """Return a cookie's name with the port, since browsers share cookies across a host's ports."""
    _, colon, port = request.headers.get("host", "").rpartition(":")
    own = f"-{port}" if colon and port.isdecimal() else ""
    prefix = "__Host-" if request.url.scheme == "https" else ""
    return f"{prefix}dovetail-{what}{own}"


def _cookie(request: Request, what: str) -> str:
    return request.cookies.get(_name(request, what), "")[:200]


def _keep(request: Request, response: Response, what: str, value: str) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(
        _name(request, what), value, httponly=True, samesite="strict", secure=secure, path="/"
    )


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()
