"""Learners that take arrays act and learn in groups as they do row by row, and evaluate as in
single matches."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import InProcess
from dovetail_agents.games.connect_four.ntuple import NTupleConnectFour
from dovetail_agents.games.game_2048 import NTuple2048
from dovetail_agents.general.q_learning import QLearning
from dovetail_agents.general.td import TDBatch
from dovetail_games.connect_four import ConnectFour
from dovetail_games.dots import Dots
from dovetail_games.game_2048 import Game2048
from dovetail_games.tetris import Tetris

FOUR = {"rows": 4, "columns": 4, "connect": 3}
CASES: dict[str, tuple[Any, dict[str, Any], Any, dict[str, Any], int]] = {
    "ntuple-2048": (NTuple2048, {}, Game2048, {"rows": 3, "columns": 3}, 40),
    "ntuple-connect-four": (
        *(NTupleConnectFour, {"tuples": 5, "length": 4, "connect": 3}, ConnectFour, FOUR, 9),
    ),
    "ntuple-connect-four, traces": (
        *(NTupleConnectFour, {"tuples": 5, "length": 4, "connect": 3, "trace": 0.8}),
        *(ConnectFour, FOUR, 9),
    ),
    "q-learning": (
        *(QLearning, {"min_visits": 2, "rate_power": 0.7, "spread": 0.5, "epsilon": 0.3}),
        *(Dots, {"rows": 2, "columns": 3}, 6),
    ),
    "q-learning, by seat": (
        *(QLearning, {"min_visits": 0, "by_seat": True}, ConnectFour, FOUR, 9),
    ),
    "q-learning, maps": (QLearning, {}, Tetris, {"height": 6, "width": 4, "max_pieces": 6}, 4),
    "td-batch": (TDBatch, {"hidden": 8}, ConnectFour, FOUR, 9),
    "td-batch, dutch": (
        *(TDBatch, {"hidden": 0, "traces": "dutch", "output": "linear", "averaging": 5}),
        *(ConnectFour, FOUR, 9),
    ),
}
"""Learner, parameters, game, configuration, and turns after which episodes are cut short."""


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Any:
    return CASES[request.param]


def learned(case: Any) -> bytes:
    """Return what a learner in all seats has become after episodes in groups."""
    kind, parameters, game, configuration, turns = case
    with InProcess([game], [kind]) as experiment:
        learner = experiment.create(kind.name, parameters=parameters, seed=1)
        seats = [learner] * game(game.Configuration(**configuration)).init().seats
        results = experiment.run(
            game.name,
            seats,
            configuration=configuration,
            episodes=70,
            concurrency=16,
            seed=2,
            max_turns=turns,
            stacked=True,
        ).wait()
        assert {each.reason for each in results} <= {"terminated", "truncated"}, results
        assert any(each.reason == "truncated" for each in results)
        return experiment.save(learner)


def refused(*_: Any) -> Any:
    raise AssertionError("asked by decisions")


def test_arrays_teach_what_rows_teach(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = case[0]
    with monkeypatch.context() as patch:
        patch.setattr(kind, "open_group", lambda *_: None)
        by_rows = learned(case)
    for name in ("start", "step", "step_batch", "end"):
        if hasattr(kind, name):
            monkeypatch.setattr(kind, name, refused)
    assert learned(case) == by_rows


def test_evaluation_is_the_same_single_and_in_groups(case: Any) -> None:
    kind, _, game, configuration, _ = case
    state = learned(case)
    with InProcess([game], [kind]) as experiment:
        learner = experiment.create(kind.name, state=state)
        seats = [learner] * game(game.Configuration(**configuration)).init().seats

        def results(*, stacked: bool) -> list[Any]:
            run = experiment.run(
                game.name,
                seats,
                configuration=configuration,
                episodes=40,
                concurrency=16,
                seed=3,
                mode="evaluate",
                stacked=stacked,
            )
            return [
                (each.index, each.turns, each.reason, [seat.total for seat in each.seats])
                for each in sorted(run, key=lambda each: each.index)
            ]

        assert results(stacked=True) == results(stacked=False)
        assert experiment.save(learner) == state
