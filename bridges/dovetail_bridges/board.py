"""OpenSpiel's chess and Go from any position, for engine fronts."""

from __future__ import annotations

from typing import Any

from dovetail.peer.environments.environment import Turn
from dovetail.peer.registry import one_line
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.openspiel.environment import OpenSpiel, Options


class Board(OpenSpiel):
    """A two-player game of perfect information, observed as in the environment ``openspiel``.

    Args:
        game: OpenSpiel's name with parameters, such as ``go(board_size=9,komi=6.5)``.

    Raises:
        DovetailError: OpenSpiel is not installed, or does not have the game.
    """

    def __init__(self, game: str) -> None:
        super().__init__(Options(game))
        self.init()
        self.start(0)

    def begin(self, position: str) -> None:
        """Start from a position in OpenSpiel's notation of the game.

        Raises:
            DovetailError: it is not a position.
        """
        self.start(0)
        try:
            self.state = self._game.new_initial_state(position)
        except Exception as error:  # pyspiel's own kind is not exported
            raise DovetailError(
                f"OpenSpiel refuses the position {position[:80]!r}: {one_line(error)}"
            ) from None

    def turn(self) -> Turn:
        """Return the current turn."""
        return self._turn()

    def observation(self, seat: int) -> Any:
        """Return a seat's observation."""
        return self._views.see(self.state, seat)
