"""The host's slots of memory, for tests that ask an agent without a host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from dovetail.peer.agents.agent import Agent, BatchAgent, Decision, End

A = TypeVar("A", bound=Agent)


class Slots(dict[tuple[int, int], Any]):
    """The memory of each seat of each episode, by (episode, seat)."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.agent = agent

    def fill(self, what: Decision) -> Decision:
        key = what.episode, what.seat.seat
        if key not in self:
            self[key] = self.agent.Memory()
        what.memory = self[key]
        return what

    def end(self, end: End) -> None:
        end.memory = self.pop((end.episode, end.seat.seat), None)
        if end.memory is None:
            end.memory = self.agent.Memory()


def slots_of(agent: Agent) -> Slots:
    """Return the slots of an agent that ``remembering`` made."""
    slots: Slots = vars(agent)["slots"]
    return slots


def remembering(agent: A) -> A:
    """Make an agent's ``step``, ``step_batch`` and ``end`` hand out memory; return the agent.

    ``slots_of`` returns its slots.
    """
    slots: Any = Slots(agent)
    changed: Any = agent
    step, end = agent.step, agent.end
    changed.slots = slots
    if isinstance(agent, BatchAgent):
        step_batch = agent.step_batch

        def filled(decisions: Sequence[Decision]) -> Sequence[Any]:
            return step_batch([slots.fill(each) for each in decisions])

        changed.step_batch = filled
    else:
        changed.step = lambda decision: step(slots.fill(decision))

    def ended(what: End) -> None:
        slots.end(what)
        end(what)

    changed.end = ended
    return agent
