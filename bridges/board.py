"""OpenSpiel's chess and Go from any position, for the fronts that foreign programs drive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.env_servers.environment import Environment, IllegalAction, Spec, Turn
from dovetail.peer.extras import absent
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Box, Discrete


class Board(Environment):
    """A game for two that hides nothing, as OpenSpiel plays it.

    Args:
        game: OpenSpiel's name with parameters, such as ``go(board_size=9,komi=6.5)``.

    Raises:
        DovetailError: OpenSpiel is not installed, or does not have the game.
    """

    def __init__(self, game: str) -> None:
        super().__init__()
        try:
            import pyspiel
        except ModuleNotFoundError as error:
            raise DovetailError(absent(error) or str(error)) from None
        self.game = game
        try:
            self.rules: Any = pyspiel.load_game(game)
        except pyspiel.SpielError as error:
            raise DovetailError(f"OpenSpiel refuses {game!r}: {error}") from None
        self.state: Any = self.rules.new_initial_state()

    def init(self) -> Spec:
        return Spec(
            name=self.game,
            seats=2,
            observation_spaces=[Box(list(self.rules.observation_tensor_shape()))],
            action_spaces=[Discrete(self.rules.num_distinct_actions())],
            reward_range=(self.rules.min_utility(), self.rules.max_utility()),
            max_turns=self.rules.max_game_length(),
        )

    def start(self, seed: int) -> Turn:
        self.state = self.rules.new_initial_state()
        return self.turn()

    def begin(self, position: str) -> None:
        """Begin at a position, in OpenSpiel's own notation of the game.

        Raises:
            DovetailError: it is not one.
        """
        try:
            self.state = self.rules.new_initial_state(position)
        except Exception as error:  # pyspiel's own kind is not exported
            raise DovetailError(
                f"OpenSpiel refuses the position {position[:80]!r}: {' '.join(str(error).split())[:100]}"
            ) from None

    def step(self, actions: Mapping[int, Any]) -> Turn:
        ((seat, action),) = actions.items()
        if action not in self.state.legal_actions():
            raise IllegalAction(f"action {action} is not legal", seat)
        self.state.apply_action(action)
        return self.turn()

    def turn(self) -> Turn:
        """Return the present turn."""
        if self.state.is_terminal():
            returns = list(self.state.returns())
            most, least = max(returns), min(returns)
            spread = most - least
            outcome = [(each - least) / spread if spread else 0.5 for each in returns]
            return Turn.end([self.observation(seat) for seat in (0, 1)], returns, outcome=outcome)
        seat = self.state.current_player()
        return Turn.ask(seat, self.observation(seat), self.state.legal_actions())

    def observation(self, seat: int) -> Any:
        """Return what a seat sees: OpenSpiel's observation tensor in its shape."""
        flat = np.array(self.state.observation_tensor(seat), np.float32)
        return flat.reshape(self.rules.observation_tensor_shape())

    def text(self, seat: int | None = None) -> str:
        return str(self.state)

    def fork(self, seat: int, seed: int) -> Board:
        copy = Board(self.game)
        copy.state = self.state.clone()
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Board:
        return self.fork(0, 0)
