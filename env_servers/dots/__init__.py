"""Dots and boxes: ``rules`` by themselves, and the environment that serves them."""

from dovetail.env_servers.dots.environment import Configuration, Dots
from dovetail.env_servers.dots.rules import Board, Grid

__all__ = ["Board", "Configuration", "Dots", "Grid"]
