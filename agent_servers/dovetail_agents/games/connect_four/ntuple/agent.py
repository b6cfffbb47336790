"""An n-tuple network that learns Connect Four by TD(lambda) over afterstates (Thill, Koch and Konen
2012)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Decision, End, Needs, Seat, Thoughts
from dovetail.peer.agents.sampling import best
from dovetail.peer.agents.vector import Ends, Rows, VectorAgent
from dovetail.peer.vector_random import Twisters
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Box
from dovetail_agents.games.connect_four.ntuple import kernels
from dovetail_agents.learning.checked import whole
from dovetail_agents.learning.draws import explore_rows
from dovetail_agents.learning.memory import room
from dovetail_agents.learning.options import Epsilon, LearnerOptions
from dovetail_agents.learning.saving import Counter, become, pack, unpack, wrong

Array = NDArray[Any]
MOST_SQUARES = 400
"""Maximum squares of a saved network's board, the same as the game's."""
LEAST_SHARE = 0.05
"""Smallest share of an error that a trace carries back."""


class NTupleConnectFourParameters(LearnerOptions, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``NTupleConnectFour``."""

    learning_rate: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Learning rate of a weight whose errors have all had the same sign so far.",
        ),
    ] = 0.05
    epsilon: Epsilon = 0.2
    tuples: Annotated[
        int, Meta(ge=1, le=100, description="Tables, each of which looks at some squares.")
    ] = 70
    length: Annotated[
        int, Meta(ge=1, le=8, description="Squares that a table looks at, drawn as a random walk.")
    ] = 8
    connect: Annotated[int, Meta(ge=2, le=20, description="Discs in a row that win.")] = 4
    trace: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Lambda: the share of an error that reaches the move before, in games that "
            "the agent plays in both seats.",
        ),
    ] = 0.0


class _Settings(Struct, forbid_unknown_fields=True):
    shape: list[Annotated[int, Meta(ge=1)]]
    """Rows and columns; empty before the first board."""
    steps: Counter


class Traces:
    """The latest moves of some games, whose values still learn from later errors; see
    ``kernels.LatestMoves``."""

    def __init__(self, games: int, decay: float, looks: int, squares: int) -> None:
        steps = 1
        while steps < squares and decay**steps >= LEAST_SHARE:
            steps += 1
        self.lengths: Array = np.zeros(games, np.int64)
        self.last: Array = np.full(games, -2)
        self.history = kernels.LatestMoves(
            float(decay),
            np.zeros((games, steps, looks), np.uint32),
            np.zeros((games, steps)),
            self.lengths,
            self.last,
        )

    def cut(self, games: Any) -> None:
        """Forget the moves so far because the next one is not the best."""
        self.lengths[games] = 0

    def close(self, games: Any) -> None:
        """Forget finished games."""
        self.last[games] = -2


class _Slots:
    """Traces for the games of a batch, and a generator for each seat."""

    def __init__(self, chance: Twisters, seats: int, traces: Traces) -> None:
        self.chance = chance
        self.seats = seats
        self.traces = traces


