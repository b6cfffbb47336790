"""Output that is held back until the journal can be written."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.broker.peers.outbox import Address, Said, without_heartbeats
from dovetail.protocol import messages as m

RETRY = 1.0
"""Seconds until the journal is tried again."""
TAKEN = 32 << 20
"""Bytes that are taken in from a connection meanwhile; it is read again once they are written."""


class HeldOutput:
    """Output that is held back, and the notice for those who wait for it.

    Args:
        tell: sends messages at once.
    """

    def __init__(self, tell: Callable[[Said], None]) -> None:
        self.said: Said = []
        self.retry = 0.0
        """When the journal is tried again; 0 while it can be written."""
        self._tell = tell
        self._why = ""
        self._informed: set[Address] = set()
        self._taken: dict[Address, int] = {}

    def add(self, out: Said) -> None:
        """Hold back all but heartbeats; tell those who have just said ``hello`` why they wait."""
        out = without_heartbeats(out, self._tell)
        if self._why:
            self._explain(out)
        self.said += out

    def begin(self, out: Said, why: str, experiments: list[Address], now: float) -> None:
        """Hold back what followed from what could not be written.

        Args:
            out: all of it, in order.
            why: a line for people.
            experiments: the connections that are told.
            now: the time.
        """
        first = not self._why
        self.said = without_heartbeats(out, self._tell)
        self.retry = now + RETRY
        self._why = why
        if first:
            self._inform(experiments)
        self._explain(self.said)

    def _explain(self, out: Said) -> None:
        self._inform([to for to, message in out if isinstance(message, m.Welcome)])

    def _inform(self, addresses: list[Address]) -> None:
        """Tell each of them once why it waits."""
        new = [each for each in dict.fromkeys(addresses) if each not in self._informed]
        self._informed.update(new)
        self._tell([(each, m.Error("journal", self._why)) for each in new])

    def release(self) -> Said:
        """Return what was held back, to be tried again."""
        said, self.said = self.said, []
        return said

    def over(self) -> None:
        """Take note that the journal could be written."""
        self.retry = 0.0
        self._why = ""
        self._informed.clear()
        self._taken.clear()

    def takes(self, connection: Address, size: int) -> bool:
        """Count bytes kept in memory for a connection; return whether to read more from it."""
        if not self.said:
            return True
        taken = self._taken[connection] = self._taken.get(connection, 0) + size
        return taken <= TAKEN
