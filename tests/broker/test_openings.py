"""The first turns that the broker plays, the modes of single agents, and the digest of actions."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from tests.broker.conversation import Conversation

from dovetail.protocol import messages as m
from dovetail.protocol.seeds import derive


def begun(**run: Any) -> Conversation:
    table = Conversation(**run).opens()
    table.environment.hears(m.EnvironmentStart)
    for agent in table.agents:
        agent.hears(m.Init)
    return table


@pytest.mark.rule("S7.14", "S7.15")
def test_a_line_is_played_before_any_seat_is_asked() -> None:
    table = begun(openings=[[[1], [0]]], clock=m.ClockRule(decision=1.0))
    environment, (first, second) = table.environment, table.agents
    environment.turns(0, rewards=(1.0, 0.0))
    environment.hears(m.EnvironmentStep, turn=0, actions=[(0, 1)])
    environment.turns(1, rewards=(2.0, 5.0))
    environment.hears(m.EnvironmentStep, turn=1, actions=[(1, 0)])
    assert not first.heard
    assert not second.heard
    environment.turns(0)
    first.hears(m.AgentStart, turn=2, reward=3.0)
    first.acts(1)
    environment.hears(m.EnvironmentStep, turn=2)
    environment.turns(terminated=True, outcome=[1.0, 0.0])
    first.hears(m.End, decisions=1)
    second.hears(m.End, decisions=0, total=5.0)
    result = table.experiment.hears(m.Episode, turns=3, opening=[[1], [0]])
    actions = [[[0, 1]], [[1, 0]], [[0, 1]]]
    assert result.digest == sha256(msgspec.msgpack.encode(actions)).hexdigest()[:16]
    assert table.records[-1].actions == [[tuple(pair) for pair in turn] for turn in actions]


@pytest.mark.rule("S7.14")
def test_every_round_has_the_next_line() -> None:
    table = begun(episodes=4, openings=[[[0]], [[1]]], rotate=True)
    environment = table.environment
    for index, line in enumerate((0, 0, 1, 1)):
        if index:
            environment.hears(m.EnvironmentStart)
            for agent in table.agents:
                agent.hears(m.Init)
        environment.turns(0)
        environment.hears(m.EnvironmentStep, actions=[(0, line)])
        environment.turns(terminated=True, outcome=[1.0, 0.0])
        for agent in table.agents:
            agent.hears(m.End, decisions=0)
        table.experiment.hears(m.Episode, index=index, opening=[[line]])


def test_drawn_openings_follow_from_the_seed() -> None:
    table = begun(seed=7, opening_turns=3)
    environment = table.environment
    seed = derive(7, "episode", 0)
    for turn in range(3):
        environment.turns(turn % 2, legal=(0, 1, 2))
        action = derive(seed, "opening", turn, turn % 2) % 3
        environment.hears(m.EnvironmentStep, actions=[(turn % 2, action)])
    environment.turns(1)
    table.agents[1].hears(m.AgentStart, turn=3)


@pytest.mark.rule("S7.14")
@pytest.mark.parametrize("line", [[[9]], [[0, 1]], [["x"]]])
def test_a_line_that_is_not_legal_ends_the_episode(line: list[list[Any]]) -> None:
    table = begun(openings=[line])
    table.environment.turns(0)
    for agent in table.agents:
        agent.hears(m.End, reason="environment-failed")
    assert "opening" in table.experiment.hears(m.Episode, scored=False).message


@pytest.mark.rule("S7.14", "S6.9")
@pytest.mark.parametrize("price", ["forfeit", "random", "truncate"])
@pytest.mark.parametrize("opening", [{"openings": [[[1]]]}, {"opening_turns": 1}])
def test_no_seat_is_blamed_for_an_action_of_the_opening_that_the_rules_refuse(
    opening: dict[str, Any], price: str
) -> None:
    table = begun(on_illegal=price, **opening)
    table.environment.turns(0)
    step = table.environment.hears(m.EnvironmentStep)
    table.environment.says(m.Error("illegal", "not there", answers=step.seq, seat=0))
    for agent in table.agents:
        agent.hears(m.End, reason="environment-failed", blame=None, outcome=None, total=0.0)
    result = table.experiment.hears(m.Episode, scored=False)
    assert result.message == "opening, turn 0: not there"
    assert [seat.breaches for seat in result.seats] == [0, 0]


@pytest.mark.rule("S6.9")
def test_after_the_opening_the_seat_is_blamed_for_its_own_action() -> None:
    table = begun(openings=[[[1]]])
    table.environment.turns(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(1)
    step = table.environment.hears(m.EnvironmentStep)
    table.environment.says(m.Error("illegal", "not there", answers=step.seq, seat=0))
    table.agents[0].hears(m.End, reason="illegal-action", blame=0)


def test_a_stepwise_run_starts_after_the_opening() -> None:
    table = Conversation(stepwise=True, openings=[[[1]]]).opens()
    table.experiment.says(m.ExperimentStart(2, table.run))
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    table.environment.hears(m.EnvironmentStep, actions=[(0, 1)])
    assert not table.experiment.heard
    table.environment.turns(1)
    turn = table.experiment.hears(m.Reply, id=2).body
    assert (turn.turn, turn.to_act, turn.actions) == (1, [1], [(0, 1)])


@pytest.mark.rule("S7.15")
def test_each_agent_has_its_own_mode() -> None:
    table = begun(modes=["learn", "evaluate"])
    table.environment.turns(0, 1)
    for agent, mode in zip(table.agents, ("learn", "evaluate"), strict=True):
        agent.hears(m.AgentStart, mode=mode)
        agent.acts(1)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True, outcome=[1.0, 0.0])
    for agent, mode in zip(table.agents, ("learn", "evaluate"), strict=True):
        agent.hears(m.End, mode=mode)


def test_modes_of_another_number_of_agents_are_refused() -> None:
    with pytest.raises(AssertionError, match="3 modes for 2 agents; give one each"):
        Conversation(modes=["learn"] * 3)
