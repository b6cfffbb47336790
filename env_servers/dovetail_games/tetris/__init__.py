"""Tetris with one decision per piece: ``rules``, ``features``, and the environment that serves
them."""

from dovetail_games.tetris.environment import Configuration, Tetris
from dovetail_games.tetris.rules import PIECES, TetrisBoard

__all__ = ["PIECES", "Configuration", "Tetris", "TetrisBoard"]
