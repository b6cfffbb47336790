"""Agents of Dovetail in Kaggle's environments, for ``env.run``.

>>> env = kaggle_environments.make("connectx")
>>> env.run([Player(MCTSAgent(), env, 0), "negamax"])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.peer.agents.agent import Agent
from dovetail.peer.environments.environment import Spec
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Clock
from dovetail.protocol.scenes import Scene
from dovetail_bridges.conversion import as_json
from dovetail_bridges.kaggle.environment import KaggleEnvironment, named, with_configuration
from dovetail_bridges.local_agent import LocalAgent
from dovetail_games.connect_four import ConnectFour
from dovetail_games.connect_four.environment import Configuration


class Player:
    """An agent as Kaggle's runner calls it, with an observation and a configuration.

    In connectx the agent plays Dovetail's Connect Four, and may look ahead.  In other environments
    it observes and answers as in ``dovetail env kaggle``.  It does not learn.

    Args:
        agent: the agent.
        env: the environment that ``kaggle_environments.make`` returned.
        seat: the agent's place in the list given to ``env.run``, from 0.
        seed: the seed of its random choices.

    Raises:
        DovetailError: there is no such seat, or the agent cannot play the environment.
    """

    def __init__(self, agent: Agent, env: Any, seat: int, *, seed: int = 0) -> None:
        most = max(env.specification.agents)
        if seat not in range(most):
            raise DovetailError(
                f"seat {seat} does not exist; {env.name} has {most}, numbered from 0"
            )
        self._game = _Columns(env) if env.name == "connectx" else _Told(env, seat)
        self._spec = self._game.init()
        agent.needs.check(type(agent).name or type(agent).__name__, self._spec)
        self._player = LocalAgent(agent, seed)
        self._seat = seat
        self._step: int | None = None

    def __call__(self, observation: Mapping[str, Any], configuration: Mapping[str, Any]) -> Any:
        """Return the agent's action in Kaggle's form.

        Raises:
            DovetailError: the agent failed.
        """
        step = int(observation["step"])
        seen, legal = self._game.told(observation, configuration)
        if self._step is None or step <= self._step:  # another episode
            if self._step is not None:
                self._player.end(None, None, "cancelled")
            self._player.sit(self._game, self._spec, self._seat)
        self._step = step
        clock = Clock(configuration.get("actTimeout"))
        action = self._player.decide(step, [self._seat], seen, legal, clock)
        return self._game.written(action, self._seat)


class _Columns(ConnectFour):
    """Connect Four in the position of an observation of connectx."""

    def __init__(self, env: Any) -> None:
        given = env.configuration
        super().__init__(Configuration(given.rows, given.columns, given.inarow))

    def told(self, observation: Mapping[str, Any], configuration: Mapping[str, Any]) -> Any:
        rows, columns = self.board.rows, self.board.columns
        # Theirs is from the top.
        board = np.flipud(np.asarray(observation["board"]).reshape(rows, columns))
        mark = observation["mark"]
        seen = np.stack([board == mark, board == 3 - mark]).astype(np.uint8)
        self.place(mark - 1, seen)
        return seen, self.board.legal()

    def written(self, action: Any, seat: int) -> int:
        return int(action)


class _Told(KaggleEnvironment):
    """An environment of Kaggle's that is played elsewhere, as one seat was told."""

    def __init__(self, env: Any, seat: int) -> None:
        super().__init__()
        self._theirs = env
        self._seen = ""
        counts = env.specification.agents
        self._seats = min(each for each in counts if each > seat)

    def init(self) -> Spec:
        return self.around(self._theirs)

    def told(self, observation: Mapping[str, Any], configuration: Mapping[str, Any]) -> Any:
        self._seen = as_json(with_configuration(observation, configuration))
        return self._seen, None

    def text(self, seat: int | None = None) -> str:
        return self._seen

    def scene(self, seat: int | None = None) -> Scene:
        return named(self._names, self._seen)
