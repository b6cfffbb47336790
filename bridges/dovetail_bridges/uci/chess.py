"""Chess positions: OpenSpiel's action numbers and UCI's moves."""

from __future__ import annotations

import re
from typing import Any

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.openspiel.games import library

FEN = re.compile(
    r"(?:[pnbrqkPNBRQK1-8]{1,8}/){7}[pnbrqkPNBRQK1-8]{1,8} [wb] (?:-|[KQkqA-Ha-h]{1,4}) (?:-|[a-h][36]) \d+ \d+"
)


def fen(text: str) -> str:
    """Return the position in a text that an environment shows.

    Raises:
        DovetailError: there is none.
    """
    found = FEN.search(text)
    if found is None:
        raise DovetailError(f"the game's text has no position in FEN: {text[:80]!r}")
    return found.group()


def checked(position: str) -> str:
    """Return a position in FEN if it has one king of each side, which OpenSpiel takes for granted.

    Raises:
        DovetailError: it is not a position.
    """
    board = position.partition(" ")[0]
    widths = [sum(int(each) if each.isdecimal() else 1 for each in row) for row in board.split("/")]
    kings = (board.count("K"), board.count("k"))
    if FEN.fullmatch(position) is None or widths != [8] * 8 or kings != (1, 1):
        raise DovetailError(f"{position[:80]!r} is not a chess position in FEN")
    return position


def moves(state: Any) -> dict[str, int]:
    """Return the legal actions of an OpenSpiel chess state by their moves in UCI, such as ``e7e8q``."""
    chess = library().chess
    board = state.board()
    return {
        chess.action_to_move(action, board).to_lan(): action for action in state.legal_actions()
    }
