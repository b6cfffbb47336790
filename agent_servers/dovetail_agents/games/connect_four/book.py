"""The opening book of Connect Four: exact scores of early positions, one per line.

A line contains the columns played, numbered from 1 as in Pons' test sets, and the score of the
resulting position.  Mirror images share a line.  ``build`` creates the book.
"""

from __future__ import annotations

from pathlib import Path

from dovetail_games.connect_four.rules import ConnectFourBoard

BOOK = Path(__file__).with_name("book.txt")
PLIES = 4
"""Plies up to which the book contains all positions."""


def reached(columns: str) -> ConnectFourBoard:
    """Return the position after some moves, given as columns numbered from 1."""
    board = ConnectFourBoard()
    for column in columns:
        board.drop(int(column) - 1)
    return board


def key(board: ConnectFourBoard) -> tuple[int, int]:
    """Return a key that a 6 x 7 position shares only with its mirror image."""
    own, other = board.discs[board.mover], board.discs[1 - board.mover]
    return min((own, other), (_mirrored(own), _mirrored(other)))


def _mirrored(discs: int) -> int:
    found = 0
    for column in range(7):
        found |= (discs >> 7 * column & 0x7F) << 7 * (6 - column)
    return found


def children(board: ConnectFourBoard) -> list[tuple[int, ConnectFourBoard]]:
    """Return each legal column with the board after a disc is dropped there."""
    found = []
    for column in board.legal():
        after = board.copy()
        after.drop(column)
        found.append((column, after))
    return found


def positions(plies: int) -> dict[tuple[int, int], str]:
    """Return the unfinished positions after ``plies`` plies, each with moves that lead to it."""
    found = {key(ConnectFourBoard()): ""}
    for _ in range(plies):
        after: dict[tuple[int, int], str] = {}
        for moves in found.values():
            for column, next_ in children(reached(moves)):
                if not next_.over:
                    after.setdefault(key(next_), f"{moves}{column + 1}")
        found = after
    return found


def read(path: Path) -> dict[tuple[int, int], int]:
    """Return a book's scores by position; empty if the file does not exist."""
    if not path.exists():
        return {}
    lines = path.read_text("ascii").splitlines()
    return {
        key(reached(moves)): int(score) for moves, _, score in (x.partition(" ") for x in lines)
    }
