"""Training and measurement of n-tuple networks in compiled games of 2048."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail_agents.games.game_2048 import kernels
from dovetail_agents.games.game_2048.networks import Layout

Array = NDArray[Any]
CHUNK = 1000
"""Games between two progress lines."""
REACHED = 11
"""Exponent of the tile 2048."""


def seeds(seed: int, first: int, games: int) -> Array:
    """Return a seed for each game: uint64.

    A game's seed does not depend on how games are grouped.
    """
    words = [
        np.random.SeedSequence([seed, n]).generate_state(1, np.uint64)
        for n in range(first, first + games)
    ]
    return np.concatenate(words)


@dataclass(frozen=True, slots=True)
class LearningRule:
    """Settings of the learning rule."""

    rate: float
    """Step size of the whole network, shared equally among its lookups."""
    coherent: bool
    """True for a separate rate per weight (temporal coherence)."""


def chunks(
    network: Layout,
    weights: Array,
    rows: int,
    columns: int,
    games: int,
    seed: int,
    rule: LearningRule,
    plies: int = 1,
    first: int = 0,
    errors: Array | None = None,
) -> Iterator[Array]:
    """Play games and learn from them, modifying the weights in place.

    Args:
        network: the network's layout.
        weights: the initial weights, float32.
        rows, columns: the size of the board.
        games: the number of games at which the training ends.
        seed: the seed of the games.
        rule: the learning rule.
        plies: the search depth in slides.
        first: the number of games already played.
        errors: float32, shape (2, weights): the sums of errors and of their absolute values so
            far, modified in place; None at the start.

    Yields:
        score, largest exponent and moves of up to ``CHUNK`` games: int64, shape (games, 3).
    """
    if errors is None:
        errors = np.zeros((2, weights.size if rule.coherent else 0), np.float32)
    for begun in range(first, games, CHUNK):
        count = min(CHUNK, games - begun)
        out = np.zeros((count, 3), np.int64)
        given = seeds(seed, begun, count), rows, columns, network.of(weights), plies
        kernels.play(*given, rule.rate, rule.coherent, errors[0], errors[1], out)
        yield out


def train(
    network: Layout,
    weights: Array,
    shape: tuple[int, int],
    games: int,
    seed: int,
    rule: LearningRule,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
    done: Callable[[int], None] = lambda games: None,
) -> None:
    """Learn from games, modifying the weights in place.

    Args:
        network: the network's layout.
        weights: the initial weights, float32.
        shape: rows and columns.
        games: the number of games.
        seed: the seed of the games; the same seed gives the same weights.
        rule: the learning rule.
        say: called with a line of progress after each ``CHUNK`` games.
        done: called with the number of games played, after each such line.
    """
    begun = time.monotonic()
    moves = played = 0
    for out in chunks(network, weights, *shape, games, seed, rule):
        moves += int(out[:, 2].sum())
        played += len(out)
        pace = moves / max(time.monotonic() - begun, 1e-9)
        say(
            f"{played} games, {moves} moves, {pace:.0f} moves/s; last {len(out)}: mean score "
            f"{out[:, 0].mean():.0f}, 2048 in {(out[:, 1] >= REACHED).mean():.1%}"
        )
        done(played)


def measure(
    network: Layout, weights: Array, shape: tuple[int, int], games: int, seed: int, plies: int = 1
) -> Array:
    """Return score, largest exponent and moves of games without learning: int64, shape (games, 3).

    The search looks ``plies`` slides ahead.
    """
    rule = LearningRule(0.0, coherent=False)
    return np.concatenate(list(chunks(network, weights, *shape, games, seed, rule, plies)))
