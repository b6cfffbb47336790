"""Sign-in on the page with a private key that never leaves its holder.

The page shows a code in the browser. The key's holder connects to the broker as a program whose
name contains the code, and the broker tells the page which entrant owns that program's key.
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
    """Return the code shown on a page whose form holds a secret; the code does not reveal the
    secret."""
    return hashlib.sha256(f"sign in {secret}".encode(errors="replace")).hexdigest()[:16]


def name(code: str) -> str:
    """Return the name of the program that presents a code."""
    return f"sign-in-{code}"


def show(
    code: str, address: str, token: str | None, stop: threading.Event, ready: Callable[[], None]
) -> None:
    """Present a code to an arena's broker until ``stop`` is set.

    Args:
        code: the code shown in the browser.
        token: an access token, if the broker requires one.
        ready: called once the broker has accepted the code.

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
