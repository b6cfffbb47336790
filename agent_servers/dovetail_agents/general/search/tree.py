"""Positions of a search, from local rules or from the environment by lookahead.

A search is a generator: it yields ``Expand`` and receives the positions that the actions lead to.
``LocalRules`` answers from an environment in this program, and ``asked`` turns the requests into
``Lookahead`` for the run's environment; the search itself is the same.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Sequence
from typing import Any

from msgspec import Struct

from dovetail.peer.agents.agent import Lookahead, Preview
from dovetail.peer.environments.environment import Environment
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.legal import unmask
from dovetail.protocol.messages import Turn, View

ANSWERED = 30_000
"""Values in one answer, far below the limit of a frame (``Limits.elements``), as positions differ
in size."""
SPARE = 50
"""Values of a position in addition to its legal actions, whose number is estimated from the
previous one."""

Search = Generator["Expand", "list[Node]", Any]


class Node(Struct, gc=False, eq=False):
    """A position reached by a search."""

    line: list[Any]
    """Actions from the root."""
    seat: int | None
    """Seat to act; None once the episode is over."""
    legal: list[int]
    observation: Any
    """Observation of the seat to act."""
    rewards: list[float]
    """Rewards of each seat since the root."""
    environment: Environment | None = None
    """Environment at this position, for local rules."""
    outcome: list[float] | None = None
    """Score of each seat once the episode is over, 1 for a win."""


class Expand(Struct, gc=False):
    """A search's request for the positions after some actions at a node."""

    node: Node
    actions: Sequence[int]


def root(
    seat: int,
    seats: int,
    legal: Sequence[int],
    observation: Any,
    environment: Environment | None = None,
) -> Node:
    """Return the node of a decision."""
    return Node([], seat, list(legal), observation, [0.0] * seats, environment)


def _node(
    line: list[Any], to_act: Sequence[int], views: Sequence[View], rewards: list[float]
) -> Node:
    if len(to_act) > 1:
        raise DovetailError("search needs a game in which one seat acts at a time")
    if not to_act:
        return Node(line, None, [], None, rewards)
    view = next(view for view in views if view.seat == to_act[0])
    if view.legal is None:
        raise DovetailError("search needs a list of legal actions")
    legal = unmask(view.legal) if isinstance(view.legal, bytes) else view.legal
    return Node(line, to_act[0], legal, view.observation, rewards)


class LocalRules:
    """Answers a search's requests from copies of an environment."""

    def answer(self, asked: Expand) -> list[Node]:
        """Return the positions after the actions."""
        node = asked.node
        assert node.environment is not None
        assert node.seat is not None
        found = []
        for action in asked.actions:
            environment = copy.deepcopy(node.environment)
            turn: Turn = environment.step({node.seat: action})
            rewards = node.rewards.copy()
            for view in turn.seats:
                rewards[view.seat] += view.reward
            child = _node([*node.line, action], turn.to_act, turn.seats, rewards)
            child.environment, child.outcome = environment, turn.outcome
            found.append(child)
        return found

    def run(self, search: Search) -> Any:
        """Run a search to its end; return its result."""
        try:
            asked = next(search)
            while True:
                asked = search.send(self.answer(asked))
        except StopIteration as stop:
            return stop.value


def _answered(line: list[Any], position: Preview) -> Node:
    if position.error:
        raise DovetailError(f"the environment cannot play {line}: {position.error}")
    node = _node(line, position.to_act, position.seats, position.rewards)
    node.outcome = position.outcome
    return node


def asked(search: Search, seed: int = 0) -> Generator[Lookahead, list[Preview], Any]:
    """Run a search with answers from the run's environment; use it by ``yield from`` in an agent's
    ``step``."""
    try:
        question = next(search)
        while True:
            every = [[*question.node.line, action] for action in question.actions]
            most = max(1, ANSWERED // (len(question.node.legal) + SPARE))
            nodes = []
            for start in range(0, len(every), most):
                lines = every[start : start + most]
                positions = yield Lookahead(lines, seed)
                for line, position in zip(lines, positions, strict=True):
                    nodes.append(_answered(line, position))
            question = search.send(nodes)
    except StopIteration as stop:
        return stop.value
