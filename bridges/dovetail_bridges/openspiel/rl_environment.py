"""Our games for OpenSpiel's learners, in the form of its ``rl_environment``.

>>> env = Environment("connect_four", seed=1)
>>> time_step = env.reset()
>>> while not time_step.last():
...     player = time_step.observations["current_player"]
...     time_step = env.step([agents[player].step(time_step).action])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer import options, plugins
from dovetail.peer.environments.environment import Environment as Rules
from dovetail.peer.environments.environment import IllegalAction, Turn
from dovetail.peer.registry import type_name
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from dovetail_bridges import conversion
from dovetail_bridges.openspiel import games

SIMULTANEOUS, TERMINAL = -2, -4
"""OpenSpiel's player numbers for simultaneous moves and for the end."""
TENSORS = (Box, MultiBinary, MultiDiscrete, Discrete)


class Environment:
    """A game with all its seats in this program, without a broker.

    ``info_state`` has each seat's latest observation as a flat list of numbers, or zeros before the
    first.  Actions count from 0.  Where several seats act, ``current_player`` is OpenSpiel's number
    for simultaneous moves, and ``step`` takes an action for each seat of the game, ignoring those
    of seats that are not to act.

    Args:
        game: an environment's name or class.
        configuration: its options.
        seed: the master seed of the episodes, which are those of a run with the same seed.
        discount: the discount of steps other than the last.

    Raises:
        DovetailError: OpenSpiel is not installed, the game does not exist, or its spaces have no
            form in OpenSpiel.
    """

    def __init__(
        self,
        game: str | type[Rules],
        configuration: dict[str, Any] | None = None,
        *,
        seed: int = 0,
        discount: float = 1.0,
    ) -> None:
        games.library()  # says what to install
        kind: type[Rules] = plugins.find("environment", game) if isinstance(game, str) else game
        self.name = type_name(kind)
        self._rules = kind(
            options.read(kind.Configuration, dict(configuration or {}), f"environment {self.name}")
        )
        spec = self._rules.init()
        self.num_players = spec.seats
        self._discount = discount
        observed, acted = zip(
            *(
                (spec.observation_space(seat), self._actions(spec, seat))
                for seat in range(spec.seats)
            ),
            strict=True,
        )
        for space in observed:
            if not isinstance(space, TENSORS):
                what = type(space).__name__
                raise DovetailError(f"{self.name} observes a {what}; OpenSpiel takes numbers only")
        self._first = [
            np.asarray(conversion.zeros(each), float).ravel().tolist() for each in observed
        ]
        self._spaces = acted
        self._turn = Turn()
        self._seen: list[list[float]] = []
        self._over = True
        self.seed(seed)

    def _actions(self, spec: Any, seat: int) -> Discrete:
        space = spec.action_space(seat)
        if not isinstance(space, Discrete):
            what = type(space).__name__
            raise DovetailError(
                f"{self.name} acts in a {what}; OpenSpiel takes action numbers only"
            )
        return space

    def seed(self, seed: int) -> None:
        """Start the episodes of another master seed with the next ``reset``."""
        self._seed, self._index = seed, 0

    def reset(self) -> Any:
        """Begin an episode; return its first ``TimeStep``."""
        self._seen = list(self._first)
        seed = derive(self._seed, "episode", self._index)
        self._index += 1
        self._take(self._rules.start(seed))
        return self._step("FIRST", None, None)

    def step(self, actions: list[int]) -> Any:
        """Apply an action of the seat to act, or one of each seat; return a ``TimeStep``.

        After the end, and before the first ``reset``, start an episode instead, as in OpenSpiel.

        Raises:
            IllegalAction: an action is not legal; the episode is as before.
        """
        if self._over:
            return self.reset()
        to_act = self._turn.to_act
        if len(actions) != self.num_actions_per_step:
            raise DovetailError(
                f"{len(actions)} actions; expected {self.num_actions_per_step}, since seats "
                f"{to_act} act"
            )
        legal = self._legal()
        chosen = {}
        for seat in to_act:
            action = int(actions[0] if len(to_act) == 1 else actions[seat])
            if action not in legal[seat]:
                raise IllegalAction(f"action {action} of seat {seat} is not legal", seat)
            chosen[seat] = action + self._spaces[seat].start
        turn = self._rules.step(chosen)
        self._take(turn)
        rewards = [0.0] * self.num_players
        for view in turn.seats:
            rewards[view.seat] += float(view.reward)
        discount = 0.0 if turn.terminated else self._discount
        kind = "LAST" if self._over else "MID"
        return self._step(kind, rewards, [discount] * self.num_players)

    def observation_spec(self) -> dict[str, Any]:
        """Return the shapes of an observation."""
        return {
            "info_state": (max(map(len, self._first)),),
            "legal_actions": (self._count(),),
            "current_player": (),
            "serialized_state": (),
        }

    def action_spec(self) -> dict[str, Any]:
        """Return the number and the range of actions."""
        count = self._count()
        return {"num_actions": count, "min": 0, "max": count - 1, "dtype": int}

    @property
    def is_turn_based(self) -> bool:
        """Return whether only one seat is to act."""
        return len(self._turn.to_act) <= 1

    @property
    def num_actions_per_step(self) -> int:
        """The number of actions for the next ``step``."""
        return 1 if self.is_turn_based else self.num_players

    def _count(self) -> int:
        return int(max(space.n for space in self._spaces))

    def _take(self, turn: Turn) -> None:
        self._turn, self._over = turn, turn.terminated or turn.truncated
        for view in turn.seats:
            self._seen[view.seat] = np.asarray(view.observation, float).ravel().tolist()

    def _legal(self) -> list[list[int]]:
        """Return the legal actions of each seat, counted from 0."""
        found: list[list[int]] = [[] for _ in range(self.num_players)]
        for view in self._turn.seats:
            if view.seat in self._turn.to_act:
                space = self._spaces[view.seat]
                numbers = conversion.numbers(view.legal, space)
                first = space.start
                found[view.seat] = (
                    list(range(space.n)) if numbers is None else [n - first for n in numbers]
                )
        return found

    def _step(self, kind: str, rewards: list[float] | None, discounts: list[float] | None) -> Any:
        from open_spiel.python import rl_environment as theirs

        to_act = self._turn.to_act
        player = TERMINAL if self._over else to_act[0] if len(to_act) == 1 else SIMULTANEOUS
        observations = {
            "info_state": [list(each) for each in self._seen],
            "legal_actions": self._legal(),
            "current_player": player,
            "serialized_state": [],
        }
        return theirs.TimeStep(observations, rewards, discounts, theirs.StepType[kind])
