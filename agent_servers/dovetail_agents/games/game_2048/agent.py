"""An n-tuple network that learns 2048 by TD(0) over afterstates (Szubert and Jaskowski 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Decision, End, Needs, Seat, Thoughts
from dovetail.peer.agents.vector import Ends, Rows, VectorAgent
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Mode
from dovetail.protocol.spaces import Box
from dovetail_agents.games.game_2048 import kernels
from dovetail_agents.games.game_2048.saved import NTupleParameters, dump, parse
from dovetail_agents.learning.checked import whole

Array = NDArray[Any]
LARGEST = 60
"""Highest exponent of a tile."""


class _Pending(Struct):
    """A seat's episode: the board after its last slide, whose value is updated next."""

    tiles: Array | None = None


class _Slots:
    """The boards of a batch's games."""

    def __init__(self, slots: int, squares: int) -> None:
        self.last: Array = np.zeros((slots, squares), np.int64)
        self.waiting: Array = np.zeros(slots, bool)


class NTuple2048(VectorAgent[NTupleParameters]):
    """2048: learns from its games which boards are good after a slide, as a sum of tables over
    groups of squares; weak until it is trained.

    It plays the move with the largest reward plus value; ``V(s)`` moves towards ``r' + V(s')`` of
    the next decision's best move, and towards 0 at the end. The game itself is random, so the agent
    does not explore. When it is not learning, expectimax looks ``plies`` slides ahead. ``dovetail
    train 2048 train`` trains it inside compiled games.
    """

    name = "ntuple-2048"
    Memory = _Pending
    needs = Needs(game="2048", legal="list")
    capacity = 0

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
        self.network = self.parameters.layout(*shape)
        self.weights: Array = self.network.zeros()
        self.shape = shape

    @property
    def _board(self) -> tuple[int, int, kernels.NTupleNetwork]:
        """Board and network, as arguments for the kernels."""
        assert self.shape is not None
        return *self.shape, self.network.of(self.weights)

    @property
    def _squares(self) -> int:
        assert self.shape is not None
        return self.shape[0] * self.shape[1]

    def step(self, decision: Decision) -> int:
        legal = sum(1 << move for move in range(4) if move in (decision.legal or ()))
        plies = self._plies(decision.mode)
        best, chosen, values = self._best(decision.observation, legal, plies)
        if chosen < 0:
            raise DovetailError(f"none of the legal moves {decision.legal} changes the board")
        if decision.think:
            decision.thoughts = Thoughts(values[~np.isnan(values)].tolist())
        if decision.mode == "learn":
            self._learn(decision.memory.tiles, values[chosen])
            decision.memory.tiles = best
        return chosen

    def _plies(self, mode: Mode) -> int:
        return 1 if mode == "learn" else self.parameters.plies

    def _best(self, observation: Any, legal: int, plies: int) -> tuple[Array, int, Array]:
        """Return the board after the best legal move, the move, and all moves' values; see
        ``kernels.best_move``."""
        assert self.shape is not None
        tiles = whole("boards", observation, self.shape, LARGEST).astype(np.int64).ravel()
        best, values = np.empty_like(tiles), np.empty(4)
        chosen = kernels.best_move(tiles, legal, *self._board, plies, best, values)
        return best, int(chosen), values

    def end(self, end: End) -> None:
        if end.mode != "learn" or end.interrupted or end.memory.tiles is None:
            return
        cut = end.observation if end.reason == "truncated" else None
        self._finish(end.memory.tiles, end.reward, cut)

    def _finish(self, last: Array, worth: float, cut: Any) -> None:
        """Update the last board at the end of an episode, from its last reward; ``cut`` if it was
        truncated."""
        if cut is not None:
            _, chosen, values = self._best(cut, 15, 1)
            worth += values[chosen] if chosen >= 0 else 0.0
        self._learn(last, worth)
        self.episodes += 1

    def _learn(self, last: Array | None, target: float) -> None:
        if last is not None:
            kernels.learn(last, target, self.parameters.learning_rate, self._board[2])

    # -- many boards at once -----------------------------------------------------------------------

    def open_group(self, seats: Mapping[int, Seat], slots: int) -> _Slots:
        return _Slots(slots, self._squares)

    def step_rows(self, rows: Rows, memory: _Slots) -> Array:
        """Choose actions and learn row by row, as ``step`` would."""
        assert rows.legal is not None
        assert self.shape is not None
        shape = len(rows.slots), *self.shape
        seen = whole("boards", rows.observations, shape, LARGEST)
        memory.waiting[rows.slots[rows.starts]] = False
        boards = seen.astype(np.int64).reshape(-1, self._squares)
        actions: Array = np.empty(len(boards), np.int64)
        learning = rows.mode == "learn"
        rate, plies = self.parameters.learning_rate, self._plies(rows.mode)
        given = rows.slots, boards, rows.legal[:, 0], *self._board
        kept = memory.last, memory.waiting, actions
        kernels.decide(*given, plies, rate, learning, *kept)
        return actions

    def end_rows(self, ends: Ends, memory: _Slots) -> None:
        for row, slot in enumerate(ends.slots.tolist()):
            if ends.mode == "learn" and memory.waiting[slot] and not ends.interrupted(row):
                self._finish(memory.last[slot], float(ends.rewards[row]), ends.beyond(row))
            memory.waiting[slot] = False

    def save(self) -> bytes:
        """Return tables and counters."""
        weights = None if self.shape is None else self.weights
        return dump(self.parameters, self.shape, weights, self.episodes)

    def load(self, state: bytes) -> None:
        """Restore a saved agent, including its parameters except ``plies``."""
        found, self.shape, network, weights, self.episodes = parse(state)
        self.parameters = replace(found, plies=self.parameters.plies)
        if network is not None and weights is not None:
            self.network, self.weights = network, weights
