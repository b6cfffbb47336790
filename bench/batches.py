"""Connect Four in batches, as libraries with vectorised environments play it: random moves in 256
games."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.peer.vector_random import Twisters
from dovetail_games.connect_four import ConnectFour

SLOTS = 256
"""Number of simultaneous games."""


def ours() -> Iterator[int]:
    """Yield the turns of each batch, played by Dovetail."""
    game = ConnectFour.vector(ConnectFour.Configuration(), SLOTS)
    assert game is not None
    space: Any = game.init().action_spaces[0]
    players = Twisters(SLOTS)
    slots = np.arange(SLOTS, dtype=np.int32)
    game.start(slots, slots.astype(np.uint64))
    found, batch = game.transitions(slots, afterstates=False), 0
    while True:
        ended = slots[found.over != 0] if found.over is not None else slots[:0]
        if len(ended):
            game.start(ended, ended.astype(np.uint64) + SLOTS * (1 + batch))
        if len(found.rows):
            if found.legal is None:
                actions = players.number(found.rows, space.start, space.n)
            else:
                actions = players.choose(found.rows, found.legal)
            game.step(found.rows, found.seats, actions)
        yield len(found.rows)
        found, batch = game.transitions(slots, afterstates=False), batch + 1


def pgx() -> Iterator[int]:
    """Yield the turns of each batch, played by pgx compiled for the CPU (390 MB with JAX)."""
    jax: Any = importlib.import_module("jax")
    games: Any = importlib.import_module("pgx")
    experimental: Any = importlib.import_module("pgx.experimental")
    game = games.make("connect_four")
    step = jax.vmap(experimental.auto_reset(game.step, game.init))

    def turn(state: Any, key: Any) -> Any:
        key, draw, again = jax.random.split(key, 3)
        odds = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(draw, odds, axis=1)
        keys = jax.random.split(again, SLOTS)
        return step(state, actions, keys), key

    compiled = jax.jit(turn)

    key = jax.random.key(1)
    state = jax.jit(jax.vmap(game.init))(jax.random.split(key, SLOTS))
    while True:
        state, key = compiled(state, key)
        state.observation.block_until_ready()
        yield SLOTS
