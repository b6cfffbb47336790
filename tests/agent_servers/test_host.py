"""The host of agents: decisions whose answers come later."""

from __future__ import annotations

from dovetail import Agent, Decision, Spec, spaces
from dovetail.agent_servers.host import LATER, AgentHost
from dovetail.protocol import messages as m


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
