"""Every environment: ours pass the checks that `dovetail.testing` offers to
everybody."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.env_servers.cases import CASES, named

from dovetail.peer import options, plugins
from dovetail.peer.environments.environment import Environment
from dovetail.testing import check_environment
from dovetail.testing.environments import CHECKS, play

ZERO_SUM = {"amazons", "connect_four", "dots"}
GAMES = 12


@pytest.fixture(params=CASES, ids=named)
def case(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    found: tuple[str, dict[str, Any]] = request.param
    return found


@pytest.mark.rule("S8.5")
@pytest.mark.parametrize("check", CHECKS)
def test_it_passes(check: str, case: tuple[str, dict[str, Any]]) -> None:
    kind: type[Environment] = plugins.find("environment", case[0])
    check_environment(kind, case[1], episodes=GAMES, strict=True, only=check)


def test_games_for_several_are_scored_and_some_are_zero_sum(
    case: tuple[str, dict[str, Any]],
) -> None:
    kind = plugins.find("environment", case[0])
    environment = kind(options.read(kind.Configuration, case[1], case[0]))
    spec, rng = environment.init(), random.Random(5)
    for seed in range(GAMES):
        total = [0.0] * spec.seats
        for turn, _ in play(environment, spec, seed, rng, "play"):
            for view in turn.seats:
                total[view.seat] += view.reward
        assert (turn.outcome is not None) or not turn.terminated or spec.seats == 1
        if case[0] in ZERO_SUM:
            assert sum(total) == pytest.approx(0)
