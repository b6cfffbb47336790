"""The player of the Amazons study as an agent."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Decision, End, Needs, Seat, Thoughts
from dovetail.peer.agents.sampling import pick
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedNatural, LimitedReal
from dovetail_agents.games.amazons import endgame
from dovetail_agents.games.amazons.position import (
    FEATURES,
    AmazonsGeometry,
    AmazonsPosition,
    AmazonsSearch,
    board_of,
)
from dovetail_agents.learning.linear_td import Considered, LinearTD, LinearTDParameters
from dovetail_agents.learning.options import Epsilon
from dovetail_agents.learning.step_size import StepSize
from dovetail_games.amazons.kernels import count_moves
from dovetail_games.amazons.rules import AmazonsBoard, start_position

Array = NDArray[Any]

WEIGHTS: dict[str, list[float]] = {
    "zeros": [0.0] * FEATURES,
    "ones": [1.0] * FEATURES,
    "mp": [5.0, -1.2, -4.5, 0.5, -4.0, 2.0, 3.0, -1.0, -7.0, 4.0, 1.5, -0.5],
    "mp-vs-mcmp": [
        *(-12.017, -273.423, -2.651, 17.907, -106.914, 71.908),
        *(3.418, -4.294, -181.415, 198.125, -16.121, -66.384),
    ],
    "ones-vs-abmp": [
        *(57.049, -72.989, -1.086, -3.502, -40.455, 138.272),
        *(3.321, -10.978, -159.730, 201.602, 13.319, -20.559),
    ],
    "mp-vs-random": [
        *(18.065, -42.819, -7.108, 14.267, 10.799, 66.463),
        *(-0.290, 0.550, -5.554, 97.551, 15.994, -2.409),
    ],
}
"""Initial weights of the study and of its tournament (section 4.4)."""
WON, DOMINATING = 100.0, 1e6


class AmazonsParameters(LinearTDParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``AmazonsPlayer``."""

    epsilon: Epsilon = 0.15
    weights: Annotated[
        Literal["zeros", "ones", "mp", "mp-vs-mcmp", "ones-vs-abmp", "mp-vs-random"]
        | list[LimitedReal],
        Meta(description="Initial weights: the study's by name, or twelve numbers."),
    ] = "ones-vs-abmp"
    depth: Annotated[int, Meta(ge=1, le=8, description="Plies to look ahead.")] = 2
    candidates: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="With rollouts: number of best moves to play out.",
        ),
    ] = 5
    rollouts: Annotated[
        bool,
        Meta(
            description="Play each of the best moves out by search on both sides, and choose at "
            "random among those that won (the study's Monte Carlo); else the best move is played."
        ),
    ] = True
    rollout_depth: Annotated[int, Meta(ge=1, le=4, description="Plies of search in rollouts.")] = 2
    mobility: Annotated[
        Literal["queen", "full"],
        Meta(description="Moves that count as mobility: queen moves, or with each arrow."),
    ] = "queen"
    terminal_dominates: Annotated[
        bool,
        Meta(description="Value a won game at a million instead of the study's 100."),
    ] = False
    halving: Annotated[
        LimitedNatural,
        Meta(description="Updates after which the step size is halved; 0 for never."),
    ] = 5000
    endgame: Annotated[
        int,
        Meta(
            ge=0,
            le=40,
            description="Solve positions with at most this many free squares, if 300,000 searched "
            "ones suffice; 12 are solved nearly always. 0: never.",
        ),
    ] = 0


