"""Whether a ``hello`` is welcome as it is, from any peer.  Pure."""

from __future__ import annotations

import hmac
import re
from collections import Counter
from typing import Any

from dovetail.broker import limits
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
"""What a terminal obeys rather than shows."""


def check(
    hello: m.Hello, token: str | None, allowance: limits.Allowance, entrant: str = ""
) -> None:
    """Check a ``hello``.

    Args:
        hello: of a peer.
        token: the broker's access token, if it has one.
        allowance: what the peer may cost.
        entrant: whose own access token it carries; empty for none.

    Raises:
        ProtocolError: it is refused.
    """
    if hello.version != m.VERSION:
        text = f"protocol version {hello.version}; this broker speaks {m.VERSION}"
        raise ProtocolError("version", text)
    if token is not None and not carries(hello, token):
        if not entrant:
            text = "the access token is missing or wrong; ask the person who runs this broker"
            raise ProtocolError("access", text)
        if hello.role != "agent":
            raise ProtocolError(
                "access", f"this access token is for agents, not for an {hello.role}"
            )
    limits.check(hello, allowance)
    if hello.offers and hello.role not in ("environment", "agent"):
        raise ProtocolError("invalid", f"an {hello.role} has no offers")
    names = [offer.name for offer in hello.offers]
    if any(map(CONTROL.search, (hello.name, hello.software, *names))):
        raise ProtocolError(
            "invalid",
            "a name has control characters, which a terminal would obey; leave them out",
        )
    for offer in hello.offers:
        if not _plain(offer.parameters):
            raise ProtocolError(
                "invalid",
                f"the parameters of {offer.name!r} have a value that JSON lacks; give a JSON Schema",
            )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ProtocolError("invalid", f"{twice[0]!r} is offered twice; give each its own name")


def carries(hello: m.Hello, token: str | None) -> bool:
    """Whether a ``hello`` carries an access token; how long this takes tells nothing of it."""
    given = (hello.token or "").encode(errors="surrogatepass")
    return token is not None and hmac.compare_digest(token.encode(), given)


def same(first: m.Hello | None, hello: m.Hello) -> bool:
    """Whether a ``hello`` comes again; as bytes, since arrays in one that is not checked have no equality."""
    return first is not None and codec.encode(first) == codec.encode(hello)


def _plain(value: Any) -> bool:
    """Whether a value has only what JSON has, or numbers that are not finite."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            if not all(isinstance(key, str) for key in each):
                return False
            left += each.values()
        elif isinstance(each, list | tuple):
            left += each
        elif not (each is None or isinstance(each, str | int | float)):
            return False
    return True
