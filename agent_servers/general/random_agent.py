"""A player that does anything that is legal."""

from __future__ import annotations

from typing import Any

from dovetail.agent_servers.agent import Agent, Decision
from dovetail.agent_servers.learning.sampling import sample


class Random(Agent):
    """Plays a random legal action."""

    name = "random"
    capacity = 0

    def step(self, decision: Decision) -> Any:
        if decision.legal is not None:
            return decision.rng.choice(decision.legal)
        spaces = decision.seat.spec.action_spaces
        return sample(spaces[decision.seat.seat if len(spaces) > 1 else 0], decision.rng)
