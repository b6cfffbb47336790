"""Connect Four: ``rules`` by themselves, and the environment that serves them."""

from dovetail_games.connect_four.environment import Configuration, ConnectFour
from dovetail_games.connect_four.rules import Board

__all__ = ["Board", "Configuration", "ConnectFour"]
