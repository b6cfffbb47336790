"""Chess positions: OpenSpiel's action numbers and UCI's moves."""

from __future__ import annotations

import re
from typing import Any

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.board import Board
from dovetail_bridges.openspiel.games import library

WORTH = {"P": 100, "N": 300, "B": 300, "R": 500, "Q": 900}
"""Centipawns of a piece."""

FEN = re.compile(
    r"(?:[pnbrqkPNBRQK1-8]{1,8}/){7}[pnbrqkPNBRQK1-8]{1,8} [wb] (?:-|[KQkqA-Ha-h]{1,4}) "
    r"(?:-|[a-h][36]) \d+ \d+"
)


def fen(text: str) -> str:
    """Return the position in an environment's text.

    Raises:
        DovetailError: the text contains none.
    """
    found = FEN.search(text)
    if found is None:
        raise DovetailError(f"the game's text has no position in FEN: {text[:80]!r}")
    return found.group()


def checked(position: str) -> str:
    """Return a position in FEN if it has one king of each side, which OpenSpiel takes for granted.

    Raises:
        DovetailError: it is not such a position.
    """
    board = position.partition(" ")[0]
    widths = [sum(int(each) if each.isdecimal() else 1 for each in row) for row in board.split("/")]
    kings = (board.count("K"), board.count("k"))
    if FEN.fullmatch(position) is None or widths != [8] * 8 or kings != (1, 1):
        raise DovetailError(f"{position[:80]!r} is not a chess position in FEN")
    return position


def moves(state: Any) -> dict[str, int]:
    """Return the legal actions of an OpenSpiel chess state by UCI move, such as ``e7e8q``."""
    chess = library().chess
    board = state.board()
    return {
        chess.action_to_move(action, board).to_lan(): action for action in state.legal_actions()
    }


def material(position: str) -> int:
    """Return by how many centipawns the side to move is ahead in material.

    >>> material("k7/8/8/8/8/8/8/KQ6 b - - 0 1")
    -900
    """
    board, side = position.split()[:2]
    white = sum(WORTH.get(each, 0) - WORTH.get(each.swapcase(), 0) for each in board)
    return white if side == "w" else -white


class ChessBoard(Board):
    """Chess that another program judges: it ends only where the side to move has no legal move.

    OpenSpiel's chess also ends by repetition, after 50 moves, and where neither side can win.  From
    there on, each position starts a new game.
    """

    def __init__(self) -> None:
        super().__init__("chess")

    def fen(self) -> str:
        """Return the position."""
        return fen(self.text())

    def legal(self) -> dict[str, int]:
        """Return the actions of the legal moves."""
        if not self.state.is_terminal():
            return moves(self.state)
        return {move: action for move, (action, _) in self._bare().items()}

    def play(self, move: str) -> None:
        """Make a move.

        Raises:
            DovetailError: the move is illegal.
        """
        if self.state.is_terminal():
            found = self._bare().get(move)
            if found is not None:
                self.begin(found[1])
                return
        elif (action := moves(self.state).get(move)) is not None:
            self.state.apply_action(action)
            self.judged()
            return
        raise DovetailError(f"the move {move!r} is illegal in {self.fen()}")

    def judged(self) -> None:
        """Continue after a draw by rule, which is for the other program to claim."""
        if self.state.is_terminal() and self.state.board().has_legal_moves():
            *place, _, number = self.fen().split()
            self.begin(" ".join([*place, "0", number]))

    def _bare(self) -> dict[str, tuple[int, str]]:
        """Return each legal move with its action and the next position where neither side can win.

        OpenSpiel's dark chess has no such end and no check, so moves that leave the king to be
        taken are left out here.
        """
        position = self.fen()
        if not self.state.board().has_legal_moves():
            return {}
        dark = library().load_game("dark_chess", {"fen": position}).new_initial_state()
        chess, board = library().chess, self.state.board()
        found = {}
        for action in dark.legal_actions():
            after = dark.child(action)
            if not any(after.child(reply).is_terminal() for reply in after.legal_actions()):
                found[chess.action_to_move(action, board).to_lan()] = (action, str(after))
        return found
