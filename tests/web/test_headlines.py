"""Findings of experiments in a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail_experiments.reports.aggregate import Band
from dovetail_experiments.reports.over_seeds import Series, VariantRow
from dovetail_web.headlines import of_evaluations, of_tournament, of_variants

pytestmark = pytest.mark.fast


def stage(agent: str, seat: int, trained: int, **more: Any) -> dict[str, Any]:
    shared = {"kind": "evaluation", "name": "test", "games": 10}
    return {**shared, "agent": agent, "seat": seat, "trained": trained, **more}


def test_a_tournament_names_who_came_first() -> None:
    rows = [
        {"player": "a", "games": 8, "score": 0.75, "score_low": 0.5, "score_high": 0.9},
        {"player": "b", "games": 8, "score": 0.25},
    ]
    assert of_tournament("cup", 2, rows) == (
        "cup: a came first with 75% (50%..90%) of the points, before b."
    )
    alone = [{**rows[0], "score": 1234.5, "score_low": None}]
    assert of_tournament("solo", 1, alone) == "solo: a came first with a mean return of 1,234."
    assert of_tournament("cup", 2, [{"player": "a", "games": 0}]) == ""


def test_an_evaluation_names_its_best_agent_after_the_most_learning() -> None:
    rows = [
        stage("td", 0, 0, won=0.1),
        stage("td", 0, 1000, won=0.8, won_low=0.7, won_high=0.9),
        stage("td", 1, 1000, won=0.6),
        stage("random", 1, 1000, won=0.2),
        {**stage("td", 0, 1000, won=1.0), "kind": "phase"},
    ]
    (said,) = of_evaluations(rows)
    assert said == (
        "test: td won 80% (70%..90%) as player 1 and 60% as player 2, after 1,000 learning episodes."
    )
    two = [stage("one", 0, 0, won=0.6), stage("two", 1, 0, won=0.4), stage("two", 2, 0, won=0.4)]
    assert list(of_evaluations(two)) == ["test: one won 60%."]
    assert list(of_evaluations([stage("td", 0, 0, **{"return": 5.0})])) == [
        "test: td had a mean return of 5."
    ]


def test_a_sweep_names_its_best_variant() -> None:
    def row(variant: str, mean: float) -> VariantRow:
        runs = {1: {0: mean}, 2: {0: mean}}
        series = Series(variant, "test", "td", "score", runs)
        band = Band(2, mean, mean - 0.1, mean + 0.1, mean, mean, mean)
        return VariantRow(series, band, None, None, None)

    assert of_variants([row("x=1", 0.5), row("x=2", 0.7), row("x=3", float("nan"))]) == (
        "td (test): x=2 has the highest mean score of 2 variants, 0.70 (0.60..0.80) over 2 runs."
    )
    assert of_variants([row("", 0.5)]) == "td (test): mean score 0.50 (0.40..0.60) of 2 runs."
    assert of_variants([]) == ""
