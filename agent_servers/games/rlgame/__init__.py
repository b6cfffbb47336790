"""RLGame's minimax player, compiled."""

from dovetail.agent_servers.games.rlgame.agent import RLGameMinimax

__all__ = ["RLGameMinimax"]
