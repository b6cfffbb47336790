"""Two learners of RLlib play each other at Connect Four, each with its own policy.

pip install 'dovetail[pettingzoo,games]' 'ray[rllib]' torch
python docs/bridges/rllib_connect_four.py
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import ray
from gymnasium import spaces
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

import dovetail_bridges.pettingzoo

SMALL = {"rows": 4, "columns": 4, "connect": 3}
SEATS = ("seat_0", "seat_1")


class Masked(BaseWrapper):
    """The form that RLlib's module for masks reads: a row of ``observations``, and the mask."""

    def observation_space(self, agent: str) -> spaces.Dict:
        inner = super().observation_space(agent)
        seen, actions = inner["observation"], inner["action_mask"]
        return spaces.Dict(
            {
                "observations": spaces.Box(0, 1, (int(np.prod(seen.shape)),), np.float32),
                "action_mask": spaces.Box(0, 1, actions.shape, np.float32),
            }
        )

    def observe(self, agent: str) -> dict[str, Any]:
        seen = super().observe(agent)
        return {
            "observations": seen["observation"].ravel().astype(np.float32),
            "action_mask": seen["action_mask"].astype(np.float32),
        }


def make(_: Any) -> PettingZooEnv:
    """Return the game as RLlib wants it."""
    return PettingZooEnv(
        Masked(dovetail_bridges.pettingzoo.env("connect_four", configuration=SMALL))
    )


def main(iterations: int = 20) -> None:
    """Train, and say what each seat earns."""
    ray.init(include_dashboard=False, log_to_driver=False)
    register_env("connect_four", make)
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule)
    config = (
        PPOConfig()
        .environment("connect_four")
        .env_runners(num_env_runners=0, batch_mode="complete_episodes")
        .multi_agent(policies=set(SEATS), policy_mapping_fn=lambda agent, *_, **__: agent)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys(SEATS, module)))
        .training(train_batch_size_per_learner=400, minibatch_size=64, num_epochs=4)
    )
    algorithm = config.build_algo()
    for number in range(iterations):
        played = algorithm.train()["env_runners"]
        earned = {seat: f"{played['agent_episode_returns_mean'][seat]:+.2f}" for seat in SEATS}
        print(f"{number + 1}: {played['num_episodes_lifetime']:.0f} games, {earned}", flush=True)
    algorithm.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
