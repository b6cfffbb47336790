"""2048: the ``rules``, and the environment that serves them."""

from dovetail_games.game_2048.environment import Configuration, Game2048
from dovetail_games.game_2048.rules import Board2048

__all__ = ["Board2048", "Configuration", "Game2048"]
