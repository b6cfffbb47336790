"""Limits the rate of wrong passwords.  Pure: the time goes in."""

from __future__ import annotations

from collections import OrderedDict

TRIES = 10
"""Wrong passwords of an address without a delay."""
REST = 6.0
"""Seconds until an address may try once more after those."""
IN_ALL = 30
"""The factor by which all addresses together may try more often."""
MOST = 10_000
"""Maximum addresses remembered, the latest."""


class Attempts:
    """A count of wrong passwords, by address and in all."""

    def __init__(self) -> None:
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """The tries left, and the time of that count, by address."""

    def wait(self, address: str, now: float) -> float:
        """Return the seconds until an address may try; 0 if it may now."""
        return max(self._missing("", IN_ALL, now), self._missing(address, 1, now))

    def failed(self, address: str, now: float) -> None:
        """Count a wrong password."""
        for key, times in (("", IN_ALL), (address, 1)):
            self._left[key] = max(0.0, self._tries(key, times, now) - 1.0), now
            self._left.move_to_end(key)
        while len(self._left) > MOST:
            self._left.popitem(last=False)

    def _tries(self, key: str, times: int, now: float) -> float:
        left, since = self._left.get(key, (float(TRIES * times), now))
        return min(TRIES * times, left + (now - since) * times / REST)

    def _missing(self, key: str, times: int, now: float) -> float:
        return max(0.0, 1.0 - self._tries(key, times, now)) * REST / times
