"""A DQN of Tianshou learns Connect Four in one seat, against a random player in the other.

pip install 'dovetail[pettingzoo,games]' tianshou torch
python docs/bridges/tianshou_connect_four.py
"""

from __future__ import annotations

import sys

import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.env.pettingzoo_env import PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import dovetail_bridges.pettingzoo

SMALL = {"rows": 4, "columns": 4, "connect": 3}


def make() -> PettingZooEnv:
    """Return the game as Tianshou wants it."""
    return PettingZooEnv(dovetail_bridges.pettingzoo.env("connect_four", configuration=SMALL))


def main(epochs: int = 4) -> None:
    """Train the first seat, and say what it earns."""
    torch.manual_seed(1)
    env = make()
    seen, actions = env.observation_space["observation"], env.action_space
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=seen.shape, action_shape=actions.n, hidden_sizes=[64, 64]),
        action_space=actions,
        observation_space=seen,
        eps_training=0.2,
    )
    learner = DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=1e-3),
        n_step_return_horizon=1,
        target_update_freq=200,
    )
    other = MARLRandomDiscreteMaskedOffPolicyAlgorithm(action_space=actions)
    both = MultiAgentOffPolicyAlgorithm(algorithms=[learner, other], env=env)
    games = DummyVectorEnv([make] * 8)
    training = Collector(both, games, VectorReplayBuffer(20_000, 8), exploration_noise=True)
    test = Collector(both, DummyVectorEnv([make] * 8))

    def earned() -> float:
        test.reset()
        return float(test.collect(n_episode=200).returns[:, 0].mean())

    training.reset()
    training.collect(n_step=800, random=False)
    print(f"before: {earned():+.2f} a game", flush=True)
    result = both.run_training(
        OffPolicyTrainerParams(
            training_collector=training,
            max_epochs=epochs,
            epoch_num_steps=1_000,
            collection_step_num_env_steps=80,
            update_step_num_gradient_steps_per_sample=0.1,
            multi_agent_return_reduction=lambda returns: returns[:, 0],
            show_progress=False,
            verbose=False,
        )
    )
    print(f"after {result.train_episode} games: {earned():+.2f} a game")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
