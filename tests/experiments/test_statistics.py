"""Figures by hand and from textbooks, and what must hold of all; worked numbers of every formula,
computed apart from it or by the program that it follows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.other_intervals import bootstrap, performance

from dovetail.protocol.messages import Episode, Reason, SeatResult
from dovetail_experiments.reports.table import outcome
from dovetail_experiments.statistics import (
    result_of,
    tally,
)
from dovetail_experiments.statistics.censored import censored, described
from dovetail_experiments.statistics.estimates import (
    Estimate,
    mean,
    paired,
    wilson,
)
from dovetail_experiments.statistics.ranked import Ranking, ladder, ranked
from dovetail_experiments.statistics.ratings import SCALE, Ratings, fit, ratings
from dovetail_experiments.statistics.scores import (
    Sample,
    as_elo,
    elo,
    interval,
    points,
    stratified,
    superiority,
)
from dovetail_experiments.statistics.sprt import Model, Sprt
from dovetail_experiments.statistics.units import distinct

pytestmark = pytest.mark.fast


def episode(index: int, outcome: list[float] | None, **fields: object) -> Episode:
    totals = [0.0, 0.0] if outcome is None else [2 * score - 1 for score in outcome]
    seats = [SeatResult("a", 1, totals[0], 4, 0.5), SeatResult("b", 2, totals[1], 3, 0.25, 1)]
    given: dict[str, object] = {"reason": "terminated", **fields}
    return Episode(1, index, index, 0, seats=seats, outcome=outcome, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_published_intervals(
    successes: int, trials: int, low: float, high: float
) -> None:
    found = wilson(successes, trials)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_and_stays_a_rate(counts: tuple[int, int]) -> None:
    found = wilson(*counts)
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1


def test_no_trials_say_nothing() -> None:
    found = wilson(0, 0)
    assert (found.low, found.high) == (0, 1)
    assert math.isnan(found.value)


def test_mean_by_hand() -> None:
    found = mean([1.0, 2.0, 3.0, 4.0])
    # variance 5/3, so the half width is t(0.975; 3) * sqrt(5 / 12)
    assert found.value == 2.5
    assert found.high - 2.5 == pytest.approx(3.1824463 * math.sqrt(5 / 12), abs=1e-6)
    assert math.isnan(mean([]).value)
    one = mean([3.0])
    assert one.value == 3.0
    assert not one.known


def test_a_single_return_is_shown_without_an_interval() -> None:
    reasons: tuple[Reason, ...] = ("terminated", "truncated")
    for reason in reasons:
        one = Episode(1, 0, 0, 0, reason, [SeatResult("a", 1, 3.0)])
        (alone,) = tally([one], ["a"])
        assert outcome(alone) == ("-", "3.000 (no interval)")


@pytest.mark.parametrize(
    ("outcome", "results"),
    [
        ([1.0, 0.0], ["win", "loss"]),
        ([0.5, 0.5], ["draw", "draw"]),
        ([0.5, 0.5, 0.0], ["draw", "draw", "loss"]),
        ([0.0, 1.0, 0.0], ["loss", "win", "loss"]),
    ],
)
def test_results_by_seat(outcome: list[float], results: list[str]) -> None:
    assert [result_of(outcome, seat) for seat in range(len(outcome))] == results


def test_tally_counts_what_counts() -> None:
    first, second = tally(
        [
            episode(0, [1.0, 0.0]),
            episode(1, [0.5, 0.5]),
            episode(2, [0.0, 1.0]),
            episode(3, [1.0, 0.0]),
            episode(4, None, reason="truncated"),
            episode(5, None, scored=False, will_retry=True, reason="crashed"),
        ],
        ["x", "y"],
    )
    assert (first.agent, first.seat, first.wins, first.draws, first.losses) == ("x", 0, 2, 1, 1)
    assert (second.wins, second.draws, second.losses) == (1, 1, 2)
    assert (first.games, first.decided, first.truncated) == (5, 4, 1)
    assert (first.decisions, first.seconds) == (20, 2.5)
    assert (second.breaches, second.interrupted) == (6, 1)  # in the game that was played again, too
    assert first.mean_return.value == pytest.approx(1 / 5)


def test_truncated_games_count_apart_or_as_draws() -> None:
    games = [episode(0, [1.0, 0.0]), episode(1, None, reason="truncated")]
    first, _ = tally(games, ["x", "y"])
    assert (first.wins, first.draws, first.truncated, first.decided) == (1, 0, 1, 1)
    first, second = tally(games, ["x", "y"], truncated="draw")
    assert (first.wins, first.draws, first.truncated, first.decided) == (1, 1, 0, 2)
    assert (second.draws, second.losses) == (1, 1)


def test_tally_follows_agents_that_rotate() -> None:
    found = tally([episode(0, [1.0, 0.0]), episode(1, [0.0, 1.0])], ["x", "y"], rotate=True)
    wins = {(each.agent, each.seat): each.wins for each in found}
    assert wins == {("x", 0): 1, ("x", 1): 1, ("y", 0): 0, ("y", 1): 0}


# -- two players: fastchess's own tests and what it printed ----------------------------------------


@pytest.mark.parametrize(
    ("counts", "score", "about", "error", "low", "high", "nelo", "nerror", "los"),
    [
        (
            *((96, 111, 136), 0.5583090, 40.702458, 30.427218, 10.586756, 71.441192),
            *(49.768415, 36.768451, 0.996010),
        ),
        (
            *((34, 54, 63, 64, 75), 0.5793103, 55.579780, 27.653430, 28.276160, 83.583019),
            *(57.935600, 28.275376, 0.999970),
        ),
        (
            *((1, 5, 30, 14, 4), 0.5694444, 48.568865, 38.105993, None, None),
            *(84.968150, 65.525525, 0.994481),
        ),
    ],
)
def test_elo_as_fastchess_prints_it(
    counts: tuple[float, ...],
    score: float,
    about: float,
    error: float,
    low: float | None,
    high: float | None,
    nelo: float,
    nerror: float,
    los: float,
) -> None:
    sample = Sample.of(counts)
    found = performance(sample)
    assert found is not None
    assert sample.score == pytest.approx(score, abs=5e-8)
    assert found.elo.value == pytest.approx(about, abs=1e-6)
    assert found.elo_error == pytest.approx(error, abs=1e-6)
    assert found.nelo.value == pytest.approx(nelo, abs=1e-6)
    assert found.nelo_error == pytest.approx(nerror, abs=1e-6)
    assert found.los == pytest.approx(los, abs=1e-6)
    if low is not None:
        assert (found.elo.low, found.elo.high) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0, 10), (10, 0, 0, 0, 0), (0, 0, 30, 0, 0)])
def test_where_fastchess_prints_inf_or_nan_there_is_nothing(counts: tuple[float, ...]) -> None:
    assert performance(Sample.of(counts)) is None


@pytest.mark.parametrize(
    ("counts", "low", "high", "least", "most"),
    [
        ((1, 5, 30, 14, 4), 0.5122828, 0.6240809, 8.5367, 88.0586),
        ((0, 0, 30, 0, 0), None, None, -16.4887, 16.4887),
        ((0, 0, 0, 0, 10), 0.8265290, 1.0, 271.2124, math.inf),
    ],
)
def test_the_interval_that_is_printed(
    counts: tuple[float, ...], low: float | None, high: float | None, least: float, most: float
) -> None:
    found = interval(Sample.of(counts))
    if low is not None:
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-8)
    rated = as_elo(found)
    assert (rated.low, rated.high) == pytest.approx((least, most), abs=5e-5)


def test_one_pair_has_no_interval() -> None:
    assert not interval(Sample.of((0, 0, 0, 1, 0))).known
    assert not as_elo(interval(Sample.of((0, 0, 0, 1, 0)))).known
    assert math.isnan(superiority(Sample.of((0, 0, 0, 1, 0))))


def test_parts_count_by_their_weight() -> None:
    from scipy import stats

    one, other = Sample.of((1, 5, 30, 14, 4)), Sample.of((0, 1, 1, 1, 1))
    alone, whole = stratified([(1.0, one)]), interval(one)
    assert (alone.low, alone.high) == pytest.approx((whole.low, whole.high))
    found = stratified([(0.25, one), (0.75, other)])
    assert found.value == pytest.approx(0.25 * one.score + 0.75 * other.score)
    variances = []
    for sample in (one, other):  # of the mean, from the smoothed cells
        cells = np.array(sample.counts) + 0.2
        variances.append(float(np.cov(sample.values, aweights=cells, ddof=0)) / (cells.sum() - 1))
    first, second = 0.25**2 * variances[0], 0.75**2 * variances[1]
    degrees = (first + second) ** 2 / (first**2 / 53 + second**2 / 3)
    half = stats.t.ppf(0.975, degrees) * math.sqrt(first + second)
    assert found.high - found.low == pytest.approx(2 * half, rel=1e-6)
    assert not stratified([(0.5, one), (0.5, Sample.of((0, 0, 1, 0, 0)))]).known


def test_elo_of_the_ends() -> None:
    assert (elo(0.0), elo(0.5), elo(1.0)) == (-math.inf, 0.0, math.inf)
    assert elo(0.75) == pytest.approx(190.848502)


def test_points_by_place_share_the_mean_of_tied_places() -> None:
    assert points([3.0, 1.0, 2.0, 0.0]) == [1.0, 1 / 3, 2 / 3, 0.0]
    assert points([1.0, 1.0, 1.0]) == [0.5, 0.5, 0.5]
    assert points([0.0, 1.0]) == [0.0, 1.0]


# -- the sequential test ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "model", "ours", "fastchess"),
    [
        ((36027, 68692, 36433), 0, 2, "normalised", 0.923293, 0.923293),
        ((21184, 40708, 21404), 0.5, 2.5, "logistic", -1.571889, -1.572032),
        ((365, 16618, 36229, 16974, 390), 0, 2, "normalised", 2.250368, 2.250368),
        ((223, 9863, 21279, 10037, 246), 0.5, 2.5, "logistic", -3.074126, -3.074423),
    ],
)
def test_log_likelihood_ratios(
    counts: tuple[float, ...],
    elo0: float,
    elo1: float,
    model: Model,
    ours: float,
    fastchess: float,
) -> None:
    found = Sprt(elo0, elo1, model=model).llr(counts)
    assert found == pytest.approx(ours, abs=1e-6)
    assert found == pytest.approx(fastchess, abs=2e-3)  # fastchess stops its roots at 1e-3


def test_bounds_and_verdicts() -> None:
    test = Sprt(0, 2)
    assert (test.lower, test.upper) == pytest.approx((-2.944439, 2.944439), abs=1e-6)
    assert [test.verdict(x) for x in (-3.0, 2.9, 2.95)] == ["H0", "continues", "H1"]
    assert test.llr([0, 0, 0, 0, 0]) == 0
    assert math.isfinite(test.llr([0, 0, 0, 0, 50]))


@pytest.mark.parametrize(
    "arguments", [(0, 250), (2, 0), (1, 1), (0, 2, 0.0), (0, 2, 0.05, 1.0), (0, 2, 0.6, 0.4)]
)
def test_what_makes_no_test_is_refused(arguments: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Sprt(*arguments)  # type: ignore[arg-type]


# -- many players ----------------------------------------------------------------------------------

POINTS = np.array(
    [
        [0, 7.5, 9, 10.5, 12],
        [4.5, 0, 7, 8, 10.5],
        [3, 5, 0, 6.5, 9.5],
        [1.5, 4, 5.5, 0, 7.5],
        [0, 1.5, 2.5, 4.5, 0],
    ]
)
PAIRS = {
    ("a", "b"): (0, 1, 2, 2, 1),
    ("a", "c"): (0, 0, 3, 1, 2),
    ("a", "d"): (0, 0, 1, 2, 3),
    ("a", "e"): (0, 0, 0, 1, 5),
    ("b", "c"): (1, 1, 2, 1, 1),
    ("b", "d"): (0, 1, 2, 2, 1),
    ("b", "e"): (0, 0, 2, 1, 3),
    ("c", "d"): (1, 0, 3, 1, 1),
    ("c", "e"): (0, 1, 1, 2, 2),
    ("d", "e"): (1, 0, 2, 2, 1),
}
MEETINGS = {pair: Sample.of(counts) for pair, counts in PAIRS.items()}


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (0.0, [222.1798, 83.3576, 0.5723, -75.2963, -230.8134]),
        (0.5, [208.3865, 78.5431, 0.4687, -71.0681, -216.3303]),
    ],
)
def test_ratings_are_those_of_choix_and_ordo(prior: float, expected: list[float]) -> None:
    import choix  # it imports scipy.stats

    found = SCALE * fit(POINTS, prior)
    assert list(found) == pytest.approx(expected, abs=1e-4)
    met = POINTS + POINTS.T > 0
    theirs = SCALE * choix.ilsr_pairwise_dense(POINTS + prior / 2 * met, alpha=0)
    assert list(found) == pytest.approx(list(theirs), abs=1e-4)


def test_intervals_are_those_of_the_sandwich_over_pairs() -> None:
    found = ratings("abcde", MEETINGS)
    expected = {
        "a": (175.350, 84.385),
        "b": (42.429, 74.380),
        "c": (5.583, 77.412),
        "d": (-62.074, 76.868),
        "e": (-161.287, 89.320),
    }
    for name, (middle, half) in expected.items():
        each = found.elo[name]
        assert (each.value, each.high - each.value) == pytest.approx((middle, half), abs=1e-3)
        assert each.value - each.low == pytest.approx(half, abs=1e-3)
    assert found.superiority("a", "b") == pytest.approx(0.98351, abs=1e-5)
    assert found.superiority("b", "a") == pytest.approx(1 - 0.98351, abs=1e-5)


def test_a_bootstrap_over_pairs_has_nearly_the_same_intervals() -> None:
    found = bootstrap("abcde", MEETINGS, seed=1, repetitions=200)
    sandwich = ratings("abcde", MEETINGS)
    for name, each in found.items():
        half = sandwich.elo[name].high - sandwich.elo[name].value
        # Student's t at five degrees of freedom is 2.571 where the sandwich has 1.960.
        assert (each.high - each.value) / half == pytest.approx(2.571 / 1.960, rel=0.2)


def test_a_player_who_won_everything_has_a_finite_rating_with_one_end() -> None:
    found = ratings("ab", {("a", "b"): Sample.of((0, 0, 0, 0, 5))})
    assert found.undefeated == {"a"}
    assert found.winless == {"b"}
    assert 0 < found.elo["a"].value < 1000
    with pytest.raises(ValueError, match="won or lost all games"):
        fit(np.array([[0.0, 5.0], [0.0, 0.0]]), prior=0)


def test_players_that_are_not_connected_are_rated_apart() -> None:
    sample = Sample.of((0, 1, 2, 2, 1))
    found = ratings("abcde", {("a", "b"): sample, ("c", "d"): sample})
    assert found.components == [["a", "b"], ["c", "d"], ["e"]]
    assert found.elo["a"].value + found.elo["b"].value == pytest.approx(0)
    assert found.elo["a"].value == pytest.approx(found.elo["c"].value)
    assert not found.elo["e"].known


def test_a_sparse_ladder_of_level_units_has_an_interval() -> None:
    level = {pair: Sample.of((0, 0, 2, 0, 0)) for pair in [("a", "b"), ("b", "c"), ("a", "c")]}
    found = ratings("abc", level, sparse=True)
    # The unit's mean square of 1/2 over three pairings, times 6/4 for the ratings: G = 1/4 L, H =
    # 9/8 L, L² = 3 L.
    half = 1.959964 * SCALE * math.sqrt(1 / 4 / 3 * (2 / 3)) / (9 / 8)
    for each in found.elo.values():
        assert each.value == pytest.approx(0)
        assert each.high - each.value == pytest.approx(half)


def test_a_variance_that_rounding_left_below_zero_is_zero() -> None:
    spread = np.array([[1.0, 1.0 + 1e-12], [1.0 + 1e-12, 1.0]])
    found = Ratings(
        ("a", "b"), {name: Estimate(0.0, -2.0, 2.0) for name in "ab"}, spread, [["a", "b"]]
    )
    assert found.around(["a"]) == {name: Estimate(0.0, 0.0, 0.0) for name in "ab"}
    found.covariance[:] = math.nan
    assert not found.around(["a"])["b"].known


# -- many seats ------------------------------------------------------------------------------------

PLACES = [
    "1234",
    "1324",
    "2134",
    "1224",
    "1243",
    "3124",
    "1134",
    "2314",
    "1233",
    "1423",
    "4213",
    "1234",
]
ORDERS = [dict(zip("abcd", map(int, places), strict=True)) for places in PLACES]


def plackett_luce(players: str, games: Sequence[Ranking], ghost: float = 1.0) -> dict[str, float]:
    """Return the ratings from games of a single unit, which gives no intervals."""
    return {name: each.value for name, each in ranked(players, [games], 0, ghost).items()}


@pytest.mark.parametrize(
    ("ghost", "expected"),
    [
        (0.0, [181.2036, 68.3113, -7.6699, -241.8451]),
        (1.0, [171.9318, 64.3795, -7.5519, -228.7594]),
    ],
)
def test_plackett_luce_with_ties(ghost: float, expected: list[float]) -> None:
    found = plackett_luce("abcd", ORDERS, ghost)
    assert list(found.values()) == pytest.approx(expected, abs=1e-4)


def test_plackett_luce_is_that_of_choix() -> None:
    """Each game twice; one with a tied pair once in either order."""
    import choix

    data = [
        tuple(sorted(range(4), key=lambda player: (order["abcd"[player]], swap * player)))
        for order in ORDERS
        for swap in (1, -1)
    ]
    theirs = SCALE * choix.ilsr_rankings(4, data, alpha=0)
    found = plackett_luce("abcd", ORDERS, 0.0)
    assert list(found.values()) == pytest.approx(list(theirs), abs=1e-3)


def test_many_ties_cost_no_more_than_some_orders() -> None:
    names = "abcdefghijkl"
    level: Ranking = dict.fromkeys(names, 1)
    assert list(plackett_luce(names, [level]).values()) == pytest.approx([0.0] * 12)
    halves: Ranking = {name: number // 5 for number, name in enumerate(names)}
    found = plackett_luce(names, [halves])
    assert plackett_luce(names, [halves]) == found
    assert [found[name] for name in names] == pytest.approx(
        [found["a"]] * 5 + [found["f"]] * 5 + [found["k"]] * 2, abs=10.0
    )
    assert found["a"] > found["f"] + 100 > found["k"] + 200


def test_ranked_players_have_intervals_over_units() -> None:
    found = ranked("abcd", [[order] for order in ORDERS], seed=1)
    assert found["a"].value == pytest.approx(171.9318, abs=1e-4)
    for each in found.values():
        assert each.low < each.value < each.high
    twice = ranked("abcd", [[order] for order in ORDERS], seed=1)
    assert twice == found
    assert not ranked("abcd", [ORDERS], seed=1)["a"].known
    for each in ranked("abcd", [[ORDERS[0]]] * 5, seed=1).values():  # they do not vary
        assert not each.known


def test_a_ladder_depends_on_the_order_of_games() -> None:
    forwards = [mu for mu, _ in ladder(ORDERS).values()]
    backwards = [mu for mu, _ in ladder(ORDERS[::-1]).values()]
    assert forwards == pytest.approx([33.945, 28.170, 25.883, 12.029], abs=1e-3)
    assert backwards == pytest.approx([37.194, 29.382, 24.512, 9.660], abs=1e-3)


# -- means, differences, rates ---------------------------------------------------------------------

X = [0.61, 0.72, 0.48, 0.90, 0.67]
Y = [0.50, 0.58, 0.45, 0.62, 0.55]


def test_student_where_values_are_few() -> None:
    found = mean(X)
    assert (found.low, found.high) == pytest.approx((0.4847273, 0.8672727), abs=5e-8)
    few = mean([1.0, 2.0])
    assert (few.low, few.high) == pytest.approx((-4.853102, 7.853102), abs=1e-6)


def test_a_paired_comparison() -> None:
    found = paired(X, Y)
    assert found.mean.value == pytest.approx(0.136)
    assert (found.t, found.p) == pytest.approx((3.352154, 0.0285117), abs=1e-6)
    assert (found.mean.low, found.mean.high) == pytest.approx((0.0233571, 0.2486429), abs=1e-7)
    assert found.wilcoxon == pytest.approx(0.0625)
    for shift in (0.0, 1.0):  # the t test has no scale
        equal = paired([1.0 + shift, 2.0 + shift], [1.0, 2.0])
        assert equal.mean.value == shift
        assert not equal.mean.known
        assert math.isnan(equal.t)
        assert math.isnan(equal.p)
    assert paired([1.0, 2.0], [1.0, 2.0]).wilcoxon == 1
    with pytest.raises(ValueError, match="same seeds"):
        paired([1.0], [2.0])


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_equal_values_have_no_interval(value: float) -> None:
    found = mean([value] * 12)
    assert found.value == value
    assert not found.known


def test_wilson_is_that_of_scipy() -> None:
    from scipy import stats

    found = wilson(90, 100)
    theirs = stats.binomtest(90, 100).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-7)
    assert (found.low, found.high) == pytest.approx((0.8256343, 0.9447709), abs=1e-7)


# -- capped values ---------------------------------------------------------------------------------

LIVES = [120.0, 340, 95, 500, 210, 500, 60, 415, 500, 280]
CUT = [life == 500 for life in LIVES]


def test_means_of_capped_values() -> None:
    found = censored(LIVES, CUT, 500)
    assert found.mean is not None
    assert (found.n, found.capped, found.limited, found.median) == (10, 3, 302.0, 280.0)
    assert found.mean.value == pytest.approx(431.4286, abs=1e-4)
    assert (found.mean.low, found.mean.high) == pytest.approx((223.0805, 1004.0613), abs=2e-4)
    assert found.weibull == pytest.approx(0.44, abs=0.005)


RETURNS = [3.0, 8, 0, 20, 5, 20, 1, 11, 20, 7]


def test_a_capped_value_of_0_is_a_value_as_any_other() -> None:
    found = censored(RETURNS, [each == 20 for each in RETURNS], 20)
    assert found.mean is not None
    assert found.mean.value == pytest.approx(13.571, abs=5e-4)
    assert (found.mean.low, found.mean.high) == pytest.approx((7.017, 31.585), abs=5e-4)
    assert (found.median, found.capped, found.n) == (7, 3, 10)


@pytest.mark.parametrize(
    ("values", "cut", "why"),
    [
        ([-1.0, 5, 20], [False, False, True], "returns below 0 follow no exponential law"),
        ([0.0, 0, 0], [False] * 3, "all returns are 0"),
        ([0.0, 0, 20], [False, False, True], "no return lies between 0 and the cap"),
        ([0.0, math.inf, 20], [False, False, True], "a return is not a finite number"),
        (
            [0.0, 0, 0, 1, 20, 20, 20],
            [False] * 4 + [True] * 3,
            "the returns do not fit an exponential law",
        ),
    ],
)
def test_where_no_mean_is_estimated_the_words_say_why(
    values: list[float], cut: list[bool], why: str
) -> None:
    found = censored(values, cut, 20)
    assert found.mean is None
    assert f"no estimate without the cap: {why}" in described(found)


def test_returns_above_the_cap_are_named() -> None:
    found = censored([5.0, 25, 30, 20], [False, False, False, True], 20)
    assert "2 above the cap of 20, which is not where games are cut" in described(found)


def test_where_all_are_capped_only_a_lower_end_is_known() -> None:
    found = censored([500.0, 500.0], [True, True], 500)
    assert found.mean is not None
    assert found.mean.low == pytest.approx(1000 / 3.6889)
    assert math.isinf(found.mean.high)
    assert found.median is None


def test_lives_of_another_shape_get_no_exponential_estimate() -> None:
    values = [99.0, 100, 101, 100.5, 99.5, 102, 98, 100, 101, 100]
    found = censored(values, [False] * 10, 500)
    assert found.weibull < 0.05
    assert found.mean is None


def test_distinct_games() -> None:
    found = distinct(["x"] * 30 + ["y"] * 30)
    assert (found.games, found.distinct) == (60, 2)
    assert found.repeats
