"""Amazons: ``rules`` by themselves, and the environment that serves them."""

from dovetail_games.amazons.environment import Amazons, Configuration
from dovetail_games.amazons.rules import Board, start_position

__all__ = ["Amazons", "Board", "Configuration", "start_position"]
