"""Connect Four: the ``rules``, and the environment that serves them."""

from dovetail_games.connect_four.environment import Configuration, ConnectFour
from dovetail_games.connect_four.rules import ConnectFourBoard

__all__ = ["Configuration", "ConnectFour", "ConnectFourBoard"]
