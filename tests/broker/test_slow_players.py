"""A player behind an agent, such as an engine, that is too slow costs what a late answer does."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Agent, InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.errors import Forfeit
from dovetail_games.connect_four import ConnectFour


class Sluggish(Agent):
    """Its player misses every second decision, for the reason that it is given."""

    name = "sluggish"
    capacity = 0
    code: Any = "timeout"
    asked = 0

    def step(self, decision: Any) -> int:
        type(self).asked += 1
        if self.asked % 2:
            raise Forfeit(self.code, "the engine gave no move within 1 s")
        return int(decision.legal[0])


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize(
    ("code", "price", "reason"),
    [
        ("timeout", "forfeit", "timeout"),
        ("timeout", "random", "terminated"),
        ("timeout", "truncate", "truncated"),
        ("unavailable", "random", "stalled"),
    ],
)
def test_a_slow_player_costs_what_the_run_says(
    code: str, price: Any, reason: str, stacked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sluggish, "code", code)
    with InProcess([ConnectFour], [Sluggish, Random]) as experiment:
        slow, other = experiment.create("sluggish"), experiment.create("random", seed=1)
        games = experiment.run(
            "connect_four", [slow, other], episodes=3, seed=2, on_timeout=price, stacked=stacked
        ).wait()
    assert {each.reason for each in games} == {reason}
    for game in games:
        if reason == "terminated":
            assert game.seats[0].breaches >= 2
        else:
            assert "gave no move" in game.message
            assert game.blame == 0
            assert game.outcome == (None if price == "truncate" else [0.0, 1.0])
