"""The names of squares, as on a chess board."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(4096)  # scenes of every turn name their squares
def square_name(column: int, row: int) -> str:
    """Return the name of a square, as on a chess board.

    >>> square_name(0, 0), square_name(7, 9), square_name(26, 3)
    ('a1', 'h10', 'aa4')
    """
    return f"{column_name(column)}{row + 1}"


def column_name(column: int) -> str:
    """Return the name of a column, as on a chess board.

    >>> column_name(0), column_name(25), column_name(26)
    ('a', 'z', 'aa')
    """
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters
