"""Permissions of the holders of keys.  Pure: the access file's contents in, decisions out.

``dovetail.broker.peers.access_file`` reads the file; the sessions, requests and runs ask here.
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
"""The beginning of a digest."""
Patterns = list[Annotated[str, Meta(min_length=1)]]
"""Names; ``*`` and ``?`` stand for any characters and for any one."""


class Grant(Struct, frozen=True, forbid_unknown_fields=True):
    """``[keys.NAME]``: a key or, for programs in a browser, a token, and what its holder may do."""

    public: str = ""
    """The public key."""
    roles: list[m.Role] = msgspec.field(
        default_factory=lambda: ["environment", "agent", "experiment", "observer"]
    )
    """The roles that it may take."""
    offers: Patterns = msgspec.field(default_factory=lambda: ["*"])
    """The names of environments and agents that it may offer."""
    uses: Patterns = []
    """The names of other keys whose runs, agents and stored states it may use like its own."""
    limits: Allowance = USUAL
    """Its limits."""
    revoked: bool = False
    """True if it is refused."""
    token: str = ""
    """The digest of the token: ``sha256:`` and 64 hexadecimal digits."""


class Access(Struct, frozen=True, forbid_unknown_fields=True):
    """An access file."""

    keys: dict[str, Grant] = {}
    """By name."""
    pinned: dict[str, str] = {}
    """The key that alone may offer an environment or agent, by the name of that."""
    broker: str = ""
    """The file with the broker's own key; if empty, the access file's name ending in ``.key``."""
    inside: str = ""
    """The name of the key that programs have without presenting it at the broker's second address,
    which is for its own machine."""

    scoped: bool = False
    """True if the names of a key's programs and of agents that are one program begin with the
    key's, so that no one takes a name that another needs."""

    @property
    def has_tokens(self) -> bool:
        """True if programs in a browser may connect."""
        return any(each.token and not each.revoked for each in self.keys.values())

    def admits(self, public: str) -> bool:
        """Return whether a program with this public key may connect."""
        return any(each.public == public and not each.revoked for each in self.keys.values())

    def admit(self, credential: str, role: m.Role, offers: Sequence[str], present: int) -> str:
        """Return the name of the key of a program that says ``hello``.

        Args:
            credential: the public key, or the digest of the token.
            role: the role that it wants.
            offers: the names of what it offers.
            present: how many other programs with this key are connected.

        Raises:
            ProtocolError: code ``access`` or ``limit``: it may not.
        """
        for name, grant in self.keys.items():  # noqa: B007 (both are used below)
            if credential in (grant.public, grant.token):
                break
        else:
            if credential.startswith(DIGEST):
                raise ProtocolError(
                    "access", "the token is missing or wrong; ask the person who runs this broker"
                )
            raise ProtocolError(
                "access", f"the key {credential} is not in the broker's access file"
            )
        if grant.revoked:
            raise ProtocolError("access", f"the key {name!r} was revoked")
        if role not in grant.roles:
            roles = " or ".join(grant.roles) or "nothing"
            raise ProtocolError(
                "access", f"the key {name!r} may not be an {role}; it may be {roles}"
            )
        for offer in offers:
            if not _matches(offer, grant.offers):
                names = ", ".join(grant.offers) or "nothing"
                raise ProtocolError(
                    "access",
                    f"the key {name!r} may not offer {quoted(offer)}; it may offer {names}",
                )
            holder = self.pinned.get(offer, name)
            if holder != name:
                raise ProtocolError("access", f"only the key {holder!r} may offer {quoted(offer)}")
        if present >= grant.limits.peers:
            text = (
                f"{present} programs with the key {name!r} are connected, and no more may be; "
                "end one of them"
            )
            raise ProtocolError("limit", text)
        return name

    def may_use(self, name: str, other: str) -> bool:
        """Return whether the holder of a key may use what belongs to another key."""
        grant = self.keys.get(name)
        return grant is not None and (name == other or _matches(other, grant.uses))

    def allowance(self, name: str) -> Allowance:
        """Return the limits of the holder of a key."""
        grant = self.keys.get(name)
        return USUAL if grant is None else grant.limits


class Source(Protocol):
    """The source of a broker's permissions."""

    access: Access
    key: Key
    """The broker's own."""

    def changed(self) -> Access | None:
        """Return what holds from now on if that has changed, None otherwise."""


def credential(connection: object, token: str | None) -> str:
    """Return what identifies a program at a broker with keys.

    Args:
        connection: the name of its connection.
        token: in its ``hello``.

    Returns:
        The public key in the name of the connection; without one, since it is a program in a
        browser, the digest of its token; empty for a peer in this program.
    """
    if not isinstance(connection, bytes):
        return ""
    if len(connection) > LENGTH:
        return connection[:LENGTH].decode("ascii")
    return digest(token or "")


def digest(token: str) -> str:
    """Return what an access file says of a token."""
    return DIGEST + hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
