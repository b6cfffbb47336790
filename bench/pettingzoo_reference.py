"""PettingZoo's connect_four_v3 with random legal moves, driven as its documentation does."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Iterator

import numpy as np

from bench.measure import steady

NAME = "PettingZoo connect_four_v3"


def missing() -> str | None:
    """Return why this reference cannot be measured, in one line; None if it can."""
    absent = [name for name in ("pettingzoo", "pygame") if not importlib.util.find_spec(name)]
    if not absent:
        return None
    return f"{NAME} skipped: {', '.join(absent)} not installed (the extra `bench` has it)"


def moves_per_second(seconds: float) -> float:
    """Play for about ``seconds``; return moves per second."""
    return steady(_episodes(), seconds)


def _episodes() -> Iterator[int]:
    from pettingzoo.classic import connect_four_v3

    rng = random.Random(1)
    game = connect_four_v3.env()
    seed = 0
    while True:
        game.reset(seed=seed)
        seed += 1
        moves = 0
        for _ in game.agent_iter():
            observation, _, terminated, truncated, _ = game.last()
            if terminated or truncated:
                game.step(None)
            else:
                game.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
                moves += 1
        yield moves
