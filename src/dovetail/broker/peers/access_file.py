"""Reads and checks a broker's access file, and reads it again when it changes."""

from __future__ import annotations

import logging
import os
import re
import time
from pathlib import Path

import msgspec

from dovetail.broker.peers.access import DIGEST, Access
from dovetail.peer.config_location import ConfigSource
from dovetail.peer.validation_messages import explained, meant
from dovetail.protocol import outside
from dovetail.protocol.display_text import UNNAMED
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys

log = logging.getLogger("dovetail.broker")

LOOK = 0.5
"""Seconds between checks for a change of the file."""
NAME = 64
"""Maximum characters in a key's name."""
_DIGEST = re.compile(DIGEST + "[0-9a-f]{64}")


def read(path: Path) -> Access:
    """Read an access file.  Raises DovetailError, a line with the place of the fault."""
    try:
        table = outside.table(path)
    except OSError as error:
        raise DovetailError(f"cannot read {path}: {error.strerror}") from None
    try:
        access = msgspec.convert(table, Access)
    except msgspec.ValidationError as error:
        raise DovetailError(explained(error, Access, table, ConfigSource(path))) from None
    wrong = problem(access)
    if wrong:
        raise DovetailError(f"{path}: {wrong}")
    return access


def problem(access: Access) -> str:
    """Return what is inconsistent in a well-formed access file, or an empty string."""
    holders: dict[str, str] = {}
    for name, grant in access.keys.items():
        if not name.isprintable() or UNNAMED.search(name) or not 0 < len(name) <= NAME:
            return f"{name!r} is not a name for a key; use up to {NAME} visible characters"
        if bool(grant.public) == bool(grant.token):
            return f"[keys.{name}] needs either `public` or, for programs in a browser, `token`"
        if grant.token and not _DIGEST.fullmatch(grant.token):
            return (
                f"[keys.{name}], token: {grant.token!r} is not a digest; expected sha256: and 64 "
                "hexadecimal digits; `dovetail keys make NAME --web` makes a token"
            )
        if grant.public and (wrong := keys.problem(grant.public)):
            return f"[keys.{name}], public: {wrong}"
        other = holders.setdefault(grant.public or grant.token, name)
        if other != name:
            return f"[keys.{other}] and [keys.{name}] have the same key; give each its own"
    for offer, name in access.pinned.items():
        if name not in access.keys:
            hint = meant(name, access.keys)
            return f"[pinned], {offer}: there is no [keys.{name}]{hint}"
    if access.inside and access.inside not in access.keys:
        return f"inside: there is no [keys.{access.inside}]"
    return ""


def broker_key(path: Path, access: Access) -> Path:
    """Return the path of the broker's key that belongs to an access file."""
    return path.parent / access.broker if access.broker else path.with_suffix(".key")


class AccessFile:
    """An access file in use by a broker.

    Raises:
        DovetailError: a file is unreadable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._looked = time.monotonic()
        self._state = self._stat()
        self.access = read(path)
        self.key = keys.read(broker_key(path, self.access))

    def changed(self) -> Access | None:
        """Return the permissions if the file has changed, else None.  An unreadable file changes
        nothing; the reason is logged."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return None
        self._looked = now
        state = self._stat()
        if state == self._state:
            return None
        self._state = state
        try:
            access = read(self.path)
        except DovetailError as error:
            log.error("the access file stays as it was: %s", error)
            return None
        if access == self.access:
            return None
        self.access = access
        return access

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
