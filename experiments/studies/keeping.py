"""How well a player of Connect Four keeps the value of hard positions, by exact values.

Random opponents lose to nearly every player; a position with moves that keep its value and moves
that do not tells players apart.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from dovetail.agent_servers.games.connect_four.solver import solver
from dovetail.env_servers.connect_four import Board, ConnectFour
from dovetail.env_servers.environment import Spec, Turn, sole_action
from dovetail.experiments.client import Experiment
from dovetail.protocol.errors import DovetailError

PLIES = (14, 34)
"""Discs on the board, least and most; earlier positions take seconds to solve."""


def hard(seed: int) -> tuple[list[int], dict[int, int]]:
    """Return the columns of a random game that end in a hard position, and its values by column."""
    rng = random.Random(seed)
    exact = solver(6, 7)
    while True:
        board, played = Board(), []
        for _ in range(rng.randint(*PLIES)):
            if board.over:
                break
            played.append(rng.choice(board.legal()))
            board.drop(played[-1])
        values = exact.values(board)
        if len(set(values.values())) > 1:
            return played, values


class KeepValue(ConnectFour):
    """A hard position of Connect Four and one decision in it.

    The side to move wins the episode if its column keeps the value of the position; its reward is
    what it loses, 0, -0.5 or -1, where a win is worth 1 point, a draw half a point and a loss none.
    """

    name = "connect_four_keep_value"

    def init(self) -> Spec:
        # Players of Connect Four must take it for theirs.
        return structs.replace(super().init(), name=ConnectFour.name, reward_range=(-1.0, 0.0))

    def start(self, seed: int) -> Turn:
        turn = super().start(seed)
        played, self._values = hard(seed)
        for column in played:
            turn = super().step({self.board.mover: column})
        return turn

    def step(self, actions: Mapping[int, Any]) -> Turn:
        mover = self.board.mover
        column = sole_action(actions, mover, over=False)
        lost = max(self._values.values()) - self._values[column]
        rewards = [0.0, 0.0]
        rewards[mover] = -lost / 2
        winner = 1 - mover if lost else mover
        return Turn.end(map(self.observation, (0, 1)), rewards, winners=[winner])


class Kept(Struct):
    """What a player did in hard positions."""

    positions: int
    kept: int
    """In how many it kept the value."""
    lost: float
    """Points lost in a position, on average."""
    chance: float
    """Share in which a random choice keeps the value."""


def kept(experiment: Experiment, player: int, positions: int, seed: int) -> Kept:
    """Ask a player for its moves in hard positions; it does not learn from them.

    Args:
        experiment: in which ``KeepValue`` is served and the player exists.
        player: what ``create`` returned.
        positions: how many; the same for all players with the same seed.
        seed: of the positions.

    Raises:
        DovetailError: the player failed.
    """
    right, lost, chance = 0, 0.0, 0.0
    run = experiment.run(
        KeepValue.name, [player, player], episodes=positions, seed=seed, modes=["evaluate"] * 2
    )
    for episode in run:
        if episode.outcome is None:
            raise DovetailError(f"the player did not answer: {episode.reason}: {episode.message}")
        played, values = hard(episode.seed)
        mover = len(played) & 1
        right += episode.outcome[mover] == 1.0
        lost -= episode.seats[mover].total
        best = max(values.values())
        chance += sum(each == best for each in values.values()) / len(values)
    return Kept(positions, right, lost / positions, chance / positions)
