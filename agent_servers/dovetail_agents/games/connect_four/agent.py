"""An agent that plays Connect Four perfectly."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.peer.agents.agent import Agent, Decision, Needs, Seat
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Box
from dovetail_agents.games.connect_four.solver import solver
from dovetail_agents.learning.checked import whole
from dovetail_games.connect_four.rules import ConnectFourBoard


class ConnectFourSolver(Agent):
    """Connect Four: plays perfectly on boards of up to 42 squares, with ties broken at random.

    It wins as soon and loses as late as possible.  It assumes that four in a row win.  (rows + 1) x
    columns may be at most 54, which excludes wide boards such as 3 x 14.
    """

    name = "connect-four-solver"
    needs = Needs(game="connect_four", seats=2, legal="list")
    capacity = 0

    def init(self, seat: Seat) -> None:
        space = seat.spec.observation_spaces[0]
        if not isinstance(space, Box) or len(space.shape) != 3 or space.shape[0] != 2:
            raise DovetailError("connect-four-solver: this is not the observation of connect_four")
        solver(*space.shape[1:])

    def step(self, decision: Decision) -> int:
        space = decision.seat.spec.observation_spaces[0]
        assert isinstance(space, Box)
        board = position(whole("boards", decision.observation, space.shape))
        return decision.rng.choice(solver(board.rows, board.columns).best(board))


def position(observation: Any) -> ConnectFourBoard:
    """Return the board from an observation of shape (2, rows, columns), own discs first.

    Raises:
        DovetailError: no game has this board.
    """
    planes = np.asarray(observation)
    own, other = planes.reshape(2, -1).sum(axis=1).tolist()
    discs = planes.sum(axis=0)
    if not 0 <= other - own <= 1 or discs.max() > 1 or (discs[1:] > discs[:-1]).any():
        raise DovetailError("the game shows a board that Connect Four does not have")
    return ConnectFourBoard.of(planes if own == other else planes[::-1], 4)
