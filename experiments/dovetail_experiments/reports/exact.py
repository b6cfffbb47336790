"""Exact values of the actions at a position, where a solver reaches it in milliseconds.

Solvers are imported where they are used: they are compiled, and most reports need none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail_agents.games.amazons.endgame import Endgame
    from dovetail_games import amazons, connect_four, dots

Values = dict[int, int]
"""By legal action what it leads to for the side to move: 1 a win, 0 a draw, -1 a loss, if both
sides play perfectly from there."""

EMPTY = 28
"""Squares without a disc in Connect Four, at most: earlier positions may take seconds."""
FREE = 10
"""Free squares of Amazons, at most."""
LINES = 12
"""Lines of dots that are not drawn, at most."""


def connect_four_values(board: connect_four.ConnectFourBoard) -> Values | None:
    """Return the values of a position of Connect Four with at most ``EMPTY`` squares left.

    None before that, and on boards or with rows to connect that the solver does not know.
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
    """Return the values of whole moves of Amazons with at most ``FREE`` squares left.

    None before that, in games of steps, and in the rare positions that take too long.
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
    """Return the values of a position of dots and boxes with at most ``LINES`` lines left; else
    None."""
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
"""By environment; each takes its ``board``."""


def uneven(values: Values) -> bool:
    """Return whether some actions keep the value of a position and some do not."""
    return len(set(values.values())) > 1
