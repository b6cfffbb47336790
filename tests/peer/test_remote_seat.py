"""A seat whose action comes from elsewhere."""

from __future__ import annotations

import pytest

from dovetail import Decision, DovetailError, Seat
from dovetail.peer.agents.agent import RESIGN
from dovetail.peer.agents.host import LATER, AgentHost
from dovetail.peer.agents.remote_seat import RemoteAgent
from dovetail.protocol import messages as m

SPEC = m.Spec(name="game", seats=1)


def seated(agent: RemoteAgent) -> AgentHost:
    """Return a host in which the agent has a seat and is asked for an action."""
    host = AgentHost(single=agent)
    assert host.handle([m.Init(1, 0, 0, SPEC, seq=1)]) == []
    assert host.handle([m.AgentStart(7, 1, 0, 3, 0, observation=None, legal=[4, 5], seq=2)]) == []
    return host


def test_a_decision_stays_open_until_it_is_answered() -> None:
    agent = RemoteAgent()
    host = seated(agent)
    assert agent.decision is not None
    assert agent.decision.legal == [4, 5]
    agent.refused += 2
    [action] = host.answer(*agent.act(5))
    assert isinstance(action, m.Action)
    assert (action.turn, action.action, action.refused) == (3, 5, 2)
    assert agent.decision is None
    with pytest.raises(DovetailError, match="no decision to answer"):
        agent.act(5)


def test_an_open_decision_is_resigned_at_once_and_a_later_one_as_it_comes() -> None:
    agent = RemoteAgent()
    host = seated(agent)
    answer = agent.resign()
    assert answer is not None
    [action] = host.answer(*answer)
    assert isinstance(action, m.Action)
    assert action.resign
    assert agent.resign() is None
    seat = Seat(1, 0, SPEC, False)
    later = Decision(seat, 8, 0, None, [0], 0.0, "evaluate", None)  # type: ignore[arg-type]
    assert agent.step(later) is RESIGN
    agent.init(seat)
    assert agent.step(later) is LATER
