"""One frame full of legal actions stops neither the broker nor another's agent."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.msgpack import Ext

from dovetail import Agent, DovetailError
from dovetail.broker.rules.account import SeatAccount
from dovetail.broker.rules.clocks import SeatClock
from dovetail.broker.rules.episode import Episode
from dovetail.broker.rules.legality import _short, chosen
from dovetail.peer.agents.agent import Preview
from dovetail.peer.agents.host import AgentHost
from dovetail.protocol import messages as m
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Discrete
from dovetail.protocol.states import MATCH, Machine
from dovetail_agents.general.search.tree import _node

FRAME = b"\xff" * (16 * 1024 * 1024)
LITTLE = 2_000_000
"""Bytes of memory that may be taken beside the mask, which stands for 134 million actions."""


def peak(work: Callable[[], Any]) -> tuple[Any, int]:
    """Return what some work returns, and the most memory that it took."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def episode(price: m.Breach, n: int = 2**27) -> Episode:
    """Return an episode in which one seat is to act."""
    rules = m.RunRules(answer_timeout=None, on_timeout=price, on_illegal=price, check=True)
    spec = m.Spec(action_spaces=[Discrete(n)], observation_spaces=[Discrete(1)])
    clock = SeatClock(rules.clock, None)
    seat = SeatAccount(0)
    seat.machine.on("init")
    seat.begin(5, clock, spec.action_spaces[0], "learn")
    return Episode(1, 1, 0, 5, rules, spec, Machine(MATCH, "transition"), [seat], 0.0)


def deciding(price: m.Breach) -> Episode:
    """Return an episode in which the seat may do anything that the frame allows."""
    made = episode(price)
    assert made.turned(m.Turn(1, 0, [0], [m.View(0, 0, [0])])) is None
    assert len(list(made.decide(0.0))) == 1
    made.seats[0].legal = FRAME
    return made


@pytest.mark.parametrize("action", [-1, 2**40, 1.0, "x" * 10**7, b"x" * 10**7, [0] * 90_000])
def test_an_illegal_action_is_named_with_some_that_are_legal(action: Any) -> None:
    made = deciding("forfeit")
    over, most = peak(lambda: made.acted(0, m.Action(1, 0, 0, action), 0.0))
    assert over.reason == "illegal-action"
    assert over.message.endswith(
        "is not legal; legal: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... (134,217,728 in all)"
    )
    assert len(over.message) < 300
    assert most < LITTLE


def test_an_action_is_drawn_without_a_list_of_them() -> None:
    made = deciding("random")
    over, most = peak(lambda: made.acted(0, m.Action(1, 0, 0, -1), 0.0))
    assert over is None
    ((_, drawn),) = made.step(0.0).actions
    assert drawn == chosen(derive(5, "breach", 0), FRAME, made.seats[0].space)
    assert 0 <= drawn < 2**27
    assert most < LITTLE


@pytest.mark.parametrize("n", [2**27, 2, 2**62])
def test_a_turn_with_such_a_mask_is_refused(n: int) -> None:
    made = episode("forfeit", n)
    turn = m.Turn(1, 0, [0], [m.View(0, 0, FRAME)])

    def take() -> str:
        with pytest.raises(DovetailError) as caught:
            made.turned(turn)
        return str(caught.value)

    text, most = peak(take)
    assert text.startswith("the mask of seat 0 is 16,777,216 bytes long; ")
    assert most < LITTLE


class First(Agent):
    """Takes the first legal action."""

    capacity = 0

    def step(self, decision: Any) -> Any:
        return decision.legal[0]


def test_an_agent_refuses_such_a_mask_and_plays_on() -> None:
    host = AgentHost([First])
    spec = m.Spec(action_spaces=[Discrete(2**27)], observation_spaces=[Discrete(1)])
    host.handle([m.Create(1, 1, "first"), m.Init(1, 0, 1, spec)])
    start = m.AgentStart(1, 1, 0, 0, 5, "learn", 0, FRAME, seq=9)
    (said,), most = peak(lambda: host.handle([start]))
    assert isinstance(said, m.Error)
    assert said.answers == 9
    assert "the mask is 16,777,216 bytes long; at most 131,072 are allowed" in said.message
    assert most < LITTLE
    (said,) = host.handle([m.AgentStart(2, 1, 0, 0, 5, "learn", 0, bytes(100) + b"\x80")])
    assert said == m.Action(2, 0, 0, 807)


def test_a_search_refuses_such_a_mask_in_a_position() -> None:
    position = Preview([0], [m.View(0, 0, FRAME)], [0.0])

    def take() -> None:
        with pytest.raises(DovetailError, match="bytes long; at most 131,072 are allowed"):
            _node([], position.to_act, position.seats, position.rewards)

    assert peak(take)[1] < LITTLE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        ([1, {"a": [None, True]}], "[1, {'a': [None, True]}]"),
        ("x" * 10**7, "'" + "x" * 56 + "..."),
        (b"x" * 10**7, "b'" + "x" * 55 + "..."),
        (Ext(5, b"x" * 10**7), "Ext(5, b'" + "x" * 48 + "..."),
        (list(range(10**5)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...]"),
        (np.zeros(10**6), "array([0., 0., 0., ..., 0., 0., 0.], shape=(1000000,))"),
    ],
)
def test_a_value_is_quoted_in_part(value: Any, text: str) -> None:
    quoted, most = peak(lambda: _short(value))
    assert quoted == text
    assert most < LITTLE
