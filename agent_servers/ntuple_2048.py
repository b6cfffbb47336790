"""An n-tuple network that learns 2048 by TD(0) over afterstates (Szubert and Jaskowski 2014)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numba import njit
from numpy.typing import NDArray

from dovetail.agent_servers.agent import Agent, Decision, End, Seat
from dovetail.env_servers.game_2048.rules import after_moves
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Box

EXPONENTS = 16
"""Larger tiles count as the largest."""

Array = NDArray[Any]


class NTupleParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``NTuple2048``."""

    learning_rate: Annotated[
        float,
        Meta(ge=0, le=2, description="Of the whole network; each table takes an equal part."),
    ] = 0.1


class _State(Struct, tag_field="agent", tag="dovetail.ntuple-2048", forbid_unknown_fields=True):
    version: Literal[1]
    parameters: NTupleParameters
    shape: list[int]
    weights: bytes
    episodes: int


def tuples(rows: int, columns: int) -> list[list[int]]:
    """Return the squares of each tuple: all lines of up to four, and all 2 x 2 blocks."""
    across = min(4, columns)
    down = min(4, rows)
    found = [
        [row * columns + start + i for i in range(across)]
        for row in range(rows)
        for start in range(columns - across + 1)
    ]
    found += [
        [(start + i) * columns + column for i in range(down)]
        for column in range(columns)
        for start in range(rows - down + 1)
    ]
    found += [
        [row * columns + column + i + j * columns for j in (0, 1) for i in (0, 1)]
        for row in range(rows - 1)
        for column in range(columns - 1)
    ]
    return found


@njit(cache=True)
def value(tiles: Array, places: Array, weights: Array) -> float:
    """Return the sum of the tables' entries for a board."""
    total = 0.0
    for number in range(places.shape[0]):
        total += weights[number, _entry(tiles, places[number])]
    return total


@njit(cache=True)
def _entry(tiles: Array, squares: Array) -> int:
    entry = 0
    for square in squares:
        if square >= 0:
            entry = entry * EXPONENTS + min(tiles[square], EXPONENTS - 1)
    return entry


@njit(cache=True)
def update(tiles: Array, places: Array, weights: Array, step: float) -> None:
    """Add a step to each table's entry for a board."""
    for number in range(places.shape[0]):
        weights[number, _entry(tiles, places[number])] += step


class NTuple2048(Agent):
    """2048: learns the value of boards after a slide, as a sum of tables over lines and blocks.

    It plays the move with the largest reward plus value; ``V(s)`` moves towards ``r' + V(s')`` of the next
    decision's best move, and towards 0 at the end.  All chance is the game's, so it does not explore.
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
        self.shape = shape
        found = tuples(*shape)
        self.places: Array = np.full((len(found), 4), -1, np.int64)
        for number, squares in enumerate(found):
            self.places[number, : len(squares)] = squares
        self.weights: Array = np.zeros((len(found), EXPONENTS**4), np.float32)

    def step(self, decision: Decision) -> int:
        rows = tuple(tuple(int(tile) for tile in row) for row in decision.observation)
        after = after_moves(rows)
        best, chosen, worth = None, -1, 0.0
        for move in decision.legal or ():
            board, reward = after[move]
            tiles = np.array(board, np.int64).ravel()
            found = reward + value(tiles, self.places, self.weights)
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
        if last is not None:
            error = target - value(last, self.places, self.weights)
            step = self.parameters.learning_rate * error / len(self.places)
            update(last, self.places, self.weights, step)

    def save(self) -> bytes:
        """Return tables and counters."""
        weights = b"" if self.shape is None else self.weights.astype("<f4").tobytes()
        shape = [] if self.shape is None else list(self.shape)
        return msgspec.msgpack.encode(_State(1, self.parameters, shape, weights, self.episodes))

    def load(self, state: bytes) -> None:
        """Become the agent that was saved."""
        try:
            found = msgspec.msgpack.decode(state, type=_State)
        except (msgspec.DecodeError, ValueError) as error:
            raise DovetailError(f"these bytes are not a saved ntuple-2048: {error}") from None
        self.parameters, self.episodes, self.shape = found.parameters, found.episodes, None
        if found.shape:
            self._prepare((found.shape[0], found.shape[1]))
            if len(found.weights) != 4 * self.weights.size:
                raise DovetailError("these bytes are not a saved ntuple-2048: wrong size of tables")
            self.weights[:] = np.frombuffer(found.weights, "<f4").reshape(self.weights.shape)
