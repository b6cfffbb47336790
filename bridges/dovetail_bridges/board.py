"""OpenSpiel's chess and Go from any position, for engine fronts, and agents that play on them."""

from __future__ import annotations

import math
from typing import Any

from dovetail.peer.agents.agent import Agent
from dovetail.peer.environments.environment import Turn
from dovetail.peer.registry import one_line
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Clock
from dovetail_bridges.local_agent import LocalAgent
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


class BoardAgent:
    """An agent that plays the side to move on a board controlled by a foreign program.

    Args:
        seed: the seed of its random choices.
    """

    def __init__(self, agent: Agent, seed: int = 0) -> None:
        self.agent = agent
        self._player = LocalAgent(agent, seed)
        self._seat: int | None = None
        self._board: Board | None = None
        self._turn = 0
        self._legal: list[int] = []

    def decide(self, board: Board, clock: Clock | None = None) -> int:
        """Return the agent's action for the side to move.

        Raises:
            DovetailError: the agent does not play this game, or failed.
        """
        seat: int = board.state.current_player()
        if self._seat != seat or self._board is not board:
            self.leave()
            self._player.sit(board, board.init(), seat)
            self._seat, self._board = seat, board
        self._turn += 1
        legal = board.state.legal_actions()
        self._legal = legal
        return int(self._player.decide(self._turn, [seat], board.observation(seat), legal, clock))

    def value(self, action: int) -> float | None:
        """Return the expected reward of an action by the agent's last thoughts; None if unknown."""
        thoughts = self._player.thoughts
        if thoughts is None or len(thoughts.values) != len(self._legal):
            return None
        found = dict(zip(self._legal, thoughts.values, strict=True)).get(action, math.nan)
        return found if -1 <= found <= 1 else None

    def leave(self) -> None:
        """End the agent's episode; only the foreign program knows how the game continued."""
        board, self._board = self._board, None
        if board is None or self._seat is None:
            return
        over = board.state.is_terminal()
        turn = board.turn() if over else None
        reward = turn.seats[self._seat].reward if turn is not None else 0.0
        self._player.end(
            board.observation(self._seat),
            turn.outcome if turn is not None else None,
            "terminated" if over else "cancelled",
            reward,
        )
        self._seat = None

    def close(self) -> None:
        """Release the agent."""
        self.leave()
        self.agent.cleanup()
