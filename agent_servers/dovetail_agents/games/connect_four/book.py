"""The opening book of Connect Four: exact scores of early positions, one per line.

A line has columns, numbered from 1 as in Pons' test sets, and the score of the position that they
lead to.  Of a position and its mirror image it has one.  ``build`` makes it.
"""

from __future__ import annotations

from pathlib import Path

from dovetail_games.connect_four.rules import ConnectFourBoard

BOOK = Path(__file__).with_name("book.txt")
PLIES = 4
"""The book has all positions up to this ply."""


def reached(columns: str) -> ConnectFourBoard:
    """Return the position after some moves: columns, numbered from 1."""
    board = ConnectFourBoard()
    for column in columns:
        board.drop(int(column) - 1)
    return board


def key(board: ConnectFourBoard) -> tuple[int, int]:
    """Return what a 6 x 7 position and its mirror image share, and no other position."""
    own, other = board.discs[board.mover], board.discs[1 - board.mover]
    return min((own, other), (_mirrored(own), _mirrored(other)))


def _mirrored(discs: int) -> int:
    found = 0
    for column in range(7):
        found |= (discs >> 7 * column & 0x7F) << 7 * (6 - column)
    return found


def children(board: ConnectFourBoard) -> list[tuple[int, ConnectFourBoard]]:
    """Return each legal column with the board after a disc in it."""
    found = []
    for column in board.legal():
        after = board.copy()
        after.drop(column)
        found.append((column, after))
    return found


def positions(plies: int) -> dict[tuple[int, int], str]:
    """Return the positions after ``plies`` that are not over, each with moves that reach it."""
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
    """Return the scores in a book; none if there is no such file."""
    if not path.exists():
        return {}
    lines = path.read_text("ascii").splitlines()
    return {
        key(reached(moves)): int(score) for moves, _, score in (x.partition(" ") for x in lines)
    }
