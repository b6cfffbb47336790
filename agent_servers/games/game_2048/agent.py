"""An n-tuple network that learns 2048 by TD(0) over afterstates (Szubert and Jaskowski 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail.agent_servers.agent import Agent, Decision, End, Needs, Seat, Thoughts
from dovetail.agent_servers.games.game_2048 import kernels
from dovetail.agent_servers.games.game_2048.networks import Layout, layout
from dovetail.agent_servers.games.game_2048.saved import NTupleParameters, dump, parse
from dovetail.env_servers.game_2048.rules import after_moves
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Box

Array = NDArray[Any]


class _Pending(Struct):
    """A seat's episode: the board after its last slide, whose value is learned next."""

    tiles: Array | None = None


class NTuple2048(Agent[NTupleParameters]):
    """2048: learns the value of boards after a slide, as a sum of tables over groups of squares.

    It plays the move with the largest reward plus value; ``V(s)`` moves towards ``r' + V(s')`` of
    the next decision's best move, and towards 0 at the end. All chance is the game's, so it does
    not explore. ``python -m dovetail.agent_servers.games.game_2048 train`` trains it where the
    games run.
    """

    name = "ntuple-2048"
    Memory = _Pending
    needs = Needs(game="2048", legal="list")
    capacity = 1

    def __init__(self, parameters: NTupleParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.episodes = 0
        self.shape: tuple[int, int] | None = None

    def init(self, seat: Seat) -> None:
        space = seat.spec.observation_spaces[0]
        if not isinstance(space, Box) or len(space.shape) != 2:
            raise DovetailError(
                f"ntuple-2048 needs 2048 by exponents, not {space}; set the environment's option "
                'encoding to "exponents"'
            )
        self._prepare((space.shape[0], space.shape[1]))

    def _prepare(self, shape: tuple[int, int]) -> None:
        if self.shape == shape:
            return
        if self.shape is not None:
            raise DovetailError(f"this ntuple-2048 has learned boards of {self.shape}, not {shape}")
        self.network = layout(self.parameters.network, *shape)
        self.weights: Array = self.network.zeros()
        self.shape = shape

    def _value(self, tiles: Array) -> float:
        network: Layout = self.network
        return float(
            kernels.value(tiles, network.places, network.tables, network.exponents, self.weights)
        )

    def step(self, decision: Decision) -> int:
        found: dict[int, float] | None = {} if decision.think else None
        best, chosen, worth = self._best(decision.observation, decision.legal, found)
        assert best is not None
        if found is not None:
            decision.thoughts = Thoughts([*found.values()])
        if decision.mode == "learn":
            self._learn(decision.memory.tiles, worth)
            decision.memory.tiles = best
        return chosen

    def _best(
        self,
        observation: Any,
        legal: Sequence[int] | None,
        values: dict[int, float] | None = None,
    ) -> tuple[Array | None, int, float]:
        """Return the board after the best move, the move, and its reward plus value."""
        rows = tuple(tuple(int(tile) for tile in row) for row in observation)
        after = after_moves(rows)
        best, chosen, worth = None, -1, 0.0
        if legal is None:
            legal = [move for move, (board, _) in enumerate(after) if board != rows]
        for move in legal:
            board, reward = after[move]
            tiles = np.array(board, np.int64).ravel()
            found = reward + self._value(tiles)
            if values is not None:
                values[move] = found
            if best is None or found > worth:
                best, chosen, worth = tiles, move, found
        return best, chosen, worth

    def end(self, end: End) -> None:
        if end.mode != "learn" or end.interrupted or end.memory.tiles is None:
            return
        worth = end.reward
        if end.reason == "truncated" and end.observation is not None:
            worth += self._best(end.observation, None)[2]
        self._learn(end.memory.tiles, worth)
        self.episodes += 1

    def _learn(self, last: Array | None, target: float) -> None:
        if last is None:
            return
        network = self.network
        error = target - self._value(last)
        step = self.parameters.learning_rate * error / len(network.tables)
        kernels.update(last, network.places, network.tables, network.exponents, self.weights, step)

    def save(self) -> bytes:
        """Return tables and counters."""
        weights = None if self.shape is None else self.weights
        return dump(self.parameters, self.shape, weights, self.episodes)

    def load(self, state: bytes) -> None:
        """Become the agent that was saved: its parameters take the place of this one's."""
        self.parameters, self.shape, network, weights, self.episodes = parse(state)
        if network is not None and weights is not None:
            self.network, self.weights = network, weights
