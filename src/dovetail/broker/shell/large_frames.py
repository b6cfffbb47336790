"""Limits large reads to a share of the broker's time while others play with small ones.

Expected frames are not charged, however large or many, since some games need them.  But they take
long, and one game of large turns, or of many small ones at once, could use nearly all of the
broker's time.  Nothing waits here unless an experiment without large reads is playing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.outbox import Address
from dovetail.broker.peers.peers import Peer

LARGE = 1 << 12
"""Bytes above which the frames read from a connection at once are large."""
SHARE = 0.25
"""The fraction of the time that large reads may take together."""
BURST = 0.02
"""Seconds that they may take in one go."""
BYTE = 1e-9
"""Seconds to read or send a byte of a large read."""
RECENT = 1.0
"""Seconds for which a connection is large after a large read, and a run plays after a turn."""
LOOK = 0.1
"""Seconds between two checks for others who are playing."""


class LargeFrames:
    """An account of the time that large reads take."""

    def __init__(self) -> None:
        self._left = BURST  # seconds left of the share
        self._counted = time.monotonic()
        self._came: dict[Address, float] = {}
        """The time of the latest large read of each connection."""
        self._played: dict[int, tuple[tuple[int, int], float]] = {}
        """How far each run was, and since when, by its number."""
        self._others = False
        self._looked = 0.0

    def wait(
        self, connection: Address, size: int, seconds: float, runs: Iterable[RunState]
    ) -> float:
        """Count a large read, for which others waited; return the seconds to leave its sender."""
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
        """Return whether an experiment without large reads is playing."""
        self._came = {each: then for each, then in self._came.items() if now - then < RECENT}
        large: set[Peer] = set()
        small: set[Peer] = set()
        before, self._played = self._played, {}
        for run in runs:
            turns = sum(play.episode.turn for play in run.playing.values())
            turns += sum(stack.batch for stack in run.stacks.values())
            last, then = before.get(run.number, ((-1, -1), now))
            far = run.finished, turns
            self._played[run.number] = far, now if far != last else then
            if far == last and now - then > RECENT:
                continue  # it waits, such as for a person
            peers = [match.environment for match in run.matches.values()]
            peers += [agent.peer for agent in run.agents]
            sends = any(peer.outbox.address in self._came for peer in peers)
            (large if sends else small).add(run.experiment)
        return not small <= large
