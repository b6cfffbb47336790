"""Every game has a page of rules, from which somebody who knows nothing of it can play."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest

from dovetail.peer import plugins
from dovetail.peer.environments.environment import Environment
from dovetail.peer.presets import preset

GAMES = [
    each.name
    for each in entry_points(group="dovetail.environments")
    if each.value.startswith("dovetail_games.")
]


@pytest.mark.parametrize("name", GAMES)
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
