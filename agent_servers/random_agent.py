"""A player that does anything that is legal."""

from __future__ import annotations

from typing import Any

from dovetail.agent_servers.agent import Agent, Decision
from dovetail.agent_servers.sampling import sample


class Random(Agent):
    """Plays a random legal action."""

    name = "random"
    capacity = 0

    def step(self, turn: Decision) -> Any:
        if turn.legal is not None:
            return turn.rng.choice(turn.legal)
        spaces = turn.seat.spec.action_spaces
        return sample(spaces[turn.seat.seat if len(spaces) > 1 else 0], turn.rng)
