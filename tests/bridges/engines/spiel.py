"""OpenSpiel's chess and Go as small environments, for the tests of engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyspiel

from dovetail.env_servers.environment import Environment, IllegalAction, Spec, Turn
from dovetail.protocol.spaces import Box, Discrete


class Spiel(Environment):
    """A game of OpenSpiel without chance, hidden information or simultaneous moves."""

    game: ClassVar[str]

    def init(self) -> Spec:
        self.rules = pyspiel.load_game(self.game)
        shape = self.rules.observation_tensor_shape()
        return Spec(
            name=self.game,
            seats=2,
            observation_spaces=[Box(list(shape))],
            action_spaces=[Discrete(self.rules.num_distinct_actions())],
            reward_range=(-1.0, 1.0),
        )

    def start(self, seed: int) -> Turn:
        self.state = self.rules.new_initial_state()
        return self.turn()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        ((seat, action),) = actions.items()
        if action not in self.state.legal_actions():
            raise IllegalAction(f"{action} is not legal", seat)
        self.state.apply_action(action)
        return self.turn()

    def turn(self) -> Turn:
        if self.state.is_terminal():
            returns = self.state.returns()
            outcome = [(each + 1) / 2 for each in returns]
            return Turn.end([self.seen(0), self.seen(1)], returns, outcome=outcome)
        seat = self.state.current_player()
        return Turn.ask(seat, self.seen(seat), self.state.legal_actions())

    def seen(self, seat: int) -> Any:
        flat = np.array(self.state.observation_tensor(seat), np.float32)
        return flat.reshape(self.rules.observation_tensor_shape())

    def text(self, seat: int | None = None) -> str:
        return str(self.state)


class Chess(Spiel):
    """Chess."""

    name = "chess"
    game = "chess"


class Go(Spiel):
    """Go on 9x9."""

    name = "go"
    game = "go(board_size=9,komi=6.5)"


class SmallGo(Spiel):
    """Go on 5x5."""

    name = "small-go"
    game = "go(board_size=5,komi=0.5)"
