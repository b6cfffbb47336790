"""The keys and access tokens of an arena, as its broker takes them."""

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
    """The keys that may connect: the arena's programs, its baselines, and the entrants that the
    store has now.

    Args:
        where: the arena's folder; the broker's key and the arena's are made there if they are not.
        store: the arena's.
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
        """Let baselines in: their names by public key; and environments by theirs."""
        for public in environments:
            self._fixed[f"{OWN} environments"] = Grant(public, roles=["environment"])
        for public, name in baselines.items():
            self._fixed[name] = Grant(public, roles=["agent"])
        self.access = self._now()

    def admit(self, submitted: Mapping[str, str]) -> None:
        """Let programs of entrants in that the arena runs itself: their names by public key."""
        for public, name in submitted.items():
            self._fixed[name] = Grant(public, roles=["agent"])

    def changed(self) -> Access | None:
        """Return who may connect if that has changed, None otherwise."""
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
    """The owner of each access token: the arena's baselines', and those of the entrants that the
    store has now.

    Args:
        store: the arena's.
        baselines: their names by token.
    """

    def __init__(self, store: ArenaStore, baselines: Mapping[str, str]) -> None:
        self._store = store
        self._own = [baselines]
        self._looked = time.monotonic()
        self._known = store.tokens()

    def entrant(self, given: str) -> str | None:
        """Return whose access token this is; None if it is unknown or revoked, or its entrant is
        banned."""
        for known in self._own:
            if given in known:
                return known[given]
        return self._store.entrant(given)

    def let_in(self, submitted: Mapping[str, str]) -> None:
        """Let programs of entrants in that the arena runs itself: names by token, as they come."""
        self._own.append(submitted)

    def revoked(self) -> bool:
        """Look at the store from time to time; return whether its tokens have changed, so that one
        may be void."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return False
        self._looked = now
        before, self._known = self._known, self._store.tokens()
        return before != self._known


def server_key(where: Path) -> keys.Key:
    """Return the key of an arena's broker; it is made if there is none."""
    path = where / BROKER_KEY
    if not path.exists():
        keys.write(path, keys.make(), "of the broker")
    return keys.read(path)
