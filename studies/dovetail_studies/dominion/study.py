"""Alternating training and tests, as in the Dominion study.

The random numbers of training game ``n`` depend only on the seed and ``n``, so a resumed training
gives the same results as an uninterrupted one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.dominion.q_learning import DominionQ, DominionQParameters
from dovetail_agents.learning.finaliser import mix
from dovetail_experiments.statistics import Estimate, wilson
from dovetail_games.dominion import Configuration
from dovetail_games.dominion.cards import CARDS
from dovetail_studies.dominion.compiled import PLAYERS, Compiled, play, rules

Array = NDArray[Any]

TRAINING, TESTING, AGAIN = range(3)
"""Streams of random numbers: training games, the tests after each, and later tests."""
PASSES = 10
"""Visits from which an entry counts as well explored."""


class MatchResult(Struct, frozen=True):
    """Results of a series of games."""

    games: int
    share: list[float]
    """Share of the wins by seat."""
    points: list[float]
    """Mean points by seat."""
    rounds: float
    """Mean number of turns of the seat with the most."""
    cards: list[list[float]]
    """Mean number of cards in the final deck, by seat and kind."""

    def won(self, seat: int) -> Estimate:
        """Return a seat's share of the wins with its 95 % interval."""
        return wilson(self.share[seat] * self.games, self.games)


class Point(Struct, frozen=True):
    """A test after some training games, with the size of the table."""

    trained: int
    won: float
    """Learner's share of the wins of the test."""
    explored: int
    """Number of entries ever visited."""
    passed: int
    """Number of entries visited ``PASSES`` times."""
    test: MatchResult


def result(sums: Array, games: int) -> MatchResult:
    """Return the sums of ``games.games`` as means."""
    mean = sums / games
    return MatchResult(
        games,
        mean[:, 0].tolist(),
        mean[:, 1].tolist(),
        float(mean[:, 2].max()),
        mean[:, 4:].tolist(),
    )


def table_of(
    players: int, kingdom: Sequence[str] = ("Smithy", "Chapel"), **options: Any
) -> Configuration:
    """Return the environment's options for a number of players and of kinds of kingdom cards."""
    return Configuration(
        players=players, kingdom=tuple(kingdom), kingdom_size=len(kingdom), **options
    )


def numbers(names: Sequence[str]) -> Array:
    """Return the players' numbers: int64, shape (seats,).

    Raises:
        DovetailError: a name is unknown.
    """
    for name in names:
        if name not in PLAYERS:
            raise DovetailError(f"there is no player {name!r}; there are {', '.join(PLAYERS)}")
    return np.array([PLAYERS[name] for name in names], np.int64)


def stream(seed: int, which: int) -> int:
    """Return the seed of one of a study's streams of random numbers."""
    return mix(seed * 4 + which) >> 1


def bots(configuration: Configuration, names: Sequence[str], games: int, seed: int) -> MatchResult:
    """Play scripted players against each other."""
    seats = numbers(names)
    return result(
        play(None, rules(configuration), seats, stream(seed, AGAIN), 0, games, False), games
    )


