"""Tabular Q-learning for any environment with discrete actions; ``dominion-q`` uses its core."""

from dovetail_agents.general.q_learning.agent import QLearning

__all__ = ["QLearning"]
