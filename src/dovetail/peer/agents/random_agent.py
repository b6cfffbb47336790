"""A player of random legal actions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dovetail.peer.agents.agent import Decision, Seat
from dovetail.peer.agents.sampling import sample
from dovetail.peer.agents.vector import Column, Rows, VectorAgent
from dovetail.protocol.spaces import Discrete

if TYPE_CHECKING:
    from dovetail.peer.vector_random import Twisters


class Random(VectorAgent):
    """Plays a random legal action: the weakest opponent."""

    name = "random"
    capacity = 0

    def step(self, decision: Decision) -> Any:
        if decision.legal is not None:
            return decision.rng.choice(decision.legal)
        return sample(decision.seat.spec.action_space(decision.seat.seat), decision.rng)

    def open_group(self, seats: Mapping[int, Seat], slots: int) -> _Draws | None:
        if find_spec("numba") is None:
            return None
        from dovetail.peer.vector_random import Twisters

        spec = next(iter(seats.values())).spec
        return _Draws(Twisters(slots * spec.seats), spec.seats, spec.action_spaces[0])

    def step_rows(self, rows: Rows, memory: _Draws) -> Column:
        which = rows.places(memory.seats)
        memory.twisters.begin(which[rows.starts], rows.seeds)
        if rows.legal is not None:
            return memory.twisters.choose(which, rows.legal)
        return memory.twisters.number(which, memory.space.start, memory.space.n)


class _Draws:
    """A generator for each seat of a group's slots."""

    def __init__(self, twisters: Twisters, seats: int, space: Any) -> None:
        assert isinstance(space, Discrete)
        self.twisters = twisters
        self.seats = seats
        self.space = space
