"""Seats: the agent, its pending decision, and its account of an episode."""

from __future__ import annotations

from typing import NamedTuple

from mypy_extensions import mypyc_attr

from dovetail.broker.matches.instances import Instance
from dovetail.broker.rules.account import SeatAccount
from dovetail.protocol import messages as m


class SeatAssignment(NamedTuple):
    """The assignment of an agent to a seat for an episode."""

    player_index: int
    """The agent's index in the run's list."""
    instance: Instance
    stands_for: int | None
    """The number of the lost agent that it replaces; None if it replaces none."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Seat(SeatAccount):
    """A seat of a match; the rules use it as a ``SeatAccount``."""

    __slots__ = ("asked", "init", "instance")

    def __init__(self, number: int, instance: Instance) -> None:
        super().__init__(number)
        self.instance = instance
        self.init = 0
        """The ``seq`` of its ``init``; 0 once it has acted or the episode is over."""
        self.asked = 0
        """The ``seq`` of its latest decision; 0 before the first."""

    def sit(self, match: int, instance: Instance, spec: m.Spec, rules: m.RunRules) -> None:
        """Give the seat to an instance."""
        self.instance = instance
        self.asked = 0  # the number of a frame to another peer, perhaps
        self.machine.on("init")
        self.init = instance.peer.outbox.ask(
            m.Init(match, self.number, instance.number, spec, rules.lookahead, instance.agent)
        )

    def result(self) -> m.SeatResult:
        return m.SeatResult(
            agent=self.instance.agent,
            instance=self.instance.number,
            total=self.total,
            decisions=self.decisions,
            seconds=self.clock.seconds,
            breaches=self.breaches,
            ignored=self.ignored,
            refused=self.refused,
            measures=self.means(),
            stands_for=self.stands_for,
            since=self.since,
        )
