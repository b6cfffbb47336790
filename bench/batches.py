"""Connect Four in batches, as libraries for many environments at once play it: random moves of 256 games."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.games import SLOTS, SUBJECTS, many
from bench.measure import BenchError


def ours(form: str) -> Iterator[int]:
    """Yield the turns of each batch of our environment: as ``arrays``, or as ``copies``, one in each slot."""
    [subject] = [each for each in SUBJECTS if each.name == "connect_four"]
    return many(subject, arrays=form == "arrays")


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
