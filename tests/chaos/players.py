"""The agent of the chaos: it takes a moment for each move, so that faults come in between."""

from __future__ import annotations

import time
from typing import Any

from dovetail import Agent
from dovetail.peer.agents.agent import Decision


class Leisurely(Agent):
    """Plays at random, by the seed, after ``pause`` seconds."""

    capacity = 0
    pause = 0.004

    def step(self, turn: Decision) -> Any:
        time.sleep(self.pause)
        assert turn.legal is not None
        return turn.rng.choice(turn.legal)
