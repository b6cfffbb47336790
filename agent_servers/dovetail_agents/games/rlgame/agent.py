"""RLGame's minimax player as an agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer import options
from dovetail.peer.agents.agent import Agent, Decision, Needs, Seat, Thoughts
from dovetail.peer.agents.sampling import pick
from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.rlgame import kernels
from dovetail_games.rlgame import RLGame, RLGameBoard
from dovetail_games.rlgame.rules import RLGameGeometry

Array = NDArray[Any]
MOST_UNSEEN = 6
"""Maximum plies between own decisions to reconstruct, which limits the length of openings."""
_NO_WEIGHTS = (np.zeros((1, 1)), np.zeros(1))
LEAVES = {
    "none": kernels.Leaf(kernels.NOTHING, *_NO_WEIGHTS, False),
    "pawns": kernels.Leaf(kernels.PAWNS, *_NO_WEIGHTS, False),
}
_WIN = 2.0
"""Larger than every difference in pawns."""


def geometry_of(shape: RLGameGeometry, ordered: bool, bases: bool) -> kernels.RLGameRules:
    """Return a board for the compiled search."""
    return kernels.RLGameRules(shape.steps, shape.exits, shape.slots[0], ordered, bases)


class RLGameMinimaxParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``RLGameMinimax``."""

    depth: Annotated[
        int, Meta(ge=1, le=20, description="Plies to look ahead; the study's is 5 on 6 x 6.")
    ] = 5
    evaluation: Annotated[
        Literal["none", "pawns"],
        Meta(description="Evaluation at the horizon: pawns, the difference in pawns."),
    ] = "pawns"
    prune: Annotated[bool, Meta(description="False: plain minimax.")] = True
    configuration: Annotated[
        dict[str, Any], Meta(description="The environment's options, as the run's.")
    ] = {}


class _Game(Struct):
    """Memory of an episode."""

    boards: list[RLGameBoard] = []
    """Positions after the agent's last move; several if moves that look alike differ in the pawns'
    numbers."""
    turn: int = 0
    """Turn of that move, plus one."""


class RLGameMinimax(Agent[RLGameMinimaxParameters]):
    """RLGame by alpha-beta over the compiled rules, with ties broken at random.

    An observation does not show the number of pawns in a base, nor the pawns' numbers, which
    determine the pawns lost for lack of a move.  So the player follows the game from its start, and
    deduces the other's moves from its observations.
    """

    name = "rlgame-minimax"
    needs = Needs(game="rlgame", seats=2, legal="list")
    capacity = 0
    Memory = _Game

    def __init__(self, parameters: RLGameMinimaxParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        given = options.read(
            RLGame.Configuration, self.parameters.configuration, "environment rlgame"
        )
        self._rules = RLGame(given)
        self._spec = self._rules.init()

    def init(self, seat: Seat) -> None:
        spec = seat.spec
        if (spec.observation_spaces, spec.action_spaces) != (
            self._spec.observation_spaces,
            self._spec.action_spaces,
        ):
            raise DovetailError(
                "rlgame-minimax: the board or the observations differ from its option "
                "configuration; set it to the environment's options"
            )

    def step(self, decision: Decision) -> int:
        legal, game = decision.legal, decision.memory
        assert legal is not None
        boards = self._follow(game, decision)
        board = boards[0]
        geometry = geometry_of(board.geometry, board.ordered, board.bases)
        nodes = np.zeros(1, np.int64)
        moves, values = kernels.search(
            board.mover,
            board.pawns,
            board.cells,
            self.parameters.depth,
            self.parameters.prune,
            _WIN,
            geometry,
            LEAVES[self.parameters.evaluation],
            nodes,
        )
        action: int = pick(moves.tolist(), values.tolist(), decision.rng)
        if decision.think:
            text = f"depth {self.parameters.depth}, {nodes[0]} positions; other values are bounds"
            decision.thoughts = Thoughts(values.tolist(), text=text)
        for each in boards:
            each.play(action)
        game.boards, game.turn = boards, decision.turn + 1
        return action

    def _follow(self, game: _Game, decision: Decision) -> list[RLGameBoard]:
        """Return the positions that are consistent with a decision."""
        seat, unseen = decision.seat.seat, decision.turn - game.turn
        found: dict[bytes, RLGameBoard] = {}
        for start in (game.boards or [self._first()]) if unseen <= MOST_UNSEEN else ():
            for board in _lines(start, unseen):
                if board.mover == seat and board.legal() == decision.legal:
                    self._rules.board = board
                    if np.array_equal(self._rules.observation(seat), decision.observation):
                        found[board.pawns.tobytes()] = board
        if not found:
            raise DovetailError(
                f"rlgame-minimax cannot tell how the position of turn {decision.turn} came about; "
                "set its option configuration to the environment's, and begin with at most "
                f"{MOST_UNSEEN} opening turns"
            )
        return list(found.values())

    def _first(self) -> RLGameBoard:
        self._rules.start(0)
        return self._rules.board


def _lines(board: RLGameBoard, plies: int) -> Iterator[RLGameBoard]:
    """Yield the positions after ``plies`` more plies, each as a copy."""
    if plies == 0:
        yield board.copy()
        return
    for action in board.legal():
        after = board.copy()
        after.play(action)
        yield from _lines(after, plies - 1)
