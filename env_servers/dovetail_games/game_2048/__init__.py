"""2048: ``rules`` by themselves, and the environment that serves them."""

from dovetail_games.game_2048.environment import Configuration, Game2048
from dovetail_games.game_2048.rules import Board

__all__ = ["Board", "Configuration", "Game2048"]
