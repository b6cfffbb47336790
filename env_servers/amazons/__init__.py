"""Amazons: ``rules`` by themselves, and the environment that serves them."""

from dovetail.env_servers.amazons.environment import Amazons, Configuration
from dovetail.env_servers.amazons.rules import Board, start_position

__all__ = ["Amazons", "Board", "Configuration", "start_position"]
