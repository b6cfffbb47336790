"""Tetris: a player that rates afterstates by weighted features."""

from dovetail.agent_servers.games.tetris.agent import TetrisPlayer

__all__ = ["TetrisPlayer"]
