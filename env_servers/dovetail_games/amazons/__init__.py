"""Amazons: the ``rules``, and the environment that serves them."""

from dovetail_games.amazons.environment import Amazons, Configuration
from dovetail_games.amazons.rules import AmazonsBoard, start_position

__all__ = ["Amazons", "AmazonsBoard", "Configuration", "start_position"]