class TableTraining:
    """A learner, trained and tested against scripted players.

    Args:
        learner: the learner of the table.
        configuration: the game's configuration.
        opponents: the opponents by seat, omitting the learner.
        seed: the seed of the games.
        seat: the learner's seat; the last one if negative.
    """

    def __init__(
        self,
        learner: DominionQ,
        configuration: Configuration,
        opponents: Sequence[str],
        seed: int,
        seat: int = -1,
    ) -> None:
        self.learner, self.configuration, self.seed = learner, configuration, seed
        self.seat = seat if seat >= 0 else configuration.players - 1
        self.seats = self._seats(opponents, configuration.players)
        self.rules = rules(configuration)
        self.compiled = Compiled(learner)

    def _seats(self, opponents: Sequence[str], players: int) -> Array:
        if len(opponents) != players - 1:
            raise DovetailError(
                f"{len(opponents)} players are named, but {players - 1} others play"
            )
        names = list(opponents)
        names.insert(self.seat, "learner")
        return numbers(names)

    def train(self, games: int) -> MatchResult:
        """Learn from further games."""
        seed = stream(self.seed, TRAINING)
        sums = play(self.compiled, self.rules, self.seats, seed, self.learner.episodes, games, True)
        self.learner.episodes += games
        return result(sums, games)

    def test(
        self,
        games: int,
        opponents: Sequence[str] | None = None,
        configuration: Configuration | None = None,
        which: int = AGAIN,
        first: int = 0,
    ) -> MatchResult:
        """Play greedily without learning.

        Args:
            games: the number of games.
            opponents: the opponents; those of the training if None.
            configuration: the game's configuration; that of the training if None.
            which: the stream of random numbers.
            first: the number of the first game in the stream.
        """
        given, seats = self.rules, self.seats
        if configuration is not None:
            given = rules(configuration)
        if opponents is not None:
            seats = self._seats(opponents, given.players)
        seed = stream(self.seed, which)
        return result(play(self.compiled, given, seats, seed, first, games, False), games)

    def points(self, games: int, every: int, tests: int) -> Iterator[Point]:
        """Train and test in turn.

        Args:
            games: the total number of training games.
            every: training games before each test.
            tests: games per test.
        """
        while self.learner.episodes < games:
            self.train(min(every, games - self.learner.episodes))
            done = self.learner.episodes
            # A test's games depend on the training games so far, so that resuming does not change
            # them.
            found = self.test(tests, which=TESTING, first=-(-done // every) * tests)
            won = found.share[self.seat]
            counts = self.compiled.counts(1), self.compiled.counts(PASSES)
            yield Point(done, won, *counts, found)

    def save(self) -> bytes:
        """Return the state of a ``dominion-q`` with this table."""
        self.compiled.give()
        return self.learner.save()

    def keep(self) -> tuple[Array, Array, int]:
        """Return a copy of values and visits for ``put``."""
        width = self.learner.coder.actions
        tables = self.compiled.tables
        rows = int(tables.used[0]) if len(tables.slots) else len(tables.values) // width
        return (
            tables.values[: rows * width].copy(),
            tables.visits[: rows * width].copy(),
            self.learner.episodes,
        )

    def put(self, kept: tuple[Array, Array, int]) -> None:
        """Restore a table returned by ``keep``."""
        values, visits, self.learner.episodes = kept
        tables, width = self.compiled.tables, self.learner.coder.actions
        tables.values[: len(values)], tables.visits[: len(visits)] = values, visits
        if len(tables.slots):
            rows = len(values) // width
            tables.used[0] = rows
            tables.visits[rows * width :] = 0
            self.compiled.rehash()


def run(
    study: TableTraining,
    games: int,
    every: int,
    tests: int,
    told: Callable[[Point], None] = lambda point: None,
) -> list[Point]:
    """Train and test in turn, then restore the table with the best test; return all tests.

    Args:
        study: the training; ends with its best table.
        games: the total number of training games.
        every: training games before each test.
        tests: games per test.
        told: called with each test.
    """
    points: list[Point] = []
    kept: tuple[Array, Array, int] | None = None
    for point in study.points(games, every, tests):
        if kept is None or point.won > max(each.won for each in points):
            kept = study.keep()
        points.append(point)
        told(point)
    if kept is not None:
        study.put(kept)
    return points


# -- what a series of tests says -------------------------------------------------------------------


def first_good(points: Sequence[Point]) -> Point | None:
    """Return the first test above the mean of all later ones (L1056-1058)."""
    for number, point in enumerate(points[:-1]):
        later = [each.won for each in points[number + 1 :]]
        if point.won > math.fsum(later) / len(later):
            return point
    return None


def smoothed(won: Sequence[float], over: int = 5) -> list[float]:
    """Return the means of consecutive groups of tests (L1015-1017)."""
    return [
        math.fsum(won[at : at + over]) / len(won[at : at + over]) for at in range(0, len(won), over)
    ]


def area(points: Sequence[Point]) -> float:
    """Return the mean of all tests, a measure of how early a learner was good."""
    return math.fsum(point.won for point in points) / len(points)


# -- bounds ----------------------------------------------------------------------------------------


class Step(Struct, frozen=True):
    """A set of bounds and its result."""

    bounds: dict[str, int]
    states: int
    won: float
    """Win rate of the best table, tested again."""
    means: dict[str, float]
    """Mean of each part of a state in these tests."""


def tune(
    parameters: DominionQParameters,
    configuration: Configuration,
    opponents: Sequence[str],
    seed: int,
    games: int,
    every: int,
    tests: int,
    told: Callable[[Step], None] = lambda step: None,
) -> list[Step]:
    """Shrink the bounds one after another, each to its mean in the tests, rounded up (L1499-1501).

    The study goes from 14.0 to 14.5 in five steps whose order it does not print. Here the order is
    that of the state's parts, with the turn last.

    Args:
        parameters: the learner's parameters, whose bounds are the initial ones.
        configuration: the game's configuration.
        opponents: the opponents of the learner.
        seed: the seed of each step.
        games: the number of training games in each step.
        every: training games before each test.
        tests: games per test.
        told: called with each step.
    """
    names = list(DominionQ(parameters).coder.bounds)
    steps: list[Step] = []
    for name in (None, *names):
        if name is not None:
            least = 7 if name == "Copper" else 0
            bound = max(least, math.ceil(steps[-1].means[name]))
            bounds = steps[-1].bounds | {name: min(bound, steps[-1].bounds[name])}
            if bounds == steps[-1].bounds:
                steps.append(steps[-1])
                told(steps[-1])
                continue
            parameters = msgspec.structs.replace(parameters, bounds=bounds)
        study = TableTraining(DominionQ(parameters, seed), configuration, opponents, seed)
        run(study, games, every, tests)
        found = study.test(tests)
        cards = found.cards[study.seat]
        means = {card.name: cards[kind] for kind, card in enumerate(CARDS)}
        means["turn"] = found.rounds
        means["to end"] = float(study.learner.coder.bounds.get("to end", 0))
        step = Step(
            dict(study.learner.coder.bounds),
            study.learner.coder.states,
            found.share[study.seat],
            {each: means[each] for each in names},
        )
        steps.append(step)
        told(step)
    return steps
