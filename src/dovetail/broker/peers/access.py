"""Permissions by key.  Pure: the access file's contents in, decisions out.

``dovetail.broker.peers.access_file`` reads the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta, Struct

from dovetail.broker.peers.limits import USUAL, Allowance, quoted
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.transport.keys import LENGTH, Key

DIGEST = "sha256:"
"""The prefix of a digest."""
Patterns = list[Annotated[str, Meta(min_length=1)]]
"""Patterns of names, in which ``*`` matches any characters and ``?`` any one."""


class Grant(Struct, frozen=True, forbid_unknown_fields=True):
    """``[keys.NAME]``: a key, or a token for programs in a browser, and its permissions."""

    public: str = ""
    """The public key."""
    roles: list[m.Role] = msgspec.field(
        default_factory=lambda: ["environment", "agent", "experiment", "observer"]
    )
    """The permitted roles."""
    offers: Patterns = msgspec.field(default_factory=lambda: ["*"])
    """The environments and agents that it may offer."""
    uses: Patterns = []
    """The other keys whose runs, agents and stored states it may use."""
    limits: Allowance = USUAL
    """The limits of its programs."""
    revoked: bool = False
    """True if the key is no longer accepted."""
    token: str = ""
    """The token's digest: ``sha256:`` and 64 hexadecimal digits."""


class Access(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of an access file."""

    keys: dict[str, Grant] = {}
    """Grants by the key's name."""
    pinned: dict[str, str] = {}
    """By environment or agent: the only key that may offer it."""
    broker: str = ""
    """The file of the broker's own key; by default the access file's name with ``.key``."""
    inside: str = ""
    """The name of the key granted to programs at the broker's second address, which is for its own
    machine and asks for none."""

    scoped: bool = False
    """True to prefix the names of programs and single agents with their key's, so that they cannot
    take each other's names."""

    @property
    def has_tokens(self) -> bool:
        """True if programs in a browser may connect."""
        return any(each.token and not each.revoked for each in self.keys.values())

    def admits(self, public: str) -> bool:
        """Return whether a program with a public key may connect."""
        return any(each.public == public and not each.revoked for each in self.keys.values())

    def admit(self, credential: str, role: m.Role, offers: Sequence[str], present: int) -> str:
        """Return the name of the key of a program that says ``hello``; ``credential`` is its public
        key or its token's digest, ``present`` the number of other connected programs with the key.
        Raises ProtocolError (``access`` or ``limit``): it is not admitted."""
        holders = (n for n, each in self.keys.items() if credential in (each.public, each.token))
        if (name := next(holders, None)) is None:
            text = f"the key {credential} is not in the broker's access file"
            if credential.startswith(DIGEST):
                text = "the token is missing or wrong; ask the person who runs this broker"
            raise ProtocolError("access", text)
        grant = self.keys[name]
        if grant.revoked:
            raise ProtocolError("access", f"the key {name!r} was revoked")
        if role not in grant.roles:
            roles = " or ".join(grant.roles) or "nothing"
            text = f"the key {name!r} may not be an {role}; it may be {roles}"
            raise ProtocolError("access", text)
        for offer in offers:
            if not _matches(offer, grant.offers):
                names = ", ".join(grant.offers) or "nothing"
                text = f"the key {name!r} may not offer {quoted(offer)}; it may offer {names}"
                raise ProtocolError("access", text)
            holder = self.pinned.get(offer, name)
            if holder != name:
                raise ProtocolError("access", f"only the key {holder!r} may offer {quoted(offer)}")
        if present >= grant.limits.peers:
            text = f"{present} programs with the key {name!r} are connected, and no more may be"
            raise ProtocolError("limit", f"{text}; end one of them")
        return name

    def may_use(self, name: str, other: str) -> bool:
        """Return whether a key's holder may use what belongs to another key."""
        grant = self.keys.get(name)
        return grant is not None and (name == other or _matches(other, grant.uses))

    def allowance(self, name: str) -> Allowance:
        grant = self.keys.get(name)
        return USUAL if grant is None else grant.limits


class Source(Protocol):
    """A source of permissions that can change while the broker runs."""

    access: Access
    key: Key
    """The broker's own key."""

    def changed(self) -> Access | None:
        """Return the permissions if they have changed since the last call, else None."""


def credential(connection: object, token: str | None) -> str:
    """Return the credential of a program at a broker with keys: the public key in the address of
    its connection; the digest of the token in its ``hello`` for a program in a browser, which has
    no key; an empty string for a peer in this process."""
    if not isinstance(connection, bytes):
        return ""
    if len(connection) > LENGTH:
        return connection[:LENGTH].decode("ascii")
    return digest(token or "")


def digest(token: str) -> str:
    """Return the digest that an access file has for a token."""
    return DIGEST + hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
