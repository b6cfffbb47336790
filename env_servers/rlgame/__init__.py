"""RLGame: ``rules`` by themselves, and the environment that serves them."""

from dovetail.env_servers.rlgame.environment import Configuration, RLGame
from dovetail.env_servers.rlgame.rules import Board, Geometry

__all__ = ["Board", "Configuration", "Geometry", "RLGame"]
