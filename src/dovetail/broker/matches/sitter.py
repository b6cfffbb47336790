"""Who has a seat: in a match, and for one of its episodes."""

from __future__ import annotations

from typing import NamedTuple

from mypy_extensions import mypyc_attr

from dovetail.broker.matches.instances import Instance
from dovetail.protocol import messages as m
from dovetail.protocol.states import SEAT, Machine, SeatState


class Chair(NamedTuple):
    """Who has a seat in an episode."""

    place: int
    """In the run's list of agents."""
    instance: Instance
    stands_for: int | None
    """The number of the agent in whose place it plays, while that is lost."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Sitter:
    """An instance in a seat of a match."""

    __slots__ = ("asked", "init", "instance", "machine", "number")

    def __init__(self, number: int, instance: Instance) -> None:
        self.number = number
        self.instance = instance
        self.machine: Machine[SeatState] = Machine(SEAT, "free")
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
