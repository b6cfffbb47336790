"""An n-tuple network that learns 2048 by TD(0) over afterstates (Szubert and Jaskowski 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.agent_servers.agent import Agent, Decision, End, Seat
from dovetail.agent_servers.games.game_2048 import kernels
from dovetail.agent_servers.games.game_2048.networks import Layout, layout
from dovetail.agent_servers.games.game_2048.saved import NTupleParameters, dump, parse
from dovetail.env_servers.game_2048.rules import after_moves
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Box

Array = NDArray[Any]


class NTuple2048(Agent):
    """2048: learns the value of boards after a slide, as a sum of tables over groups of squares.

    It plays the move with the largest reward plus value; ``V(s)`` moves towards ``r' + V(s')`` of the next
    decision's best move, and towards 0 at the end.  All chance is the game's, so it does not explore.
    ``python -m dovetail.agent_servers.games.game_2048 train`` trains it where the games run.
    """

    name = "ntuple-2048"
    Parameters = NTupleParameters
    parameters: NTupleParameters
    capacity = 1

    def __init__(self, parameters: NTupleParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.episodes = 0
        self.shape: tuple[int, int] | None = None
        self._last: dict[int, Array] = {}

    def init(self, seat: Seat) -> None:
        space = seat.spec.observation_spaces[0]
        if seat.spec.name != "2048" or not isinstance(space, Box) or len(space.shape) != 2:
            raise DovetailError(
                f"ntuple-2048 plays 2048 by exponents only, not {seat.spec.name} with {space}"
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
        rows = tuple(tuple(int(tile) for tile in row) for row in decision.observation)
        after = after_moves(rows)
        best, chosen, worth = None, -1, 0.0
        for move in decision.legal or ():
            board, reward = after[move]
            tiles = np.array(board, np.int64).ravel()
            found = reward + self._value(tiles)
            if best is None or found > worth:
                best, chosen, worth = tiles, move, found
        assert best is not None
        if decision.mode == "learn":
            self._learn(decision.episode, worth)
            self._last[decision.episode] = best
        return chosen

    def end(self, end: End) -> None:
        ended = end.reason in ("terminated", "truncated")
        if ended and end.mode == "learn" and end.episode in self._last:
            if end.reason == "terminated":
                self._learn(end.episode, end.reward)
            self.episodes += 1
        self._last.pop(end.episode, None)

    def _learn(self, episode: int, target: float) -> None:
        last = self._last.get(episode)
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
        self._last.clear()
