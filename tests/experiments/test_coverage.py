"""How often intervals hold what is true, and tests err: by simulation, and through a whole tournament."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from dovetail import Agent, Decision, Environment, InProcess, Spec, Turn, spaces
from dovetail.experiments import openings
from dovetail.experiments.statistics.censored import censored
from dovetail.experiments.statistics.estimates import mean
from dovetail.experiments.statistics.ratings import SCALE, ratings
from dovetail.experiments.statistics.scores import (
    Sample,
    as_elo,
    at_any_time,
    elo,
    expected,
    interval,
    points,
)
from dovetail.experiments.statistics.sprt import Sprt
from dovetail.experiments.statistics.units import games, units
from dovetail.protocol.seeds import derive

pytestmark = pytest.mark.slow

OPENINGS = 200.0
"""Standard deviation, in Elo, of what an opening is worth to the first seat."""
REPETITIONS = 400
ENOUGH = 368
"""So many of 400 at least hold, if the truth is 95 %."""


def true_score(difference: float) -> float:
    """Return the expected score of a pair, over all openings."""
    levels = (np.arange(2000) + 0.5) / 2000
    worth = np.array([NormalDist(0, OPENINGS).inv_cdf(float(level)) for level in levels])
    return float(
        np.mean([(expected(difference + w) + expected(difference - w)) / 2 for w in worth])
    )


def pairs(rng: np.random.Generator, difference: float, count: int) -> list[float]:
    """Return the scores of the stronger player in pairs of games."""
    worth = rng.normal(0, OPENINGS, count)
    first = rng.random(count) < 1 / (1 + 10 ** (-(difference + worth) / 400))
    second = rng.random(count) < 1 / (1 + 10 ** (-(difference - worth) / 400))
    return [float(each) for each in (first.astype(float) + second) / 2]


@pytest.mark.parametrize("count", [5, 10, 30, 100])
@pytest.mark.parametrize("difference", [0.0, 100.0, 300.0])
def test_the_interval_of_two_players_holds(count: int, difference: float) -> None:
    rng = np.random.default_rng(count)
    truth = true_score(difference)
    held = 0
    for _ in range(REPETITIONS):
        found = interval(Sample.observed(pairs(rng, difference, count)))
        held += found.low <= truth <= found.high
    assert held >= ENOUGH


@pytest.mark.parametrize("count", [5, 30])
def test_the_ratings_of_five_players_hold(count: int) -> None:
    rng = np.random.default_rng(count)
    strengths = {"a": 150.0, "b": 50.0, "c": 0.0, "d": -50.0, "e": -150.0}
    names = list(strengths)
    scores = {
        (one, two): true_score(strengths[one] - strengths[two])
        for k, one in enumerate(names)
        for two in names[k + 1 :]
    }
    whole = {pair: Sample((0.0, 1.0), (1e6 * (1 - s), 1e6 * s), 5) for pair, s in scores.items()}
    truth = ratings(names, whole)
    held = dict.fromkeys(names, 0)
    for _ in range(REPETITIONS):
        found = ratings(
            names,
            {
                (one, two): Sample.observed(pairs(rng, strengths[one] - strengths[two], count))
                for one, two in scores
            },
        )
        for name in names:
            held[name] += found.elo[name].low <= truth.elo[name].value <= found.elo[name].high
    assert sum(held.values()) >= ENOUGH * len(names)


@pytest.mark.parametrize(("true_elo", "wrong"), [(0.0, "H1"), (20.0, "H0")])
def test_a_sequential_test_on_pairs_errs_as_rarely_as_it_says(true_elo: float, wrong: str) -> None:
    """Without openings' worth the logistic difference of a pair is the players'; 5 % may err."""
    rng = np.random.default_rng(int(true_elo))
    test = Sprt(0, 20, model="logistic")
    errors = 0
    runs = 200
    for _ in range(runs):
        cells = [0.0] * 5
        verdict = "continues"
        while verdict == "continues":
            chance = expected(true_elo)
            for wins in rng.binomial(2, chance, 16):
                cells[2 * int(wins)] += 1
            verdict = test.verdict(test.llr(cells))
        errors += verdict == wrong
    assert errors <= 19  # more has probability 0.2 % at 5 %


def test_repeated_pairs_would_not_hold() -> None:
    """Six openings, each played five times by deterministic players: thirty pairs are six."""
    rng = np.random.default_rng(1)
    truth = true_score(50.0)
    held = {6: 0, 30: 0}
    for _ in range(REPETITIONS):
        six = pairs(rng, 50.0, 6)
        for scores in (six, six * 5):
            found = interval(Sample.observed(scores))
            held[len(scores)] += found.low <= truth <= found.high
    assert held[6] >= ENOUGH
    assert held[30] < 300


def test_the_estimate_of_capped_values_holds_and_the_plain_mean_does_not() -> None:
    rng = np.random.default_rng(1)
    held = plain = fitted = 0
    for _ in range(REPETITIONS):
        lives = rng.exponential(400, 20)
        values = [float(each) for each in np.minimum(lives, 500)]
        found = censored(values, [each >= 500 for each in values], 500).mean
        naive = mean(values)
        plain += naive.low <= 400 <= naive.high
        if found is not None:
            fitted += 1
            held += found.low <= 400 <= found.high
    assert fitted > 350
    assert held >= 0.92 * fitted
    assert plain < 160


def test_an_interval_that_is_looked_at_often_holds_only_if_it_is_made_for_it() -> None:
    """After every ten of 500 pairs: the interval of a fixed number misses at some time in 28 of 100 cups."""
    rng = np.random.default_rng(2)
    truth = true_score(50.0)
    missed = {at_any_time: 0, interval: 0}
    for _ in range(200):
        scores = pairs(rng, 50.0, 500)
        for kind in missed:
            looks = (kind(Sample.observed(scores[:n])) for n in range(10, 501, 10))
            missed[kind] += any(not each.low <= truth <= each.high for each in looks)
    assert missed[at_any_time] <= 19
    assert missed[interval] > 30


def test_points_of_four_seats_are_counted_by_openings() -> None:
    """Some players suit some openings: fifteen openings of four rotations are not sixty games."""
    rng = np.random.default_rng(3)
    held = {"units": 0, "games": 0}
    for _ in range(REPETITIONS):
        suits = rng.normal(0, 300, (15, 4))
        strength = np.repeat(suits[:, None, :], 4, axis=1) / SCALE
        scores = strength + rng.gumbel(0, 1, strength.shape)
        first = np.array([[points(list(game))[0] for game in unit] for unit in scores])
        for name, values in (("units", first.mean(1)), ("games", first.ravel())):
            found = mean([float(each) for each in values])
            held[name] += found.low <= 0.5 <= found.high
    assert held["units"] >= ENOUGH
    assert held["games"] < 340


# -- through the broker -----------------------------------------------------------------------------

BONUS = 120.0
"""Elo between the two players."""


class Move(Struct, frozen=True):
    """What an agent always plays."""

    move: int = 0


class Steady(Agent[Move]):
    """Plays the same action always."""

    name = "steady"
    Parameters = Move

    def step(self, decision: Decision) -> int:
        return self.parameters.move


class World(Struct, frozen=True):
    """Another world for each number."""

    salt: int = 0


class Known(Environment):
    """Four plies decide what the opening is worth to seat 0, then each seat plays its strength, 0 or 1."""

    name = "known"
    Configuration = World

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[spaces.Discrete(2**20)],
            action_spaces=[spaces.Discrete(16)],
        )

    def start(self, seed: int) -> Turn:
        self.played: list[int] = []
        return self._turn()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.played += actions.values()
        if len(self.played) < 6:
            return self._turn()
        *opening, one, two = self.played
        names = (self.configuration.salt, *opening)
        worth = NormalDist(0, OPENINGS).inv_cdf(_share("worth", *names))
        chance = expected(BONUS * (one - two) + worth)
        won = _share("game", *names, one, two) < chance
        return Turn.end([0, 0], [1.0 if won else -1.0, -1.0 if won else 1.0], winners=[1 - won])

    def _turn(self) -> Turn:
        number = sum(16**k * (1 + each) for k, each in enumerate(self.played))
        return Turn.ask(len(self.played) % 2, number, list(range(16)))


def _share(*names: object) -> float:
    """Return a number above 0 and below 1 that follows from names."""
    return (derive(0, *map(str, names)) + 0.5) / 2**63


def test_a_cup_of_deterministic_players_holds_their_true_difference() -> None:
    """Two players of known strength, 400 cups of 20 pairs through broker, openings and units."""
    truth = elo(true_score(BONUS))
    held = without = 0
    with InProcess([Known], [Steady]) as experiment:
        strong = experiment.create("steady", parameters={"move": 1})
        weak = experiment.create("steady", parameters={"move": 0})
        for salt in range(REPETITIONS):
            world = {"salt": salt}
            book = openings.draw(
                *(experiment, "known", [strong, weak], world), plies=4, count=20, seed=salt
            )
            assert len(book.lines) == 20
            run = experiment.run(
                *("known", [strong, weak]),
                configuration=world,
                episodes=40,
                mode="evaluate",
                rotate=True,
                openings=book.lines,
                seeds=book.of(0, 40, 2),
            )
            found = units(games(run.wait(), 2, rotate=True), 2, rotate=True)
            assert (len(found.units), found.unpaired) == (20, 0)
            rated = as_elo(interval(found.sample()))
            held += rated.low <= truth <= rated.high
            without += not rated.known
    assert without == 0
    assert held >= ENOUGH
