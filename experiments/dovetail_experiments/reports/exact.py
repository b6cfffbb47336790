"""Exact values of actions in positions that a solver handles in milliseconds.

Solvers are imported on use: they are compiled, and most reports need none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail_agents.games.amazons.endgame import Endgame
    from dovetail_games import amazons, connect_four, dots

Values = dict[int, int]
"""Value of each legal action for the player to move, under perfect play: 1 for a win, 0 for a draw,
-1 for a loss."""

EMPTY = 28
"""Maximum empty squares in Connect Four; earlier positions may take seconds."""
FREE = 10
"""Maximum free squares in Amazons."""
LINES = 12
"""Maximum undrawn lines in dots and boxes."""


def connect_four_values(board: connect_four.ConnectFourBoard) -> Values | None:
    """Return the values of a Connect Four position with at most ``EMPTY`` empty squares.

    None earlier in the game, and for board sizes or row lengths that the solver does not support.
    """
    from dovetail_agents.games.connect_four.solver import MOST_BITS, MOST_SQUARES, solver

    squares = board.rows * board.columns
    solvable = squares <= MOST_SQUARES and (board.rows + 1) * board.columns <= MOST_BITS
    if board.over or board.connect != 4 or not solvable or squares - board.moves > EMPTY:
        return None
    return solver(board.rows, board.columns).values(board)


@lru_cache(maxsize=4)
def _endgame(rows: int, columns: int) -> Endgame:
    from dovetail_agents.games.amazons.endgame import Endgame

    return Endgame(rows, columns)


def amazons_values(board: amazons.AmazonsBoard) -> Values | None:
    """Return the values of whole moves in Amazons with at most ``FREE`` free squares.

    None earlier in the game, in games of steps, and in rare positions that take too long.
    """
    from dovetail_agents.games.amazons.endgame import UNKNOWN, WON

    if board.over or board.steps or (board.squares == 0).sum() > FREE:
        return None
    actions = board.legal()
    values = _endgame(board.rows, board.columns).values(board.squares, board.mover, actions)
    if UNKNOWN in values:
        return None
    worth = (1 if value == WON else -1 for value in values)
    return dict(zip(actions, worth, strict=True))


def dots_values(board: dots.DotsBoard) -> Values | None:
    """Return the values of a dots and boxes position with at most ``LINES`` undrawn lines; None
    earlier."""
    from dovetail_agents.games.dots.perfect import ending

    if board.over or len(board.free) > LINES:
        return None
    lead = board.scores[board.mover] - board.scores[1 - board.mover]
    more = ending(board.grid, board.drawn)
    return {line: (lead + boxes > 0) - (lead + boxes < 0) for line, boxes in more.items()}


EXACT: Mapping[str, Callable[[Any], Values | None]] = {
    "connect_four": connect_four_values,
    "amazons": amazons_values,
    "dots": dots_values,
}
"""Functions by environment, each taking the environment's ``board``."""


def uneven(values: Values) -> bool:
    """Return whether some actions keep the value of a position and others do not."""
    return len(set(values.values())) > 1
