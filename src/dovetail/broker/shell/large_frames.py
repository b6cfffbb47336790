"""Limits large frames to a share of the broker's time while others play with small ones.

Expected frames are not charged, however large, since some games need them.  But they take long, and
one such game could use nearly all of the broker's time.  Nothing waits here unless an experiment
without large frames is playing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.outbox import Address
from dovetail.broker.peers.peers import Peer

LARGE = 1 << 12
"""Bytes above which a frame is large."""
SHARE = 0.25
"""The fraction of the time that large frames may take together."""
BURST = 0.02
"""Seconds that they may take in one go."""
BYTE = 1e-9
"""Seconds to read or send a byte of a large frame."""
RECENT = 1.0
"""Seconds for which a connection counts as a sender of large frames after one."""
LOOK = 0.1
"""Seconds between two checks for others who are playing."""


class LargeFrames:
    """An account of the time that large frames take."""

    def __init__(self) -> None:
        self._left = BURST
        """Seconds left of the share."""
        self._counted = time.monotonic()
        self._came: dict[Address, float] = {}
        """The time of the latest large frame of each connection."""
        self._others = False
        self._looked = 0.0

    def wait(
        self, connection: Address, size: int, seconds: float, runs: Iterable[RunState]
    ) -> float:
        """Count a large frame; return the seconds for which not to read from its sender.

        Args:
            connection: the sender.
            size: its bytes.
            seconds: the time that everybody else waited for it.
            runs: the runs in progress.
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
        """Return whether an experiment without large frames is playing."""
        self._came = {each: then for each, then in self._came.items() if now - then < RECENT}
        large: set[Peer] = set()
        small: set[Peer] = set()
        for run in runs:
            peers = [match.environment for match in run.matches.values()]
            peers += [agent.peer for agent in run.agents]
            sends = any(peer.outbox.address in self._came for peer in peers)
            (large if sends else small).add(run.experiment)
        return not small <= large
