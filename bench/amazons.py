"""``python -m bench.amazons``: time per decision of the Amazons player in the first position, by depth."""

from __future__ import annotations

import statistics
import time
from typing import Annotated

import numpy as np
import typer

from dovetail_agents.games.amazons.agent import WEIGHTS, WON
from dovetail_agents.games.amazons.position import AmazonsGeometry, AmazonsPosition, AmazonsSearch
from dovetail_games.amazons import Amazons, Configuration

QUEEN_MOVES = 60.0
"""Of each side in the first position; the scale of the mobility features."""


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements of each depth.")] = 3,
) -> None:
    """Search the first position of the 8 x 8 board; the study needed up to three minutes for depth 3."""
    environment = Amazons(Configuration(rows=8, columns=8))
    observation = environment.start(0).seats[0].observation
    position = AmazonsPosition(observation, AmazonsGeometry(8, 8))
    search = AmazonsSearch(np.array(WEIGHTS["mp"]), QUEEN_MOVES, False, WON)
    search.root(position, 1)  # compiles
    for depth in (1, 2, 3):
        times = []
        for _ in range(repeats):
            before, began = search.nodes, time.perf_counter()
            search.root(position, depth)
            times.append(time.perf_counter() - began)
            looked = search.nodes - before
        print(
            f"depth {depth}: {statistics.median(times):.4f} s ({min(times):.4f} to {max(times):.4f}), "
            f"{looked:,} positions valued"
        )


if __name__ == "__main__":
    typer.run(main)
