"""RLGame: the ``rules``, and the environment that serves them."""

from dovetail_games.rlgame.environment import Configuration, RLGame
from dovetail_games.rlgame.rules import RLGameBoard, RLGameGeometry

__all__ = ["Configuration", "RLGame", "RLGameBoard", "RLGameGeometry"]
