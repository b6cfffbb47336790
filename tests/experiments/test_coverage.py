"""How often intervals hold what is true, and tests err: by simulation, and through a whole
tournament."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from scipy.optimize import brentq
from tests.experiments.other_intervals import bootstrap, performance

from dovetail import Agent, Decision, Environment, InProcess, Spec, Turn, spaces
from dovetail.protocol.seeds import derive
from dovetail_experiments.files import openings
from dovetail_experiments.statistics.censored import censored
from dovetail_experiments.statistics.estimates import mean, wilson
from dovetail_experiments.statistics.ranked import ranked
from dovetail_experiments.statistics.ratings import SCALE, fit, ratings
from dovetail_experiments.statistics.scores import (
    Sample,
    as_elo,
    elo,
    expected,
    interval,
    points,
)
from dovetail_experiments.statistics.sprt import Sprt
from dovetail_experiments.statistics.units import games, units

pytestmark = pytest.mark.slow

OPENINGS = 200.0
"""Standard deviation, in Elo, of what an opening is worth to the first seat."""
REPETITIONS = 400
ENOUGH = 368
"""The minimum of 400 intervals that hold, if the truth is 95 %."""


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


@pytest.mark.parametrize(("count", "least", "most"), [(5, 0.72, 0.9), (30, 0.89, 0.96)])
def test_the_interval_of_fastchess_holds_less_with_few_pairs(
    count: int, least: float, most: float
) -> None:
    """And Wilson's, over games, holds more than it says, since a pair's two games balance."""
    rng = np.random.default_rng(count)
    truth = true_score(100.0)
    held = games_held = 0
    for _ in range(REPETITIONS):
        scores = pairs(rng, 100.0, count)
        found = performance(Sample.observed(scores))
        held += found is not None and found.elo.low <= elo(truth) <= found.elo.high
        whole = wilson(round(2 * sum(scores)), 2 * count)
        games_held += whole.low <= truth <= whole.high
    assert least <= held / REPETITIONS <= most
    assert games_held >= 0.96 * REPETITIONS


def test_one_pair_played_thirty_times_is_no_sixty_games() -> None:
    rng = np.random.default_rng(1)
    truth = true_score(50.0)
    held = 0
    for _ in range(REPETITIONS):
        scores = pairs(rng, 50.0, 1)
        assert not interval(Sample.observed(scores)).known
        found = wilson(round(60 * scores[0]), 60)
        held += found.low <= truth <= found.high
    assert held < 0.65 * REPETITIONS  # where 95 of 100 are claimed


STRENGTHS = {"a": 150.0, "b": 50.0, "c": 0.0, "d": -50.0, "e": -150.0}


def chances() -> dict[tuple[str, str], float]:
    """Return the expected score of each pairing of five players."""
    return {
        (one, two): true_score(STRENGTHS[one] - STRENGTHS[two])
        for one, two in itertools.combinations(STRENGTHS, 2)
    }


def true_ratings() -> dict[str, float]:
    """Return the ratings that five players would have after very many games."""
    whole = {pair: Sample((0.0, 1.0), (1e6 * (1 - s), 1e6 * s), 5) for pair, s in chances().items()}
    return {name: each.value for name, each in ratings(list(STRENGTHS), whole).elo.items()}


def cup(rng: np.random.Generator, count: int) -> dict[tuple[str, str], list[float]]:
    """Return the scores of all pairings of five players, each of a number of pairs."""
    return {
        (one, two): pairs(rng, STRENGTHS[one] - STRENGTHS[two], count)
        for one, two in itertools.combinations(STRENGTHS, 2)
    }


@pytest.mark.parametrize("count", [5, 30])
def test_the_ratings_of_five_players_hold(count: int) -> None:
    rng = np.random.default_rng(count)
    truth = true_ratings()
    held = dict.fromkeys(truth, 0)
    for _ in range(REPETITIONS):
        found = ratings(
            list(truth), {pair: Sample.observed(each) for pair, each in cup(rng, count).items()}
        )
        for name, each in found.elo.items():
            held[name] += each.low <= truth[name] <= each.high
    assert sum(held.values()) >= ENOUGH * len(truth)


def test_ratings_from_repeated_pairs_would_not_hold() -> None:
    """Six pairs, each counted five times: 56 to 73 of 100 hold."""
    rng = np.random.default_rng(6)
    truth = true_ratings()
    held = 0
    for _ in range(100):
        found = ratings(
            list(truth), {pair: Sample.observed(each * 5) for pair, each in cup(rng, 6).items()}
        )
        held += sum(each.low <= truth[name] <= each.high for name, each in found.elo.items())
    assert 0.5 <= held / 500 <= 0.8


@pytest.mark.timeout(600)
def test_a_bootstrap_holds_if_its_cells_are_smoothed() -> None:
    """Of five pairs: 95.7 of 100, and 89.1 by percentiles of pairs drawn as they were."""
    rng = np.random.default_rng(5)
    truth = true_ratings()
    names = list(truth)
    index = {name: number for number, name in enumerate(names)}
    held = plain = 0
    for number in range(30):
        played = cup(rng, 5)
        samples = {pair: Sample.observed(each) for pair, each in played.items()}
        found = bootstrap(names, samples, number, repetitions=50)
        held += sum(each.low <= truth[name] <= each.high for name, each in found.items())
        draws = []
        for _ in range(50):
            table = np.zeros((5, 5))
            for (one, two), scores in played.items():
                scored = 2 * float(rng.choice(scores, 5).sum())
                table[index[one], index[two]] = scored
                table[index[two], index[one]] = 10 - scored
            draws.append(SCALE * fit(table))
        low, high = np.percentile(draws, [2.5, 97.5], axis=0)
        plain += sum(low[k] <= truth[name] <= high[k] for name, k in index.items())
    assert held >= 0.92 * 150
    assert 0.8 <= plain / 150 <= 0.93


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


Counted = Callable[[float, float], list[tuple[int, float]]]
"""From the scores of a pair's two games to the cells that grow, and by how much."""
LIMIT = 20.0
"""elo1 of the tests below; elo0 is 0."""


