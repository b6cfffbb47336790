"""Moves by the rules of 2048, for tests of other code that moves it."""

from __future__ import annotations

from dovetail_games.game_2048 import Board2048
from dovetail_games.game_2048.rules import Rows


def after_moves(rows: Rows) -> list[tuple[Rows, int]]:
    """Return the board after each move, before a tile appears, and the reward."""
    board = Board2048(tiles=0)
    board.go(rows)
    changed = board.after()
    return [changed.get(move, (rows, 0)) for move in range(4)]
