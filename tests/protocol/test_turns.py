"""The constructors of turns say what the fields would; the seats of agents that change seats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail.broker.matches.run import Schedule
from dovetail.protocol import messages as m
from dovetail.protocol.messages import Turn, View


def test_an_ask_is_one_seats_and_shows_who_else_earned() -> None:
    earned = View(0, reward=2.0)
    found = Turn.ask(1, "seen", [0, 2], -1.0, others=[earned])
    assert found == Turn(to_act=[1], seats=[View(1, "seen", [0, 2], -1.0), earned])


def test_a_simultaneous_turn_asks_each_seat_that_sees_something() -> None:
    found = Turn.simultaneous({0: "a", 2: "b"}, legal={2: [1]}, rewards={0: 0.5})
    assert found == Turn(to_act=[0, 2], seats=[View(0, "a", None, 0.5), View(2, "b", [1], 0.0)])


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"winners": [1]}, [0.0, 1.0]),
        ({"winners": [0, 1]}, [0.5, 0.5]),
        ({"outcome": [0.25, 0.75]}, [0.25, 0.75]),
        ({}, None),
    ],
)
def test_the_winners_share_the_outcome(fields: dict[str, Any], outcome: Any) -> None:
    found = Turn.end(["a", "b"], [-1.0, 1.0], **fields)
    assert found.outcome == outcome
    assert [(view.observation, view.reward) for view in found.seats] == [("a", -1.0), ("b", 1.0)]
    assert (found.to_act, found.terminated, found.truncated) == ([], True, False)


def test_a_limit_truncates() -> None:
    found = Turn.end([None], [0.0], truncated=True)
    assert (found.terminated, found.truncated) == (False, True)


def test_every_seat_has_a_reward() -> None:
    with pytest.raises(ValueError, match="1 reward for 2 seats; give one for each seat"):
        Turn.end(["a", "b"], [1.0])
    with pytest.raises(ValueError, match="winners names seat 2; the seats are 0 to 1"):
        Turn.end([None, None], [0.0, 0.0], winners=[2])


@pytest.mark.rule("S7.9")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_agents_move_on_by_a_seat_each_episode(count: int) -> None:
    schedule = Schedule(m.Run(1, "game", list(range(count)), episodes=9, rotate=True))
    seatings = [schedule.seating(index) for index in range(7)]
    for index, seating in enumerate(seatings):
        assert [seating.index(agent) for agent in range(count)] == [
            (agent + index) % count for agent in range(count)
        ]
    assert np.array_equal(schedule.players(list(range(7))), seatings)
