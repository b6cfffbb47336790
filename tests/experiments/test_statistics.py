"""Figures by hand and from textbooks, and what must hold of all."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol.messages import Episode, Reason, SeatResult
from dovetail_experiments.reports.table import outcome
from dovetail_experiments.statistics import (
    mean,
    result_of,
    tally,
    wilson,
)

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
