"""Dots and boxes: the ``rules``, and the environment that serves them."""

from dovetail_games.dots.environment import Configuration, Dots
from dovetail_games.dots.rules import DotsBoard, Grid

__all__ = ["Configuration", "Dots", "DotsBoard", "Grid"]
