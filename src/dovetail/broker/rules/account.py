"""A seat's rewards, breaches and measures; ``Episode.turned`` and ``forfeit`` credit rewards."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mypy_extensions import mypyc_attr

from dovetail.broker.rules.clocks import SeatClock
from dovetail.protocol.display_text import UNNAMED
from dovetail.protocol.messages import Legal, Mode
from dovetail.protocol.spaces import Space
from dovetail.protocol.states import SEAT, Machine, SeatPhase

MAX_COUNT = (1 << 63) - 1
"""The largest integer that every client reads."""
MEASURES = 64
"""Maximum names of measures of a seat in an episode."""
LONGEST = 256
"""Maximum characters of such a name."""


def may_measure(name: str, measured: Collection[str]) -> bool:
    """Return whether a value is counted under a name, beside those ``measured`` before."""
    few = len(measured) < MEASURES and len(name) <= LONGEST
    return name in measured or (few and not UNNAMED.search(name))


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class SeatAccount:
    """The rules' view of a seat: its state, and its account of an episode."""

    __slots__ = (
        *("action", "breaches", "clock", "decisions", "ignored", "legal", "machine", "measured"),
        *("mode", "number", "pending", "refused", "seed", "since", "space", "stands_for", "total"),
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.machine: Machine[SeatPhase] = Machine(SEAT, "free")

    def begin(
        self,
        seed: int,
        clock: SeatClock,
        space: Space,
        mode: Mode,
        stands_for: int | None = None,
        since: int = 0,
    ) -> None:
        """Open the account of an episode, or of a substitute in the middle of one: ``stands_for``
        is the number of the lost agent, ``since`` the first turn in which it can act."""
        self.seed = seed
        self.clock = clock
        self.space = space
        self.mode = mode
        self.stands_for = stands_for
        self.since = since
        self.pending = 0.0
        """Reward since its last decision."""
        self.total = 0.0
        self.decisions = 0
        self.breaches = 0
        self.ignored = 0
        self.refused = 0
        self.measured: dict[str, tuple[float, int]] = {}
        """The sum and the count of each measure."""
        self.legal: Legal = None
        self.action: Any = None

    def credit(self, reward: float) -> None:
        self.pending += reward
        self.total += reward

    def crash(self) -> None:
        """Count an agent that crashed on its decision."""
        self.machine.on("error")
        self.breaches += 1

    def refuse(self, count: int) -> None:
        """Count answers refused at a bridge, up to the largest number in a result."""
        self.refused = min(self.refused + count, MAX_COUNT)

    def measure(self, given: dict[str, float]) -> None:
        """Add the agent's measures, under names that ``may_measure`` admits."""
        for name, value in given.items():
            if may_measure(name, self.measured):
                total, count = self.measured.get(name, (0.0, 0))
                self.measured[name] = total + value, count + 1

    def means(self) -> dict[str, float]:
        return {name: total / count for name, (total, count) in self.measured.items()}
