"""RLGame's minimax player, compiled."""

from dovetail_agents.games.rlgame.agent import RLGameMinimax

__all__ = ["RLGameMinimax"]
