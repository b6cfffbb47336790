"""Output held back until the journal can be written."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.broker.peers.outbox import Address, Said
from dovetail.protocol import messages as m

RETRY = 1.0
"""Seconds between two attempts to write the journal."""
TAKEN = 32 << 20
"""Bytes read from a connection meanwhile, after which it has to wait."""


class HeldOutput:
    """The held output, and the notice to those waiting for it."""

    def __init__(self, tell: Callable[[Said], None]) -> None:
        self.said: Said = []
        self.retry = 0.0
        """The time of the next attempt to write the journal; 0 while it can be written."""
        self._tell = tell
        self._why = ""
        self._informed: set[Address] = set()
        self._taken: dict[Address, int] = {}

    def add(self, out: Said) -> None:
        """Hold back all but heartbeats; tell newly connected peers why they have to wait."""
        out = self._without_heartbeats(out)
        if self._why:
            self._explain(out)
        self.said += out

    def begin(self, out: Said, why: str, experiments: list[Address], now: float) -> None:
        """Hold back output whose records could not be written, and tell the experiments why."""
        first = not self._why
        self.said = self._without_heartbeats(out)
        self.retry = now + RETRY
        self._why = why
        if first:
            self._inform(experiments)
        self._explain(self.said)

    def _without_heartbeats(self, out: Said) -> Said:
        """Send the heartbeats among some messages, which need not wait for the journal: a ping
        without ``settled`` lets no peer forget an answer that a restarted broker would need."""
        beats = [(to, each) for to, each in out if isinstance(each, m.Ping | m.Pong)]
        if beats:
            self._tell([(to, m.Ping(e.number) if isinstance(e, m.Ping) else e) for to, e in beats])
        return [(to, each) for to, each in out if not isinstance(each, m.Ping | m.Pong)]

    def _explain(self, out: Said) -> None:
        self._inform([to for to, message in out if isinstance(message, m.Welcome)])

    def _inform(self, addresses: list[Address]) -> None:
        """Tell each connection once why it has to wait."""
        new = [each for each in dict.fromkeys(addresses) if each not in self._informed]
        self._informed.update(new)
        self._tell([(each, m.Error("journal", self._why)) for each in new])

    def release(self) -> Said:
        """Return the held output for another attempt."""
        said, self.said = self.said, []
        return said

    def over(self) -> None:
        """Return to normal: the journal could be written."""
        self.retry = 0.0
        self._why = ""
        self._informed.clear()
        self._taken.clear()

    def takes(self, connection: Address, size: int) -> bool:
        """Count bytes read from a connection meanwhile; return whether to read more."""
        if not self.said:
            return True
        taken = self._taken[connection] = self._taken.get(connection, 0) + size
        return taken <= TAKEN
