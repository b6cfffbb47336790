"""Seats: the agent in each, its decisions on the wire, and its account of an episode."""

from __future__ import annotations

from typing import NamedTuple

from mypy_extensions import mypyc_attr

from dovetail.broker.matches.instances import Instance
from dovetail.broker.rules.account import SeatAccount
from dovetail.protocol import messages as m


class SeatAssignment(NamedTuple):
    """The agent assigned to a seat for an episode."""

    player_index: int
    """Its index in the run's list of agents."""
    instance: Instance
    stands_for: int | None
    """The number of the agent in whose place it plays, while that is lost."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Seat(SeatAccount):
    """A seat of a match; the rules see the ``SeatAccount`` in it."""

    __slots__ = ("asked", "init", "instance")

    def __init__(self, number: int, instance: Instance) -> None:
        super().__init__(number)
        self.instance = instance
        self.init = 0
        """The ``seq`` of its ``init`` until it has acted or the episode is over; then 0."""
        self.asked = 0
        """The ``seq`` of its last decision; 0 before the first."""

    def sit(self, match: int, instance: Instance, spec: m.Spec, rules: m.RunRules) -> None:
        """Give the seat to an instance."""
        self.instance = instance
        self.asked = 0  # the number of a frame to another peer, perhaps
        self.machine.on("init")
        self.init = instance.peer.outbox.ask(
            m.Init(match, self.number, instance.number, spec, rules.lookahead, instance.agent)
        )

    def result(self) -> m.SeatResult:
        """Return the account of an episode that is over."""
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
