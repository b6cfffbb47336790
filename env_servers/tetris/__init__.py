"""Tetris with one decision a piece: ``rules``, ``features``, and the environment that serves
them."""

from dovetail.env_servers.tetris.environment import Configuration, Tetris
from dovetail.env_servers.tetris.rules import PIECES, Board

__all__ = ["PIECES", "Board", "Configuration", "Tetris"]
