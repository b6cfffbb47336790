"""Skill of players in hard positions, as the share of positions whose exact value they keep.

Nearly every player beats random opponents. Positions in which some moves keep the value and others
do not tell players apart. Connect Four, Amazons, and dots and boxes have exact values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from msgspec import Struct, convert, structs

from dovetail.client.client import Experiment
from dovetail.peer.environments.environment import Environment, Spec, Turn, sole_action
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.reports.exact import (
    Values,
    amazons_values,
    connect_four_values,
    dots_values,
    uneven,
)
from dovetail_games import amazons, connect_four, dots
from dovetail_studies.playing import DERIVATION

PLIES = (14, 34)
"""Minimum and maximum number of discs on the board of Connect Four."""
FREE = (6, 10)
"""Minimum and maximum number of free squares in Amazons."""
LINES = (4, 8)
"""Minimum and maximum number of free lines in dots and boxes."""

Hard = tuple[list[int], Values]
"""Actions of a random game that ends in a hard position, and the values of the actions there."""


@lru_cache(maxsize=4096)
def hard(seed: int, configuration: Any = None) -> Hard:
    """Return a hard position of Connect Four.

    Raises:
        DovetailError: the board is not 6 x 7 with four in a row, the only one searched.
    """
    if configuration not in (None, connect_four.Configuration()):
        raise DovetailError(
            "hard positions of Connect Four are those of 6 rows and 7 columns with four in a "
            "row; leave out the options"
        )
    rng = random.Random(seed)
    while True:
        board, played = connect_four.ConnectFourBoard(), []
        for _ in range(rng.randint(*PLIES)):
            if board.over:
                break
            played.append(rng.choice(board.legal()))
            board.drop(played[-1])
        if (values := connect_four_values(board)) and uneven(values):
            return played, values


@lru_cache(maxsize=4096)
def hard_amazons(seed: int, configuration: amazons.Configuration) -> Hard:
    """Return a hard position of Amazons, with few free squares."""
    rng = random.Random(seed)
    start = amazons.start_position(configuration.rows, configuration.columns)
    while True:
        board, played = amazons.AmazonsBoard(start), []
        free = rng.randint(*FREE)
        while not board.over and (board.squares == 0).sum() > free:
            played.append(rng.choice(board.legal()))
            board.play(played[-1])
        if (values := amazons_values(board)) and uneven(values):
            return played, values


@lru_cache(maxsize=4096)
def hard_dots(seed: int, configuration: dots.Configuration) -> Hard:
    """Return a hard position of dots and boxes, with few free lines."""
    rng = random.Random(seed)
    while True:
        board, played = dots.DotsBoard(configuration.rows, configuration.columns), []
        left = rng.randint(*LINES)
        while len(board.free) > left:
            played.append(rng.choice(board.free))
            board.draw(played[-1])
        if (values := dots_values(board)) and uneven(values):
            return played, values


class Keep(Environment):
    """A single decision in a hard position of a game.

    The side to move wins the episode if its action keeps the value of the position. Its reward is
    the value that it loses, negated and divided by ``most``.
    """

    game: ClassVar[type[Environment]]
    hard: ClassVar[Callable[[int, Any], Hard]]
    most = 2
    """Maximum difference of values: from a win, 1, to a loss, -1."""

    def __init__(self, configuration: Any = None) -> None:
        super().__init__(configuration)
        self._game: Any = self.game(configuration)
        self._values: dict[int, int] = {}

    def init(self) -> Spec:
        spec: Spec = self._game.init()  # under the game's name, so that its players accept it
        return structs.replace(spec, reward_range=(-1.0, 0.0))

    def start(self, seed: int) -> Turn:
        turn: Turn = self._game.start(seed)
        played, self._values = type(self).hard(seed, self.configuration)
        for action in played:
            turn = self._game.step({self._game.board.mover: action})
        return turn

    def step(self, actions: Mapping[int, Any]) -> Turn:
        mover = self._game.board.mover
        action = sole_action(actions, mover, over=False)
        lost = max(self._values.values()) - self._values[action]
        rewards = [0.0, 0.0]
        rewards[mover] = -lost / self.most
        winner = 1 - mover if lost else mover
        return Turn.end(map(self._game.observation, (0, 1)), rewards, winners=[winner])

    def afterstates(self, seat: int) -> Any:
        return self._game.afterstates(seat)


class KeepValue(Keep):
    """Hard positions of Connect Four."""

    name = "connect_four_keep_value"
    seat_counts = (2,)
    Configuration = connect_four.Configuration
    game = connect_four.ConnectFour
    hard = staticmethod(hard)


class KeepAmazons(Keep):
    """Hard endgames of Amazons, with one action per move."""

    name = "amazons_keep_value"
    seat_counts = (2,)
    Configuration = amazons.Configuration
    game = amazons.Amazons
    hard = staticmethod(hard_amazons)


class KeepDots(Keep):
    """Hard endgames of dots and boxes."""

    name = "dots_keep_value"
    seat_counts = (2,)
    Configuration = dots.Configuration
    game = dots.Dots
    hard = staticmethod(hard_dots)


KEEPS: dict[str, type[Keep]] = {each.game.name: each for each in (KeepValue, KeepAmazons, KeepDots)}
"""Environment of hard positions for each game."""


class KeptValues(Struct):
    """A player's choices in hard positions."""

    positions: int
    kept: int
    """Number of positions in which the player kept the value."""
    lost: float
    """Mean loss per position."""
    chance: float
    """Share of positions in which a random choice keeps the value."""


def kept(
    experiment: Experiment,
    player: int,
    positions: int,
    seed: int,
    game: str = "connect_four",
    configuration: Mapping[str, Any] | None = None,
    kind: type[Keep] | None = None,
    unit: float = 1.0,
) -> KeptValues:
    """Ask a player, without learning, for its moves in hard positions.

    Args:
        experiment: the experiment that created the player and serves the game's class of ``KEEPS``.
        player: the player's instance number from ``create``.
        positions: the number of positions.
        seed: the seed of the positions, which are the same for all players.
        game: the game of the positions.
        configuration: the game's configuration.
        kind: a class to use in place of the game's.
        unit: the factor of losses; 1 counts points, where a draw is half a point.

    Raises:
        DovetailError: the player failed.
    """
    kind = kind or KEEPS[game]
    options = convert(dict(configuration or {}), kind.Configuration)
    right, lost, chance = 0, 0.0, 0.0
    run = experiment.run(
        kind.name,
        [player, player],
        episodes=positions,
        seed=seed,
        configuration=dict(configuration or {}),
        derivation=DERIVATION,
        modes=["evaluate"] * 2,
    )
    for episode in run:
        if episode.outcome is None:
            raise DovetailError(f"the player did not answer: {episode.reason}: {episode.message}")
        lost -= sum(seat.total for seat in episode.seats) * unit
        right += all(seat.total == 0.0 for seat in episode.seats)
        _, values = kind.hard(episode.seed, options)
        best = max(values.values())
        chance += sum(each == best for each in values.values()) / len(values)
    return KeptValues(positions, right, lost / positions, chance / positions)
