"""Every environment: ours pass the checks that `dovetail.testing` offers to everybody, and have a
page of rules, from which somebody who knows nothing of a game can play."""

from __future__ import annotations

import random
from importlib.metadata import entry_points
from typing import Any

import pytest
from tests.env_servers.cases import CASES, named

from dovetail.peer import options, plugins
from dovetail.peer.environments.environment import Environment
from dovetail.peer.presets import preset
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


NAMES = [
    each.name
    for each in entry_points(group="dovetail.environments")
    if each.value.startswith("dovetail_games.")
]


@pytest.mark.parametrize("name", NAMES)
def test_every_game_has_rules(name: str) -> None:
    rules = plugins.rules(name)
    title, _, text = rules.partition("\n\n")
    assert title.startswith("# ")
    assert title.endswith(": the rules")
    assert len(text) > 300
    kind: Any = plugins.find("environment", name)
    assert preset(kind, {}, name).rules() == rules


def test_a_description_is_its_own_rules() -> None:
    assert "(role " in plugins.rules("gdl", {"game": "nim"})
    assert plugins.rules("gdl", {"game": "no such"}) == ""


class Bare(Environment):
    """Has no page."""

    def init(self) -> Any: ...
    def start(self, seed: int) -> Any: ...
    def step(self, actions: Any) -> Any: ...


def test_other_games_have_none_and_nothing_is_imported_for_a_name() -> None:
    assert Bare.rules() == ""
    assert plugins.rules("os:system") == ""
    assert plugins.rules("no_such_game") == ""