class AmazonsPlayer(LinearTD[AmazonsParameters]):
    """Amazons: looks ahead by alpha-beta over twelve features, with the study's simulated rollouts
    and learned weights.

    The features are those of the study, section 4.2, for the searching player and the opponent:
    mobility, amazons in corners, with one free direction, unhindered, trapped, and one in each
    quadrant; all from 0 to 1. It plays the environment ``amazons`` with whole moves as actions, on
    any board.
    """

    name = "amazons-player"
    needs = Needs(game="amazons", seats=2, legal="list")

    def __init__(self, parameters: AmazonsParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._searches: dict[tuple[int, int], tuple[AmazonsGeometry, AmazonsSearch]] = {}
        self._endgames: dict[tuple[int, int], endgame.Endgame] = {}

    def first_weights(self) -> list[float]:
        given = self.parameters.weights
        found = WEIGHTS[given] if isinstance(given, str) else given
        if len(found) != FEATURES:
            raise DovetailError(
                f"agent amazons-player, option 'weights': {len(found)} weights; {FEATURES} are "
                "needed"
            )
        return found

    def init(self, seat: Seat) -> None:
        board_of(seat.spec, self.name)

    def _ready(self, rows: int, columns: int) -> tuple[AmazonsGeometry, AmazonsSearch]:
        found = self._searches.get((rows, columns))
        if found is None:
            given = self.parameters
            board = AmazonsBoard(start_position(rows, columns))
            full = given.mobility == "full"
            if full:
                most = int(count_moves(board.squares, rows, columns, 0))
            else:
                most = len(AmazonsBoard(start_position(rows, columns), 0, True).legal())
            won = DOMINATING if given.terminal_dominates else WON
            search = AmazonsSearch(self.weights, float(most), full, won)
            found = self._searches[rows, columns] = AmazonsGeometry(rows, columns), search
        return found

    def _position(self, planes: Any, seat: Seat) -> tuple[AmazonsPosition, AmazonsSearch]:
        geometry, search = self._ready(*board_of(seat.spec, self.name))
        return AmazonsPosition(planes, geometry), search

    def consider(self, decision: Decision, action: int | None, *, learn: bool) -> Considered:
        position, search = self._position(decision.observation, decision.seat)
        move = self._choose(decision, position, search) if action is None else position.move(action)
        chosen = position.action(move)
        if not learn:
            return Considered(chosen, np.empty(0), 0.0)
        depth = self.parameters.depth
        if self.parameters.target == "predicted":
            value, features = search.value(position)
            after = position.copy()
            after.play(move)
            _, line = search.line(after, 1, max(1, depth - 1))
            if not line:  # the opponent cannot move: the game is won
                return Considered(chosen, features, value, search.value(after, 1)[0])
            after.play(line[0], 1)
            return Considered(chosen, features, value, search.value(after)[0])
        if self.parameters.target == "actual":
            value, features = search.value(position)
            return Considered(chosen, features, value)
        worth, line = search.line(position, 0, depth)
        leaf = position.copy()
        for ply, each in enumerate(line):
            leaf.play(each, ply % 2)
        return Considered(chosen, search.value(leaf, len(line) % 2)[1], worth)

    def _choose(self, decision: Decision, position: AmazonsPosition, search: AmazonsSearch) -> int:
        given = self.parameters
        rng = decision.rng
        if given.endgame:
            solved = self._solved(decision, position, given.endgame)
            if solved is not None:
                return position.move(solved)
        if not given.rollouts:
            moves, values = search.root(position, given.depth)
            self._think(decision, position, moves, values)
            return int(pick(moves.tolist(), values.tolist(), rng))
        moves, values = search.root(position, given.depth, given.candidates)
        self._think(decision, position, moves, values)
        # Sort by value, with ties in random order.
        lots = np.array([rng.random() for _ in range(len(moves))])
        best = moves[np.lexsort((lots, -values))][: given.candidates].tolist()
        if len(best) == 1:
            return int(best[0])
        good = [
            move
            for move in best
            if search.wins(position, move, given.rollout_depth, rng.getrandbits(31))
        ]
        return int(rng.choice(good or best))

    def _solved(self, decision: Decision, position: AmazonsPosition, most: int) -> int | None:
        """Return a winning action, or any if all lose; None if the position is too hard."""
        rows, columns = position.geometry.rows, position.geometry.columns
        board = position.board.reshape(rows + 2, -1)[1:-1, 1:-1].ravel()
        if (board == 0).sum() > most:
            return None
        exact = self._endgames.get((rows, columns))
        if exact is None:
            exact = self._endgames[rows, columns] = endgame.Endgame(rows, columns)
        assert decision.legal is not None
        for action in decision.legal:
            position.move(action)  # checks it
        actions = decision.rng.sample(decision.legal, len(decision.legal))
        values = exact.values(board, 0, actions, enough=endgame.WON)
        if endgame.WON not in values and endgame.UNKNOWN in values:
            return None
        if decision.think:
            text = "solved: won" if values[-1] == endgame.WON else "solved: lost"
            decision.thoughts = Thoughts(text=text)
        return actions[len(values) - 1]

    def _think(
        self, decision: Decision, position: AmazonsPosition, moves: Array, values: Array
    ) -> None:
        if not decision.think:
            return
        assert decision.legal is not None
        found = {
            position.action(int(move)): float(value)
            for move, value in zip(moves, values, strict=True)
        }
        known = [found.get(action, math.nan) for action in decision.legal]
        text = f"depth {self.parameters.depth}; other values are bounds"
        decision.thoughts = Thoughts(known, text=text)

    def result(self, end: End) -> float:
        won = DOMINATING if self.parameters.terminal_dominates else WON
        return won if end.total > 0 else -won

    def beyond(self, end: End) -> float:
        position, search = self._position(end.observation, end.seat)
        return float(search.value(position)[0])

    def rate(self, features: Array) -> float:
        given = self.parameters
        return StepSize(given.learning_rate, halving=given.halving).at(self.updates)

    def load(self, state: bytes) -> None:
        super().load(state)
        self._searches.clear()
