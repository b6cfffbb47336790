"""Checks of ``hello``.  Pure."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace

from dovetail.broker.peers import limits
from dovetail.broker.peers.access import Access
from dovetail.broker.peers.peers import Peer
from dovetail.protocol import codec
from dovetail.protocol import json_text as jsontext
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import UNNAMED, UNNAMED_TEXT
from dovetail.protocol.errors import ProtocolError

UNGREETED = "say hello first; no session is known for this connection"


def check(
    hello: m.Hello, token: str | None, allowance: limits.Allowance, entrant: str = ""
) -> None:
    """Check a ``hello``; ``entrant`` is the owner of the access token that it carries, if any.

    Raises:
        ProtocolError: the ``hello`` is refused.
    """
    if hello.version != m.VERSION:
        raise ProtocolError("version", _other(hello.version))
    if token is not None and not carries(hello, token):
        if not entrant:
            text = "the access token is missing or wrong; ask the person who runs this broker"
            raise ProtocolError("access", text)
        if hello.role != "agent":
            text = f"this access token is for agents, not for an {hello.role}"
            raise ProtocolError("access", text)
    if len(hello.offers) > allowance.offers:
        most = f"{allowance.offers:,}"
        text = f"{len(hello.offers):,} offers; a peer may have {most}; use several peers"
        raise ProtocolError("limit", text)
    names = [("name", hello.name), ("software", hello.software)]
    if text := limits.overlong([*names, *(("name of an offer", o.name) for o in hello.offers)]):
        raise ProtocolError("limit", text)
    for offer in hello.offers:
        size = limits.elements([offer.parameters, offer.seats, offer.wants])
        if size > limits.OFFER_ELEMENTS:
            text = f"the offer {offer.name!r} has {size:,} values; it may have"
            raise ProtocolError("limit", f"{text} {limits.OFFER_ELEMENTS:,}")
    if hello.offers and hello.role not in ("environment", "agent"):
        raise ProtocolError("invalid", f"an {hello.role} has no offers")
    offered = [offer.name for offer in hello.offers]
    if any(map(UNNAMED.search, (hello.name, hello.software, *offered))):
        raise ProtocolError("invalid", f"a name {UNNAMED_TEXT}; leave them out")
    for offer in hello.offers:
        if not jsontext.plain(offer.parameters):
            text = f"the parameters of {offer.name!r} have a value that JSON lacks, such as NaN"
            raise ProtocolError("invalid", f"{text}; give a JSON Schema")
    twice = [name for name, count in Counter(offered).items() if count > 1]
    if twice:
        raise ProtocolError("invalid", f"{twice[0]!r} is offered twice; give each its own name")


def scoped(hello: m.Hello, owner: str) -> m.Hello:
    """Return a ``hello`` with its unique names prefixed by its owner's, if there is one."""
    if not owner:
        return hello
    offers = [
        replace(each, name=f"{owner}/{each.name}") if each.instance else each
        for each in hello.offers
    ]
    return replace(hello, name=hello.name and f"{owner}/{hello.name}", offers=offers)


def still(
    peer: Peer, access: Access | None, entrant: Callable[[str], str | None]
) -> limits.Allowance | None:
    """Check that a peer is still admitted; return its key's limits, None without a key.  Raises
    ProtocolError (``access``): its key or token was revoked, or no longer permits its role."""
    if peer.token and entrant(peer.token) != peer.entrant:
        text = f"the access token of {peer.entrant!r} was revoked"
        raise ProtocolError("access", f"{text}; ask the person who runs this broker")
    if not peer.public or access is None:
        return None
    name = access.admit(peer.public, peer.role, list(peer.offers), 0)
    if name != peer.key:
        raise ProtocolError("access", f"the key {peer.key!r} is now called {name!r}")
    return access.allowance(name)


def unread(error: ProtocolError) -> m.Error:
    """Return the answer to an unreadable frame on a connection without a session."""
    version = error.about.get("version", m.VERSION)
    if error.kind == "hello" and version != m.VERSION:  # whose fields may be others
        return m.Error("version", _other(version))
    if error.code == "unknown-type":
        return m.Error("hello-first", UNGREETED)
    return m.Error(error.code, str(error))


def _other(version: int) -> str:
    return f"protocol version {version}; this broker speaks {m.VERSION}"


def carries(hello: m.Hello, token: str | None) -> bool:
    """Return whether a ``hello`` carries an access token, compared in constant time."""
    given = (hello.token or "").encode(errors="surrogatepass")
    return token is not None and hmac.compare_digest(token.encode(), given)


def same(first: m.Hello | None, hello: m.Hello) -> bool:
    """Return whether two ``hello`` are equal, as bytes, since their arrays cannot be compared."""
    return first is not None and codec.encode(first) == codec.encode(hello)
