"""A plain implementation of the study's learner and self-play, as a reference for compiled
games."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail_agents.learning.splitmix import draw, fraction
from dovetail_games.rlgame import RLGameBoard
from dovetail_games.rlgame.kernels import encode
from dovetail_studies.rlgame.play import CAP, LearningPair
from dovetail_studies.rlgame.profiles import LAYERS, Profile

Array = NDArray[Any]
BIAS = 0.5


class PlainLearner:
    """A network with traces, as the study describes it."""

    def __init__(self, first: Array, second: Array, profile: Profile) -> None:
        self.first, self.second, self.profile = first.copy(), second.copy(), profile
        self.inputs, self.units = first.shape[0] - 1, first.shape[1]
        self.start()

    def start(self) -> None:
        """Start a game."""
        self.first_trace = np.zeros_like(self.first)
        self.second_trace = np.zeros_like(self.second)
        self.last = 0.0

    def forward(self, row: Array) -> tuple[float, Array]:
        """Return the value of inputs, and the hidden units."""
        hidden = 1 / (1 + np.exp(-(np.append(row, BIAS) @ self.first)))
        return float(1 / (1 + np.exp(-(np.append(hidden, BIAS) @ self.second)))), hidden

    def _toward(self, error: float) -> None:
        given = self.profile
        self.first += (given.rate or 1 / self.inputs) * error * self.first_trace
        self.second += (given.rate or 1 / self.units) * error * self.second_trace

    def moved(self, row: Array, reward: float, *, explored: bool, final: bool) -> None:
        """Learn from the position after the player's own move."""
        given = self.profile
        value, _ = self.forward(row)
        if explored:
            last = value + (reward if given.kept else 0.0)
            self.start()
            self.last = last
            return
        self._toward(reward + given.gamma * (given.terminal if final else value) - self.last)
        value, hidden = self.forward(row)
        self.last = given.terminal if final else value
        slope = value * (1 - value)
        beneath = slope * self.second[:-1] * hidden * (1 - hidden)
        decay = given.trace_decay * (given.gamma if given.discounted else 1)
        for trace, gradient in (
            (self.first_trace, np.outer(np.append(row, BIAS), beneath)),
            (self.second_trace, slope * np.append(hidden, BIAS)),
        ):
            trace *= decay
            if given.traces == "replacing":
                trace[gradient != 0] = gradient[gradient != 0]
            else:
                trace += gradient

    def told(self, reward: float) -> None:
        """Learn that the other's move ended the game."""
        self._toward(reward + self.profile.gamma * self.profile.terminal - self.last)


def seen(board: RLGameBoard) -> Array:
    """Return the study's inputs, White's first."""
    shape = board.geometry
    row = np.zeros(2 * (shape.outside + 5), np.uint8)
    encode(board.pawns, board.cells, shape.slots[0], 0, row)
    return row.astype(float)


def self_play(pair: LearningPair, games: int, profile: Profile, cap: int = CAP) -> list[list[int]]:
    """Play as ``LearningPair.play`` does, without modifying the pair.

    The weights and random numbers are the same.

    Returns:
        The actions of each game.
    """
    assert pair.game != "connect-four"
    assert len(LAYERS[pair.game]) == 2
    learners = [PlainLearner(pair.nets.first[n], pair.nets.second[n], profile) for n in (0, 1)]
    state = pair.state.copy()
    found = []
    for _ in range(games):
        board = RLGameBoard(int(pair.game[-1]))
        for each in learners:
            each.start()
        actions: list[int] = []
        while not board.over and len(actions) < cap:
            mover, legal = board.mover, board.legal()
            after = [board.copy() for _ in legal]
            for there, action in zip(after, legal, strict=True):
                there.play(action)
            rewards = [_reward(there, mover, profile) for there in after]
            rows = [seen(there) for there in after]
            explored = fraction(state) < profile.epsilon
            if explored:
                chosen = draw(state, len(legal))
            else:
                values = [
                    learners[mover].forward(row)[0] + reward
                    for row, reward in zip(rows, rewards, strict=True)
                ]
                chosen = _best(values, state)
            board = after[chosen]
            actions.append(legal[chosen])
            learners[mover].moved(
                rows[chosen], rewards[chosen], explored=explored, final=board.over
            )
            if board.over and profile.told:
                learners[1 - mover].told(-rewards[chosen])
        found.append(actions)
    return found


def _reward(board: RLGameBoard, mover: int, profile: Profile) -> float:
    if board.winner is not None:
        return profile.win if board.winner == mover else -profile.win
    lead = board.alive(mover) - board.alive(1 - mover)
    return float(profile.step * lead / board.pawns.shape[1])


def _best(values: list[float], state: Array) -> int:
    chosen, equal = 0, 1
    for place in range(1, len(values)):
        if values[place] > values[chosen]:
            chosen, equal = place, 1
        elif values[place] == values[chosen]:
            equal += 1
            if draw(state, equal) == 0:
                chosen = place
    return chosen
