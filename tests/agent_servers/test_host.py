"""The host of agents: decisions whose answers come later."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from dovetail import Agent, Decision, Spec, spaces
from dovetail.peer.agents.agent import Lookahead
from dovetail.peer.agents.host import LATER, AgentHost
from dovetail.protocol import messages as m

pytestmark = pytest.mark.fast


class Slow(Agent):
    """Answers later."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Decision] = []

    def step(self, decision: Decision) -> object:
        self.asked.append(decision)
        return LATER


def test_an_answer_to_a_decision_that_is_over_leaves_the_next_one_open() -> None:
    agent = Slow()
    host = AgentHost(single=agent)
    host.handle([m.Init(1, 0, 1, Spec(action_spaces=[spaces.Discrete(2)]))])
    assert host.handle([m.AgentStart(1, 1, 0, 0, seed=1, observation=0, legal=[0, 1])]) == []
    assert host.handle([m.AgentStep(1, 0, 1, observation=1, legal=[0, 1])]) == []
    first, second = agent.asked
    assert host.answer(first, 0) == []
    assert host.answer(second, 1, refused=2) == [m.Action(1, 1, 0, 1, 2)]
    assert host.answer(second, 1) == []


class Asker(Agent):
    """Asks what cannot be sent."""

    def step(self, decision: Decision) -> Generator[Lookahead, object, int]:
        yield Lookahead([[object()]])
        return 0


def test_a_question_that_cannot_be_sent_may_be_about_an_episode_that_is_over() -> None:
    host = AgentHost(single=Asker())
    host.handle([m.Init(1, 0, 1, Spec(action_spaces=[spaces.Discrete(2)]), lookahead=True)])
    start = m.AgentStart(1, 1, 0, 0, seed=1, observation=0, legal=[0, 1], seq=2)
    (question,) = host.handle([start, m.End(1, 0, 1, seq=3)])
    assert host.unsendable(question, "no") == m.Error("crashed", "no")


class Choosy(Agent):
    """Loads nothing, and counts what is cleaned up."""

    name = "choosy"
    cleaned = 0

    def step(self, decision: Decision) -> object:
        return 0

    def load(self, state: bytes) -> None:
        raise ValueError("not mine")

    def cleanup(self) -> None:
        Choosy.cleaned += 1


def test_an_agent_whose_state_cannot_be_loaded_is_cleaned_up() -> None:
    host = AgentHost([Choosy])
    (refused,) = host.handle([m.Create(1, 3, "choosy", {}, 1, b"x")])
    assert isinstance(refused, m.Error)
    assert "not mine" in refused.message
    assert Choosy.cleaned == 1
    (unknown,) = host.handle([m.Save(2, 3)])
    assert isinstance(unknown, m.Error)
    host.handle([m.Bye()])
    assert Choosy.cleaned == 1
