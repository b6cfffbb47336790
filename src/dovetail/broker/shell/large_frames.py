"""A share of the broker's time for those who send large frames, while others play with small ones.

What the broker awaits is not charged, however large, since some games are made of it.  It is slower
than all else, so that one such game could take nearly all of the broker's time.  Nothing waits here
unless an experiment plays that has none of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.outbox import Address
from dovetail.broker.peers.peers import Peer

LARGE = 1 << 12
"""Bytes of a large frame."""
SHARE = 0.25
"""The part of the time that all large frames together may take."""
BURST = 0.02
"""Seconds that they may take at once."""
BYTE = 1e-9
"""Seconds to read or to send a byte of a large frame."""
RECENT = 1.0
"""Seconds for which a connection over which a large frame came is one of those that send them."""
LOOK = 0.1
"""Seconds between two looks for others who play."""


class LargeFrames:
    """Counts the time that large frames take."""

    def __init__(self) -> None:
        self._left = BURST
        """Seconds that are left of the share."""
        self._counted = time.monotonic()
        self._came: dict[Address, float] = {}
        """When the last one came, by connection."""
        self._others = False
        self._looked = 0.0

    def wait(
        self, connection: Address, size: int, seconds: float, runs: Iterable[RunState]
    ) -> float:
        """Count a large frame; return for how many seconds not to read from its sender.

        Args:
            connection: over which it came.
            size: its bytes.
            seconds: for which everybody else waited for it.
            runs: those in progress.
        """
        now = time.monotonic()
        self._came[connection] = now
        earned = SHARE * (now - self._counted)
        self._left = min(BURST, self._left + earned) - seconds - 2 * BYTE * size
        self._counted = now
        if self._left >= 0.0:
            return 0.0
        if now - self._looked >= LOOK:
            self._looked = now
            self._others = self._look(now, runs)
        if not self._others:
            self._left = 0.0
        return -self._left / SHARE

    def _look(self, now: float, runs: Iterable[RunState]) -> bool:
        """Return whether an experiment plays that has no large frames."""
        self._came = {each: then for each, then in self._came.items() if now - then < RECENT}
        large: set[Peer] = set()
        small: set[Peer] = set()
        for run in runs:
            peers = [match.environment for match in run.matches.values()]
            peers += [agent.peer for agent in run.agents]
            sends = any(peer.outbox.address in self._came for peer in peers)
            (large if sends else small).add(run.experiment)
        return not small <= large
