"""The games and configurations that the tests try."""

from __future__ import annotations

from typing import Any

from dovetail_games.game_2048 import Board2048
from dovetail_games.game_2048.rules import Rows

CASES: list[tuple[str, dict[str, Any]]] = [
    ("connect_four", {}),
    ("connect_four", {"rows": 4, "columns": 5, "connect": 3}),
    ("2048", {}),
    ("2048", {"rows": 2, "columns": 3, "encoding": "planes", "four": 0.5}),
    ("dots", {}),
    ("dots", {"rows": 3, "columns": 4, "rewards": "boxes"}),
    ("dots", {"rows": 2, "columns": 5, "rewards": "difference"}),
    ("rlgame", {"size": 6, "max_moves": 500}),
    ("rlgame", {"size": 7, "base": 3, "pawns": 4, "encoding": "study", "first": 1}),
    ("rlgame", {"size": 5, "base": 1, "pawns": 3, "encoding": "planes", "loss": "simultaneous"}),
    ("rlgame", {"size": 5, "win_reward": 100.0, "pawn_reward": 1.0, "base_pawns": False}),
]
CASES += [
    ("dominion", {}),
    ("dominion", {"players": 4, "tie": "shared", "end": "round"}),
    ("dominion", {"players": 3, "kingdom": ["Smithy", "Chapel"], "kingdom_size": 2}),
    ("dominion", {"rewards": "purchase", "first": "seat-0", "played": "discard"}),
    ("amazons", {"rows": 4, "columns": 4}),
    ("amazons", {"rows": 5, "columns": 6, "first": 1}),
    ("amazons", {"rows": 6, "columns": 6, "action": "steps"}),
    ("tetris", {"height": 8, "width": 6}),
    ("tetris", {"pieces": "SZ", "max_pieces": 30, "afterstates": "boards"}),
    ("gdl", {}),
    ("gdl", {"game": "kuhn_poker"}),
    ("gdl", {"game": "rock_paper_scissors", "observe": "text"}),
]


def named(case: tuple[str, dict[str, Any]]) -> str:
    return f"{case[0]}-{'-'.join(str(each) for each in case[1].values())}"


def after_moves(rows: Rows) -> list[tuple[Rows, int]]:
    """Return the board after each move, before a tile appears, and the reward."""
    board = Board2048(tiles=0)
    board.go(rows)
    changed = board.after()
    return [changed.get(move, (rows, 0)) for move in range(4)]
