"""Connect Four in batches, as libraries for many environments at once play it: random moves of 256 games."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.measure import BenchError
from dovetail.peer.environments.vector import Copies
from dovetail.peer.vector_random import Twisters
from dovetail_games.connect_four import ConnectFour

SLOTS = 256
"""Games at once."""


def ours(form: str) -> Iterator[int]:
    """Yield the turns of each batch of ours: as ``arrays``, or as ``copies``, one in each slot."""
    kind = ConnectFour
    configuration = kind.Configuration()
    made = kind.vector(configuration, SLOTS) if form == "arrays" else None
    game = made or Copies(kind, configuration, SLOTS)
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


def open_spiel() -> Iterator[int]:
    """Yield the turns of each batch of OpenSpiel's ``SyncVectorEnv``, over its rules in C++."""
    from open_spiel.python.rl_agent import StepOutput
    from open_spiel.python.rl_environment import Environment
    from open_spiel.python.vector_env import SyncVectorEnv

    rng = random.Random(1)
    games = SyncVectorEnv([Environment("connect_four") for _ in range(SLOTS)])
    steps = games.reset()
    while True:
        chosen = []
        for step in steps:
            legal = step.observations["legal_actions"][step.observations["current_player"]]
            chosen.append(StepOutput(legal[int(rng.random() * len(legal))], None))
        steps, *_ = games.step(chosen, reset_if_done=True)
        yield SLOTS


def env_pool() -> Iterator[int]:
    """Yield the turns of each batch of EnvPool, over its rules in C++ in as many threads as it likes.

    Raises:
        BenchError: it is not installed.
    """
    try:
        pool: Any = importlib.import_module("envpool")
    except ImportError:
        raise BenchError(
            "EnvPool is not installed; `.venv/bin/pip install envpool` (900 MB)"
        ) from None
    games = pool.make_gymnasium("ConnectFour-v1", num_envs=SLOTS)
    rng = np.random.default_rng(1)
    _, seen = games.reset()
    while True:
        lots = rng.random((SLOTS, 7)) * seen["legal_action_mask"]
        *_, seen = games.step(lots.argmax(axis=1).astype(np.int32))
        yield SLOTS


def pgx() -> Iterator[int]:
    """Yield the turns of each batch of pgx, compiled by JAX for the processor.

    Raises:
        BenchError: it is not installed.
    """
    try:
        jax: Any = importlib.import_module("jax")
        games: Any = importlib.import_module("pgx")
        experimental: Any = importlib.import_module("pgx.experimental")
    except ImportError as error:
        raise BenchError(
            f"{error.name} is not installed; `.venv/bin/pip install pgx` (390 MB, JAX with it)"
        ) from None
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
