"""Tetris: a player that rates afterstates by weighted features."""

from dovetail_agents.games.tetris.agent import TetrisPlayer

__all__ = ["TetrisPlayer"]