class NTupleConnectFour(VectorAgent[NTupleConnectFourParameters]):
    """Connect Four: learns the value of the position after a move, as a sum of tables.

    Each table reads some squares and also their mirror images.  The two sides have separate
    weights. The tanh of the sum is the value for the side that moved.  The agent plays the move
    with the highest value, with ties broken at random; while learning, a share ``epsilon`` of all
    moves is random.

    At each decision the value of the opponent's last move moves towards minus the value of the best
    reply, so that the moves of both seats are learned from.  Each weight has its own learning rate,
    which falls once its errors differ in sign (temporal coherence; Bagheri, Thill, Koch and Konen
    2016).  With ``trace`` the error also reaches earlier moves, back to the last one that was not
    the best.
    """

    name = "ntuple-connect-four"
    needs = Needs(game="connect_four", seats=2, legal="list")
    capacity = 0

    def __init__(
        self, parameters: NTupleConnectFourParameters | None = None, seed: int = 0
    ) -> None:
        super().__init__(parameters, seed)
        self.steps = 0
        """Decisions while learning, including those on the empty board, which teach nothing."""
        self.shape: tuple[int, int] | None = None
        """Rows and columns of the board; None before the first game."""
        self._games: dict[tuple[int, int], Traces] = {}
        """Traces by match and episode, shared by both seats."""

    def init(self, seat: Seat) -> None:
        space = seat.spec.observation_spaces[0]
        if not isinstance(space, Box) or len(space.shape) != 3 or space.shape[0] != 2:
            raise DovetailError(f"{self.name}: this is not the observation of connect_four")
        self._prepare((space.shape[1], space.shape[2]))

    def _prepare(self, shape: tuple[int, int]) -> None:
        if self.shape == shape:
            return
        if self.shape is not None:
            raise DovetailError(f"this {self.name} has learned boards of {self.shape}, not {shape}")
        given = self.parameters
        places, tables = looks(*shape, given.tuples, given.length, self.seed)
        length = places.shape[1]
        digits: Array = np.zeros((shape[0] * shape[1] + 1, len(tables)), np.int32)
        for at in range(length):
            digits[places[:, at], np.arange(len(tables))] = kernels.STATES ** (length - 1 - at)
        entries = kernels.STATES**length
        size = (2, given.tuples, entries)
        room(12 * math.prod(size), f"{self.name}: {given.tuples} tables of {entries:,} weights")
        self.weights: Array = np.zeros(size, np.float32)
        self.errors: Array = np.zeros(size, np.float32)
        self.sizes: Array = np.zeros(size, np.float32)
        self._network = kernels.LookTables(
            digits,
            (tables * entries).astype(np.uint32),
            self.weights.reshape(2, -1),
            self.errors.reshape(2, -1),
            self.sizes.reshape(2, -1),
            (entries - 1) // 3,
        )
        self.shape = shape
        self._none = self._traces(0)

    def step(self, decision: Decision) -> int:
        assert decision.legal is not None
        learning = decision.mode == "learn"
        boards = self._boards([decision.observation], 1)
        legal: Array = np.zeros((1, boards.shape[3]), bool)
        legal[0, decision.legal] = True
        traces = self._traces_of(decision.seat.match, decision.episode) if learning else None
        own = self._values(boards, legal, traces)[0][decision.legal].tolist()
        explore = learning and decision.rng.random() < self.parameters.epsilon
        chosen = best(own, decision.rng)
        if explore:
            chosen = decision.rng.randrange(len(own))
        if traces is not None and own[chosen] < max(own):
            traces.cut(0)
        if decision.think:
            decision.thoughts = Thoughts(own, text="explores" if explore else "")
        return decision.legal[chosen]

    def end(self, end: End) -> None:
        self._games.pop((end.seat.match, end.episode), None)

    def _traces_of(self, match: int, episode: int) -> Traces:
        """Return the traces of a game that is not part of a batch."""
        found = self._games.get((match, episode))
        if found is None:
            found = self._games[match, episode] = self._traces(1)
        return found

    def _traces(self, games: int) -> Traces:
        assert self.shape is not None
        squares = self.shape[0] * self.shape[1]
        return Traces(games, self.parameters.trace, len(self._network.tables), squares)

    def _boards(self, observations: Any, count: int) -> Array:
        assert self.shape is not None
        found = whole("boards", observations, (count, 2, *self.shape))
        return np.ascontiguousarray(found, np.uint8)

    def _values(
        self, boards: Array, legal: Array, traces: Traces | None, games: Array | None = None
    ) -> Array:
        """Return the values of the legal moves: float64, shape (boards, columns).

        Args:
            boards: the observations.
            legal: bool, shape (boards, columns).
            traces: the games' traces, to learn from them; None for no learning.
            games: the row of each board in ``traces``; None for the boards' own indices.
        """
        values: Array = np.empty(legal.shape)
        rate = 0.0 if traces is None else self.parameters.learning_rate
        if games is None:
            games = np.arange(len(boards))
        if traces is not None:
            self.steps += len(boards)
        shown = boards, legal, self.parameters.connect, rate
        history = (traces or self._none).history
        if not kernels.decide(*shown, self._network, values, games, history):
            raise DovetailError(
                f"{self.name}: the game shows a board that Connect Four does not have"
            )
        return values

    def play_itself(self, games: int, seed: int, shape: tuple[int, int] = (6, 7)) -> None:
        """Learn from games against itself, without a broker.

        Args:
            games: the number of games.
            seed: the seed of random moves.
            shape: rows and columns of the board.
        """
        self._prepare(shape)
        given, history = self.parameters, self._traces(1).history
        chance: Array = np.array([seed], np.uint64)
        rules = given.epsilon, given.connect, given.learning_rate
        self.steps += kernels.play(chance, games, *rules, self._network, history, shape)

    def open_group(self, seats: Mapping[int, Seat], slots: int) -> _Slots:
        count = next(iter(seats.values())).spec.seats
        return _Slots(Twisters(slots * count), count, self._traces(slots))

    def step_rows(self, rows: Rows, memory: _Slots) -> Array:
        """Choose actions and learn row by row, as ``step`` would."""
        assert rows.legal is not None
        which = rows.places(memory.seats)
        memory.chance.begin(which[rows.starts], rows.seeds)
        boards = self._boards(rows.observations, len(which))
        bits = np.unpackbits(rows.legal, axis=1, bitorder="little")
        legal = bits[:, : boards.shape[3]].astype(bool)
        if legal.shape[1] < boards.shape[3]:
            raise DovetailError(f"{self.name}: this game does not have a move for each column")
        learning = rows.mode == "learn"
        games = rows.slots.astype(np.int64)
        table = self._values(boards, legal, memory.traces if learning else None, games)
        values = table[legal]
        greedy, chosen = np.empty_like(which), np.empty_like(which)
        epsilon = self.parameters.epsilon if learning else -1.0
        drawn = memory.chance.states, greedy, chosen, np.empty(len(which), bool)
        explore_rows(which, legal.sum(axis=1), values, epsilon, *drawn)
        actions: Array = np.nonzero(legal)[1][chosen]
        if learning:
            memory.traces.cut(games[values[chosen] < table.max(axis=1)])
        return actions

    def end_rows(self, ends: Ends, memory: _Slots) -> None:
        memory.traces.close(ends.slots)

    def save(self) -> bytes:
        """Return all weights that have learned, and counters."""
        settings = _Settings(list(self.shape or ()), self.steps)
        arrays = {}
        if self.shape is not None:
            entries = np.flatnonzero(self.sizes)
            arrays["entries"] = entries.astype(np.uint32)
            for name in ("weights", "errors", "sizes"):
                arrays[name] = getattr(self, name).ravel()[entries]
        return pack(self.name, 1, self.parameters, self.seed, settings, arrays, compress=True)

    def load(self, state: bytes) -> None:
        """Restore a saved agent, including its parameters."""
        saved = unpack(self.name, state, 1, NTupleConnectFourParameters, _Settings, compress=True)
        found = saved.settings
        other = type(self)(saved.parameters, saved.seed)
        other.steps = found.steps
        if found.shape:
            if len(found.shape) != 2 or found.shape[0] * found.shape[1] > MOST_SQUARES:
                raise wrong(self.name, f"a board of {found.shape}")
            other._prepare((found.shape[0], found.shape[1]))
            entries = saved.array("entries", "<u4", (-1,), most=other.weights.size)
            if entries.size and entries.max() >= other.weights.size:
                raise wrong(self.name, f"an entry beyond the {other.weights.size} of its tables")
            for name in ("weights", "errors", "sizes"):
                getattr(other, name).ravel()[entries] = saved.array(name, "<f4", entries.shape)
        become(self, other)


def looks(rows: int, columns: int, tuples: int, length: int, seed: int) -> tuple[Array, Array]:
    """Return the squares that each look reads, and its table.

    Each table is used for a random walk over neighbouring squares (sideways, up or diagonal) and
    for the walk's mirror image.

    Args:
        rows, columns: the size of the board.
        tuples: the number of walks.
        length: the squares per walk; at most all of the board.
        seed: the seed of the walks.

    Returns:
        int64, shape (2 * tuples, length), and int64, shape (2 * tuples,).
    """
    rng = random.Random(seed)
    found = []
    for _ in range(tuples):
        row, column = rng.randrange(rows), rng.randrange(columns)
        walk = [(row, column)]
        while len(walk) < min(length, rows * columns):
            row = min(rows - 1, max(0, row + rng.randint(-1, 1)))
            column = min(columns - 1, max(0, column + rng.randint(-1, 1)))
            if (row, column) not in walk:
                walk.append((row, column))
        found.append([r * columns + c for r, c in walk])
    places: Array = np.array(found, np.int64)
    mirrored = places + columns - 1 - 2 * (places % columns)
    return np.concatenate([places, mirrored]), np.tile(np.arange(tuples), 2)