def as_pair(one: float, two: float) -> list[tuple[int, float]]:
    return [(2 * int(one + two), 1.0)]


def as_games(one: float, two: float) -> list[tuple[int, float]]:
    return [(2 * int(one), 1.0), (2 * int(two), 1.0)]


def as_four_pairs(one: float, two: float) -> list[tuple[int, float]]:
    return [(2 * int(one + two), 4.0)]


def decided(
    rng: np.random.Generator, test: Sprt, difference: float, cells: int, counted: Counted
) -> tuple[str, int, float]:
    """Return the verdict, the pairs that were played, and the score at the stop."""
    counts = [0.0] * cells
    played, won = 0, 0.0
    while True:
        for worth in rng.normal(0, OPENINGS, 16):
            one = float(rng.random() < expected(difference + worth))
            two = float(rng.random() < expected(difference - worth))
            played, won = played + 1, won + (one + two) / 2
            for cell, more in counted(one, two):
                counts[cell] += more
        verdict = test.verdict(test.llr(counts))
        if verdict != "continues":
            return verdict, played, won / played


def worth_of(true_elo: float) -> float:
    """Return the difference of two players whose pairs have the expected score of an Elo, openings
    included."""
    return float(brentq(lambda d: true_score(d) - expected(true_elo), -50, 100))


