"""Statistics over seeds, against worked numbers (rliable 1.2.0, scipy)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail_experiments.reports import aggregate as a
from dovetail_experiments.reports import over_seeds
from dovetail_experiments.statistics import estimates
from dovetail_experiments.statistics.estimates import paired

X = np.array([(0.61, 0.55), (0.72, 0.40), (0.48, 0.66), (0.90, 0.58), (0.67, 0.71)])
Y = np.array([(0.50, 0.52), (0.58, 0.61), (0.45, 0.39), (0.62, 0.47), (0.55, 0.60)])


def mean(x: a.Matrix) -> float:
    return float(x.mean())


def test_points_of_the_example() -> None:
    assert (X.mean(), Y.mean()) == pytest.approx((0.628, 0.529))
    assert (a.iqm(X), a.iqm(Y)) == pytest.approx((0.63, 0.5366667))
    assert a.improvement(X, Y) == pytest.approx(0.74)
    assert a.profile(X, [0.4, 0.5, 0.6, 0.7]) == pytest.approx([0.9, 0.8, 0.6, 0.3])
    assert a.optimality_gap(X) == pytest.approx(1 - 0.628)


@pytest.mark.parametrize(
    ("matrix", "statistic", "expected"),
    [(X, mean, (0.552, 0.704)), (X, a.iqm, (0.542, 0.70)), (Y, a.iqm, (0.477, 0.59))],
)
def test_bootstrap_over_runs_of_each_task(
    matrix: a.Matrix, statistic: a.Statistic, expected: tuple[float, float]
) -> None:
    assert a.bootstrap(matrix, statistic, resamples=4_000) == pytest.approx(expected, abs=0.01)


def test_the_bootstrap_follows_from_its_seed() -> None:
    assert a.bootstrap(X, a.iqm, 1) == a.bootstrap(X, a.iqm, 1) != a.bootstrap(X, a.iqm, 2)


def test_probability_of_improvement_has_an_interval() -> None:
    assert a.improvement_band(X, Y) == pytest.approx((0.48, 0.94), abs=0.02)


def test_student_for_a_mean_over_runs() -> None:
    found = a.band(list(X[:, 0]))
    assert (found.low, found.high) == pytest.approx((0.4847273, 0.8672727))
    assert found.note == "bootstrap approximate"
    two = a.band([1.0, 2.0])
    assert (two.low, two.high) == pytest.approx((-4.853102, 7.853102))
    assert two.note == "few seeds"
    assert not math.isfinite(two.iqm_low)
    one = a.band([0.5])
    assert one.mean == 0.5
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    assert one.note == "one run: no interval"
    assert a.band(list(range(10))).note == ""
    assert a.band([0.7, 1.0, 1.0, 1.0], least=0, most=1).high == 1.0
    assert a.band([1.0] * 5).note == "all runs alike: no interval"
    assert a.band([1.0, 2.0, 6.0]).iqm == a.band([1.0, 2.0, 6.0]).mean


def test_methods_are_compared_seed_by_seed() -> None:
    found = a.compare(list(X[:, 0]), list(Y[:, 0]))
    assert found is not None
    assert found.difference == pytest.approx(0.136)
    assert (found.t, found.p) == pytest.approx((3.352154, 0.0285117), rel=1e-5)
    assert (found.low, found.high) == pytest.approx((0.0233571, 0.2486429), rel=1e-5)
    assert found.wilcoxon == pytest.approx(0.0625)
    assert found.better == pytest.approx(0.80)
    equal = a.compare([1.0, 2.0], [1.0, 2.0])
    assert equal is not None
    assert (equal.difference, equal.wilcoxon, equal.better) == (0.0, 1.0, 0.5)
    assert math.isnan(equal.p)
    apart = a.compare([2.0, 3.0], [1.0, 2.0])
    assert apart is not None
    assert apart.difference == 1.0
    assert math.isnan(apart.p)
    assert math.isnan(apart.low)
    assert a.compare([1.0], [2.0]) is None
    with pytest.raises(ValueError, match="not pairs"):
        a.compare([1.0], [])


def test_several_comparisons_are_adjusted() -> None:
    assert a.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert a.holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert a.holm([]) == []
    assert a.holm([0.02, math.nan])[0] == pytest.approx(0.04)
    assert math.isnan(a.holm([0.02, math.nan])[1])


def test_equal_runs_have_no_interval() -> None:
    found = a.band([0.5] * 12, least=0, most=1)
    assert (found.mean, found.iqm, found.note) == (0.5, 0.5, "all runs alike: no interval")
    for end in (found.low, found.high, found.iqm_low, found.iqm_high):
        assert math.isnan(end)
    apart = a.compare([2.0, 2.5, 3.0, 2.2, 2.1], [1.0, 1.5, 1.2, 1.1, 1.3])
    assert apart is not None
    assert apart.better == 1.0
    assert math.isnan(apart.better_low)
    assert math.isnan(apart.better_high)


def test_when_a_level_is_reached() -> None:
    curve = {0: 0.2, 1000: 0.7, 500: 0.6, 1500: 0.55}
    assert a.reached(curve, 0.6) == 500
    assert a.reached(curve, 0.9) is None


@pytest.mark.slow
@pytest.mark.parametrize(("n", "expected"), [(3, 95), (5, 96), (10, 96), (20, 94)])
def test_the_interval_of_the_mean_covers(n: int, expected: int) -> None:
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(2_000):
        found = estimates.mean(rng.normal(size=n).tolist())
        held += found.low <= 0 <= found.high
    assert held >= 20 * (expected - 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "of_mean", "of_iqm"), [(3, 74, 74), (5, 83, 90), (10, 91, 94), (20, 91, 93)]
)
def test_a_bootstrap_of_few_runs_is_too_narrow(n: int, of_mean: int, of_iqm: int) -> None:
    """Which is why there is none below ``FEW``, and one below ``ENOUGH`` is called approximate."""
    rng = np.random.default_rng(n)
    held = {mean: 0, a.iqm: 0}
    for number in range(200):
        runs = rng.normal(size=(n, 1))
        for statistic in held:
            low, high = a.bootstrap(runs, statistic, number, resamples=100)
            held[statistic] += low <= 0 <= high
    assert [each / 2 for each in held.values()] == pytest.approx([of_mean, of_iqm], abs=6)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "expected"), [(3, 67), (5, 83), (10, 93), (20, 94)])
def test_runs_that_fail_cost_small_samples_their_coverage(n: int, expected: int) -> None:
    """Three runs in ten fail: no interval of few seeds knows of what it has not seen."""
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(1_000):
        failed = rng.random(n) < 0.3
        values = np.where(failed, 0.0, 1.0) + rng.normal(0, 0.1, n)
        found = estimates.mean(values.tolist())
        held += found.low <= 0.7 <= found.high
    assert held / 10 == pytest.approx(expected, abs=6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "alike", "apart"), [(3, 25, 12), (5, 59, 24), (10, 95, 52), (20, 100, 84)]
)
def test_common_seeds_give_a_comparison_its_power(n: int, alike: int, apart: int) -> None:
    """Of one standard deviation, where the runs of a seed correlate by 0.7 and not at all."""
    rng = np.random.default_rng(n)
    found = []
    for correlation in (0.7, 0.0):
        seen = 0
        for _ in range(1_000):
            common, *own = rng.normal(size=(3, n))
            x, y = (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * each for each in own)
            seen += paired(list(x + 1), list(y)).p < 0.05
        found.append(seen / 10)
    assert found == pytest.approx([alike, apart], abs=5)


def series(variant: str, software: str, left: int = 0) -> over_seeds.Series:
    runs = {1: {10: 0.5}, 2: {10: 0.75}}
    return over_seeds.Series(variant, "eval", "a", "score", runs, left, (software,))


def test_a_table_over_seeds_names_different_software_and_what_is_in_no_mean() -> None:
    groups = over_seeds.rows([series("one", "dovetail 1 (abc)", 3), series("two", "")])
    (table,) = over_seeds.tables(groups)
    warning = "these runs were made by different software: dovetail 1 (abc); not recorded"
    assert str(table.caption).endswith(warning)
    assert "3 games without a score left out" in str(next(iter(table.columns[-1].cells)))
    (same,) = over_seeds.tables(over_seeds.rows([series("one", "x"), series("two", "x")]))
    assert "different" not in str(same.caption)
    first, second = (over_seeds.plain(each) for each in groups[0])
    assert first["games_left_out"] == 3
    assert (first["mean"], first["difference"], first["software"]) == (
        0.625,
        None,
        "dovetail 1 (abc)",
    )
    # The same on both seeds: neither an interval nor a t test.
    assert (second["difference"], second["difference_low"], second["p"]) == (0.0, None, None)


def test_two_agents_whose_scores_always_sum_to_one_say_the_same_once() -> None:
    def scored(agent: str, values: list[float]) -> over_seeds.Series:
        runs = {seed: {20: value} for seed, value in enumerate(values)}
        return over_seeds.Series("", "eval", agent, "score", runs)

    ours, theirs = scored("td", [0.75, 0.5]), scored("dice", [0.25, 0.5])
    order = ["td", "dice"]
    assert over_seeds.distinct([theirs, ours], order) == [ours]  # the first that the file names
    other = scored("dice", [0.25, 0.25])
    assert over_seeds.distinct([other, ours], order) == [other, ours]
