"""Tabular Q-learning for any environment with discrete actions, and the core that ``dominion-q``
shares."""

from dovetail_agents.general.q_learning.agent import QLearning

__all__ = ["QLearning"]
