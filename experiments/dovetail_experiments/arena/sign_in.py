"""Signing in on the page by a key that stays where it is.

The page shows a code to one browser. The key's holder connects to the broker as a program whose
name has the code, and the broker tells the page whose key that program has shown.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable

from dovetail.peer.link import Link
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError

CODE = re.compile(r"[0-9a-f]{16}")


def code(secret: str) -> str:
    """Return the code that a page shows which has a secret in its form; it does not give the secret
    away."""
    return hashlib.sha256(f"sign in {secret}".encode(errors="replace")).hexdigest()[:16]


def name(code: str) -> str:
    """Return the name of the program that shows a code."""
    return f"sign-in-{code}"


def show(
    code: str,
    address: str,
    token: str | None,
    stop: threading.Event,
    ready: Callable[[], None],
) -> None:
    """Show a code to an arena's broker until ``stop`` is set.

    Args:
        code: that a browser shows.
        address: the broker's.
        token: an access token, if the broker asks for one.
        stop: ends it.
        ready: called once the broker has taken the code.

    Raises:
        DovetailError: this is not a code, or the broker refuses the key.
    """
    if not CODE.fullmatch(code):
        raise DovetailError(f"{code[:40]!r} is not a code; copy the 16 characters from the page")
    link = Link(address, m.Hello(m.VERSION, "agent", name(code), token=token), 10.0, stop)
    try:
        if not stop.is_set():
            ready()
        while not stop.is_set() and not link.departed:
            link.receive(0.1)
    finally:
        link.close()
