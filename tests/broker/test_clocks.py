"""A seat's clock, in numbers; and a player behind an agent, such as an engine, that is too slow."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Agent, InProcess
from dovetail.broker.rules.clocks import FOREVER, SeatClock
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.errors import Forfeit
from dovetail.protocol.messages import Clock, ClockRule
from dovetail_games.connect_four import ConnectFour


def test_without_a_rule_the_answer_timeout_bounds_each_answer() -> None:
    clock = SeatClock(ClockRule(), 60.0)
    assert clock.ask(10.0) is None
    assert (clock.timed, clock.deadline) == (False, 70.0)
    assert clock.answer(71.0)  # it came before anybody looked
    assert (clock.seconds, clock.deadline) == (61.0, FOREVER)


def test_nothing_at_all_waits_for_ever() -> None:
    clock = SeatClock(ClockRule(), None)
    clock.ask(10.0)
    assert clock.deadline == FOREVER


def test_a_decision_has_its_limit_and_the_margin() -> None:
    clock = SeatClock(ClockRule(decision=2.0, margin=0.5), 60.0)
    clock.ask(10.0)
    assert clock.deadline == 12.5
    assert clock.answer(12.5)
    assert clock.ask(20.0) == Clock(2.0, None, 2.5)
    assert not clock.answer(22.501)


def test_an_episode_has_its_limit_and_each_decision_adds_to_it() -> None:
    clock = SeatClock(ClockRule(episode=10.0, increment=1.0), 60.0)
    clock.ask(0.0)
    assert clock.deadline == 10.0
    assert clock.answer(4.0)
    assert clock.ask(100.0) == Clock(None, 7.0, 4.0)
    assert clock.deadline == 107.0
    clock.answer(109.0)  # overdue; below nothing there is nothing
    assert clock.left == 1.0
    clock.ask(200.0)
    assert clock.deadline == 201.0
    assert clock.seconds == pytest.approx(13.0)


def test_watchers_see_what_is_left_at_any_moment() -> None:
    clock = SeatClock(ClockRule(decision=3.0, episode=10.0, margin=0.25), None)
    assert (clock.shown(5.0), clock.runs) == (Clock(3.0, 10.0), False)
    clock.ask(5.0)
    assert (clock.shown(7.0), clock.runs) == (Clock(1.0, 8.0), True)
    assert clock.shown(8.125) == Clock(0.0, 6.875)
    clock.stop(6.0)
    assert (clock.shown(50.0), clock.runs) == (Clock(2.0, 9.0), False)
    clock.go(50.0)
    assert clock.shown(51.0) == Clock(1.0, 8.0)
    clock.answer(51.0)
    assert clock.shown(99.0) == Clock(3.0, 8.0, 2.0)


def test_of_two_limits_the_shorter_one_counts() -> None:
    clock = SeatClock(ClockRule(decision=3.0, episode=10.0, margin=0.25), None)
    for now, allowed in ((0.0, 3.0), (10.0, 3.0), (20.0, 3.0), (30.0, 1.0)):
        clock.ask(now)
        assert clock.deadline == now + allowed + 0.25
        clock.answer(now + 3.0)
    assert clock.left == 0.0


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
