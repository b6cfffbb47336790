"""Other libraries' games in one process, each in its own loop with random legal moves."""

from __future__ import annotations

import importlib
import itertools
import random
from typing import Any

import numpy as np

from bench.measure import Episodes, stream


@stream
def rl_environment() -> Episodes:
    """Play OpenSpiel's own loop of agents, over its Connect Four in C++."""
    from open_spiel.python import rl_environment as spiel

    environment, rng = spiel.Environment("connect_four"), random.Random(1)
    while True:
        step, turns = environment.reset(), 0
        while not step.last():
            legal = step.observations["legal_actions"][step.observations["current_player"]]
            step = environment.step([legal[int(rng.random() * len(legal))]])
            turns += 1
        yield turns


@stream
def petting_zoo() -> Episodes:
    """Play PettingZoo's Connect Four in the loop of its documentation."""
    from pettingzoo.classic import connect_four_v3

    game, rng = connect_four_v3.env(), random.Random(1)
    for seed in itertools.count():
        game.reset(seed=seed)
        moves = 0
        for _ in game.agent_iter():
            observation, _, terminated, truncated, _ = game.last()
            if terminated or truncated:
                game.step(None)
            else:
                game.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
                moves += 1
        yield moves


@stream
def kaggle() -> Episodes:
    """Play Connect X between kaggle-environments' random agents."""
    from kaggle_environments import make

    game = make("connectx")
    while True:
        yield len(game.run(["random", "random"])) - 1


@stream
def pgx(slots: str) -> Episodes:
    """Play Connect Four in many games at once by pgx, compiled for the CPU (390 MB with JAX)."""
    jax: Any = importlib.import_module("jax")
    games: Any = importlib.import_module("pgx")
    experimental: Any = importlib.import_module("pgx.experimental")
    game = games.make("connect_four")
    step = jax.vmap(experimental.auto_reset(game.step, game.init))
    count = int(slots)

    def turn(state: Any, key: Any) -> Any:
        key, draw, again = jax.random.split(key, 3)
        odds = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(draw, odds, axis=1)
        keys = jax.random.split(again, count)
        return step(state, actions, keys), key

    compiled = jax.jit(turn)
    key = jax.random.key(1)
    state = jax.jit(jax.vmap(game.init))(jax.random.split(key, count))
    while True:
        state, key = compiled(state, key)
        state.observation.block_until_ready()
        yield count
