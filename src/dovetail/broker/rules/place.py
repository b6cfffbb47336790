"""A seat's account of an episode."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from dovetail.broker.rules.clocks import SeatClock
from dovetail.protocol.messages import Legal, Mode
from dovetail.protocol.spaces import Space
from dovetail.protocol.states import Machine, SeatState

MOST = (1 << 63) - 1
"""The largest integer that every client reads."""
MEASURES = 64
"""How many names of measures a seat may use in an episode."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Place:
    """A seat's account of the episode."""

    __slots__ = (
        *("action", "breaches", "clock", "decisions", "ignored", "legal", "machine", "measured"),
        *("mode", "number", "pending", "refused", "seed", "since", "space", "stands_for", "total"),
    )

    def __init__(
        self,
        number: int,
        machine: Machine[SeatState],
        seed: int,
        clock: SeatClock,
        space: Space,
        mode: Mode,
        stands_for: int | None = None,
        since: int = 0,
    ) -> None:
        self.number = number
        self.machine = machine
        self.seed = seed
        self.clock = clock
        self.space = space
        self.mode = mode
        self.stands_for = stands_for
        """The number of the lost agent whose seat a substitute has."""
        self.since = since
        """The first turn in which that could act."""
        self.pending = 0.0
        """Reward since its last decision."""
        self.total = 0.0
        self.decisions = 0
        self.breaches = 0
        self.ignored = 0
        self.refused = 0
        self.measured: dict[str, tuple[float, int]] = {}
        """Sum and number of the values of each measure."""
        self.legal: Legal = None
        self.action: Any = None

    def earn(self, reward: float) -> None:
        """Credit a reward."""
        self.pending += reward
        self.total += reward

    def crash(self) -> None:
        """Take the word of its agent that it failed at the decision that it owes."""
        self.machine.on("error")
        self.breaches += 1

    def refuse(self, count: int) -> None:
        """Count answers that a bridge had refused, as far as the result can say."""
        self.refused = min(self.refused + count, MOST)

    def measure(self, measures: dict[str, float]) -> None:
        """Add what the agent measured; names beyond ``MEASURES`` are left out."""
        for name, value in measures.items():
            if name in self.measured or len(self.measured) < MEASURES:
                total, count = self.measured.get(name, (0.0, 0))
                self.measured[name] = total + value, count + 1

    def means(self) -> dict[str, float]:
        """Return the mean of each measure."""
        return {name: total / count for name, (total, count) in self.measured.items()}