@pytest.mark.parametrize(("true_elo", "wrong"), [(0.0, "H1"), (LIMIT, "H0")])
def test_pairs_decide_sooner_than_games_and_repeated_pairs_err(true_elo: float, wrong: str) -> None:
    """Openings worth 200 Elo: pairs know that their two games balance, single games do not."""
    rng = np.random.default_rng(20 + int(true_elo))
    test = Sprt(0, LIMIT, model="logistic")
    difference = worth_of(true_elo)
    runs = 100
    errors, lengths = {}, {}
    for name, cells, counted in (("pairs", 5, as_pair), ("games", 3, as_games)):
        found = [decided(rng, test, difference, cells, counted) for _ in range(runs)]
        errors[name] = sum(verdict == wrong for verdict, _, _ in found)
        lengths[name] = sum(played for _, played, _ in found) / runs
    assert max(errors.values()) <= 11  # more has probability 0.4 % at 5 %
    assert lengths["games"] > 1.15 * lengths["pairs"]
    repeated = [decided(rng, test, difference, 5, as_four_pairs)[0] for _ in range(runs)]
    assert repeated.count(wrong) > 20  # about a third


def test_the_rating_at_the_stop_of_a_test_is_biased() -> None:
    """Between the hypotheses 0 and 30, a true 15 that wins shows 32 on average: tables say so."""
    rng = np.random.default_rng(15)
    test = Sprt(0, 30, model="logistic")
    difference = worth_of(15.0)
    found = [decided(rng, test, difference, 5, as_pair) for _ in range(150)]
    won = [elo(score) for verdict, _, score in found if verdict == "H1"]
    assert len(won) > 40
    assert 25 < sum(won) / len(won) < 40


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


def test_where_only_seats_differ_units_hold_and_games_are_too_careful() -> None:
    """Four seats, some better than others for all: rotations balance them."""
    rng = np.random.default_rng(4)
    bonus = rng.normal(0, 300, (REPETITIONS, 15, 4)) / SCALE
    held = {"units": 0, "games": 0}
    for each in bonus:
        # Player 0 sits in seat r of rotation r; the bonus belongs to the seat.
        strength = np.stack([np.roll(each, -turn, axis=1) for turn in range(4)], axis=1)
        scores = strength + rng.gumbel(0, 1, strength.shape)
        first = np.array([[points(list(game))[0] for game in unit] for unit in scores])
        for name, values in (("units", first.mean(1)), ("games", first.ravel())):
            found = mean([float(value) for value in values])
            held[name] += found.low <= 0.5 <= found.high
    assert held["units"] >= ENOUGH
    assert held["games"] >= held["units"]


def test_ratings_of_four_seats_hold_over_openings() -> None:
    rng = np.random.default_rng(7)
    names = "abcd"
    strengths = np.array([150.0, 50.0, -50.0, -150.0]) / SCALE

    def tournament(openings: int) -> list[list[dict[str, float]]]:
        units = []
        for bonus in rng.normal(0, 200 / SCALE, (openings, 4)):
            unit = []
            for turn in range(4):
                scores = strengths + np.roll(bonus, -turn) + rng.gumbel(0, 1, 4)
                places = (-scores).argsort().argsort() + 1.0
                unit.append(dict(zip(names, map(float, places), strict=True)))
            units.append(unit)
        return units

    # The model's own ratings, which the openings pull together, from very many openings.
    whole = ranked(names, [[game for unit in tournament(4_000) for game in unit]], 0)
    truth = {name: each.value for name, each in whole.items()}
    held = 0
    for number in range(60):
        found = ranked(names, tournament(15), number, repetitions=100)
        held += sum(each.low <= truth[name] <= each.high for name, each in found.items())
    assert held >= 0.92 * 240


# -- through the broker ----------------------------------------------------------------------------

BONUS = 120.0
"""Elo between the two players."""


class Move(Struct, frozen=True):
    """The action that an agent always plays."""

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


class Known(Environment[World]):
    """Four plies decide what the opening is worth to seat 0, then each seat plays its strength, 0
    or 1."""

    name = "known"

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
            rated = as_elo(interval(Sample.observed(pair.points[0] for pair in found.units)))
            held += rated.low <= truth <= rated.high
            without += not rated.known
    assert without == 0
    assert held >= ENOUGH
