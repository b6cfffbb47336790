"""The keys and access tokens that an arena's broker accepts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dovetail.broker.peers.access import Access, Grant
from dovetail.broker.peers.access_file import LOOK
from dovetail.transport import keys
from dovetail_experiments.arena.description import BROKER_KEY, OWN, OWN_KEY
from dovetail_experiments.arena.store import ArenaStore


class Entrance:
    """Keys that may connect: of the arena's programs, its baselines and the current entrants.

    Args:
        where: the arena's folder; missing keys of the broker and of the arena are created there.
    """

    def __init__(self, where: Path, store: ArenaStore) -> None:
        self._store = store
        self._looked = time.monotonic()
        self.key = server_key(where)
        path = where / OWN_KEY
        if not path.exists():
            keys.write(path, keys.make(self.key.public), "of the arena's own programs")
        self._fixed = {OWN: Grant(keys.read(path).public, uses=["*"])}
        self.access = self._now()

    def let_in(self, baselines: Mapping[str, str], environments: Sequence[str] = ()) -> None:
        """Admit baselines, given as names by public key, and environments, given as public keys."""
        for public in environments:
            self._fixed[f"{OWN} environments"] = Grant(public, roles=["environment"])
        for public, name in baselines.items():
            self._fixed[name] = Grant(public, roles=["agent"])
        self.access = self._now()

    def admit(self, submitted: Mapping[str, str]) -> None:
        """Admit entrants' programs that the arena runs itself, given as names by public key."""
        for public, name in submitted.items():
            self._fixed[name] = Grant(public, roles=["agent"])

    def changed(self) -> Access | None:
        """Return the admitted keys if they have changed since the last check, else None.

        Checks at most once every ``LOOK`` seconds.
        """
        now = time.monotonic()
        if now - self._looked < LOOK:
            return None
        self._looked = now
        found = self._now()
        if found == self.access:
            return None
        self.access = found
        return found

    def _now(self) -> Access:
        entrants = {
            name: Grant(public, roles=["agent"], revoked=not admitted)
            for name, (public, admitted) in self._store.keys().items()
        }
        return Access(keys={**entrants, **self._fixed}, scoped=True)


class Tokens:
    """Owners of access tokens: the arena's baselines and the current entrants.

    Args:
        baselines: the baselines' names by token.
    """

    def __init__(self, store: ArenaStore, baselines: Mapping[str, str]) -> None:
        self._store = store
        self._own = [baselines]
        self._looked = time.monotonic()
        self._known = store.tokens()

    def entrant(self, given: str) -> str | None:
        """Return the entrant with an access token; None if the token is unknown or revoked, or the
        entrant banned."""
        for known in self._own:
            if given in known:
                return known[given]
        return self._store.entrant(given)

    def let_in(self, submitted: Mapping[str, str]) -> None:
        """Admit entrants' programs that the arena runs itself; ``submitted`` is a live map of names
        by token."""
        self._own.append(submitted)

    def revoked(self) -> bool:
        """Check the database periodically; return whether the tokens have changed since."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return False
        self._looked = now
        before, self._known = self._known, self._store.tokens()
        return before != self._known


def server_key(where: Path) -> keys.Key:
    """Return the key of an arena's broker, creating it if it is missing."""
    path = where / BROKER_KEY
    if not path.exists():
        keys.write(path, keys.make(), "of the broker")
    return keys.read(path)
